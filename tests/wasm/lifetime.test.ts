/** Memory stays flat however many modules and models come and go, and the same call gives the same bits. */
import { describe, expect, it } from 'vitest';
import {
  loadEngine,
  loadModel,
  MultiHeadAttention,
  scaledDotProductAttention,
  type Tensor,
} from '../../web/src/index.js';
import { sameBits } from '../support/compare.js';
import { bilingualF32 } from '../support/golden.js';
import { Random, uniform } from '../support/streams.js';
import { BUILDS } from './builds.js';

function random(stream: string, shape: readonly number[]): Tensor {
  return {
    data: uniform(
      stream,
      shape.reduce((a, b) => a * b, 1),
      2,
    ),
    shape,
  };
}

function dataOf(tensor: Tensor | null | undefined): Float32Array {
  if (!tensor) throw new Error('there is no such result');
  return tensor.data;
}

describe.each(BUILDS)('%s: memory', (build) => {
  it('is flat over 10000 modules made, used and disposed', async () => {
    const engine = await loadEngine({ build });
    const x = random('lifetime/x', [2, 9, 24]);
    const once = (heads: number) => {
      const module = new MultiHeadAttention(engine, { embedDim: 24, numHeads: heads, batchFirst: true });
      module.forward(x, x, x);
      module.dispose();
    };
    for (const heads of [1, 2, 3, 4]) once(heads);
    const before = engine.memory.bytes;
    for (let i = 0; i < 10_000; i++) once((i % 4) + 1);
    expect(engine.memory.bytes).toBe(before);
  });

  it('is flat over calls of changing sizes, once the largest has run', async () => {
    const engine = await loadEngine({ build });
    const sizes = new Random('lifetime/sizes');
    const attend = (rows: number) => {
      const x = random(`lifetime/${rows}`, [2, 3, rows, 8]);
      scaledDotProductAttention(engine, { query: x, key: x, value: x, needWeights: true, stages: true });
    };
    attend(67);
    const before = engine.memory.bytes;
    for (let i = 0; i < 1000; i++) attend(sizes.between(1, 67));
    expect(engine.memory.bytes).toBe(before);
  });

  it('is flat over failures', async () => {
    const engine = await loadEngine({ build });
    const x = random('lifetime/x', [2, 9, 24]);
    const bad = { data: x.data.map((value, i) => (i === 77 ? Number.NaN : value)), shape: x.shape };
    const module = new MultiHeadAttention(engine, { embedDim: 24, numHeads: 4, batchFirst: true });
    const fail = () => {
      expect(() => module.forward(bad, x, x)).toThrow(/query/);
      expect(() => module.forward(x, x, x, { attnMask: random('m', [3, 3]) })).toThrow(/attnMask/);
      expect(() => new MultiHeadAttention(engine, { embedDim: 24, numHeads: 5 })).toThrow(/divide/);
      expect(() => module.loadStateDict({})).toThrow(/state dict/);
    };
    fail();
    const before = engine.memory.bytes;
    for (let i = 0; i < 1000; i++) fail();
    expect(engine.memory.bytes).toBe(before);
    expect(module.forward(x, x, x).output.data.every(Number.isFinite)).toBe(true);
    module.dispose();
  });
});

describe.each(BUILDS)('%s: the same call gives the same bits', (build) => {
  it('in one engine after others, and in a new engine', async () => {
    const run = async () => {
      const engine = await loadEngine({ build });
      const module = new MultiHeadAttention(engine, { embedDim: 48, numHeads: 4, batchFirst: true, seed: 7 });
      const [x, y] = [random('same/x', [2, 33, 48]), random('same/y', [1, 5, 48])];
      const first = module.forward(x, x, x, { averageAttnWeights: false });
      module.forward(y, y, y);
      const second = module.forward(x, x, x, { averageAttnWeights: false });
      module.dispose();
      return [first, second];
    };
    const [first, ...others] = [...(await run()), ...(await run())];
    for (const other of others) {
      expect(sameBits(dataOf(other?.output), dataOf(first?.output))).toBe(true);
      expect(sameBits(dataOf(other?.weights), dataOf(first?.weights))).toBe(true);
    }
  });

  it('whatever else is in the batch', async () => {
    const engine = await loadEngine({ build });
    const x = random('batch/x', [3, 4, 21, 16]);
    const whole = scaledDotProductAttention(engine, { query: x, key: x, value: x });
    const per = x.data.length / 3;
    for (let b = 0; b < 3; b++) {
      const alone = { data: x.data.slice(b * per, (b + 1) * per), shape: [1, 4, 21, 16] };
      const result = scaledDotProductAttention(engine, { query: alone, key: alone, value: alone });
      expect(result.output.data).toEqual(whole.output.data.slice(b * per, (b + 1) * per));
    }
  });

  it('with seeded dropout, and other bits with another seed', async () => {
    const engine = await loadEngine({ build });
    const x = random('dropout/x', [1, 2, 30, 8]);
    const run = (dropoutSeed: number) =>
      scaledDotProductAttention(engine, { query: x, key: x, value: x, dropoutP: 0.3, dropoutSeed, needWeights: true });
    expect(run(1)).toEqual(run(1));
    expect(run(2).weights).not.toEqual(run(1).weights);
    const dropped = run(1).weights?.data.filter((weight) => weight === 0).length ?? 0;
    expect(dropped / 1800).toBeGreaterThan(0.25);
    expect(dropped / 1800).toBeLessThan(0.35);
  });

  it('in a model', async () => {
    const runs = [];
    for (let i = 0; i < 2; i++) {
      const model = await loadModel(bilingualF32, { build });
      for (const text of ['苹果在桌子上，香蕉在椅子上。', 'Hi', '苹果在桌子上，香蕉在椅子上。']) {
        const run = await model.run(text, { hidden: true, logits: 'all' });
        if (text !== 'Hi') runs.push(run);
      }
      model.dispose();
    }
    const names = ['attention', 'hidden', 'logits', 'rowStatistics', 'headStatistics'] as const;
    const [first, ...others] = runs.map((run) => names.map((name) => run[name] ?? new Float32Array()));
    expect(others).toHaveLength(3);
    for (const other of others) {
      names.forEach((name, i) => {
        expect(sameBits(other[i] as Float32Array, first?.[i] as Float32Array), name).toBe(true);
      });
    }
  });
});

it('seeded dropout drops the same weights in every build', async () => {
  const x = random('dropout/x', [1, 2, 30, 8]);
  const patterns = [];
  for (const build of BUILDS) {
    const engine = await loadEngine({ build });
    const { weights } = scaledDotProductAttention(engine, {
      query: x,
      key: x,
      value: x,
      dropoutP: 0.3,
      dropoutSeed: 5,
      needWeights: true,
    });
    patterns.push(Array.from(weights?.data ?? [], (weight) => weight === 0));
  }
  expect(patterns[0]).toHaveLength(1800);
  expect(patterns[1]).toEqual(patterns[0]);
});
