/** int8 linear layers in both builds: exact integers, the same bits in both, the default model close to itself in f32. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { bilingual } from '../../web/models/bilingual/index.js';
import { type Engine, loadModel, type MaskOptions } from '../../web/src/index.js';
import { maxError, sameBits } from '../support/compare.js';
import { GOLDEN } from '../support/golden.js';
import { BUILDS, engineOf } from './builds.js';

/** What was measured on the recorded texts, and no more; beyond the 0.01 we would like. */
const ATTENTION_TOLERANCE = 0.1;
const INT8 = 1;

interface Layer {
  readonly width: number;
  readonly weight: Float32Array;
  readonly bias: Float32Array;
}

/**
 * x [rows, width] through an int8 layer. With a single key attention gives its value, so that multi-head attention over
 * one token without an out-projection is the value projection; query and key projections are the same layer.
 */
function linear(engine: Engine, { width, weight, bias }: Layer, x: Float32Array, checkFinite = true): Float32Array {
  const { memory } = engine;
  return memory.scope((scope) => {
    const layer = { data: scope.copyIn(weight), out_stride: width, in_stride: 1, bias: scope.copyIn(bias) };
    const out = scope.alloc(4);
    const config = { embed_dim: width, heads: 1, kv_heads: 1, query: layer, key: layer, value: layer, precision: INT8 };
    engine.check('mh_multihead_create', out, scope.struct('mh_multihead_config', config));
    const handle = memory.uint32(out);
    const [input, output] = [scope.copyIn(x), scope.alloc(x.length * 4)];
    const strides = { batch_stride: width, row_stride: width };
    const side = (name: string) =>
      Object.fromEntries(Object.entries(strides).map(([key, value]) => [`${name}_${key}`, value]));
    const pass = {
      ...{ batch: x.length / width, queries: 1, keys: 1, query: input, key: input, value: input, output },
      ...{ ...side('query'), ...side('key'), ...side('value'), ...side('output'), check_finite: checkFinite },
    };
    try {
      engine.forward(scope, 'mh_multihead', handle, scope.struct('mh_multihead_pass', pass));
      return memory.floats(output, x.length).slice();
    } finally {
      engine.call('mh_multihead_free', handle);
    }
  });
}

function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const integers = (next: () => number, count: number, most: number) =>
  Float32Array.from({ length: count }, () => Math.floor(next() * (2 * most + 1)) - most);

const floats = (next: () => number, count: number, spread: number) =>
  Float32Array.from({ length: count }, () => (next() - 0.4) * spread);

describe.each(BUILDS)('%s', (build) => {
  it('gives the exact sums of integers, at widths of 2 to 67', async () => {
    const engine = await engineOf(build);
    for (let width = 2; width <= 67; width++) {
      const next = generator(width);
      const rows = 1 + (width % 9);
      const [x, weight] = [integers(next, rows * width, 127), integers(next, width * width, 63)];
      // So that rows and channels have the scale 1.
      for (let row = 0; row < rows; row++) x.set([127, -127], row * width);
      for (let out = 0; out < width; out++) weight[out * width + (out % width)] = 63;
      const bias = integers(next, width, 1000);
      const expected = Float32Array.from({ length: rows * width }, (_, i) => {
        const [row, out] = [Math.floor(i / width), i % width];
        let sum = bias[out] ?? 0;
        for (let k = 0; k < width; k++) sum += (x[row * width + k] ?? 0) * (weight[out * width + k] ?? 0);
        return sum;
      });
      expect(linear(engine, { width, weight, bias }, x), `width ${width}`).toEqual(expected);
    }
  });

  it('names a number that is not finite, and where it is not looked for keeps it in its row', async () => {
    const engine = await engineOf(build);
    const next = generator(3);
    const layer = { width: 20, weight: floats(next, 400, 1), bias: floats(next, 20, 1) };
    const x = floats(next, 60, 2);
    const clean = linear(engine, layer, x);
    x[25] = Number.POSITIVE_INFINITY;
    expect(() => linear(engine, layer, x)).toThrow(expect.objectContaining({ code: 'nonfinite' }));
    const spoilt = linear(engine, layer, x, false);
    expect([...spoilt.subarray(20, 40)].every(Number.isNaN)).toBe(true);
    expect(sameBits(spoilt.subarray(0, 20), clean.subarray(0, 20))).toBe(true);
    expect(sameBits(spoilt.subarray(40), clean.subarray(40))).toBe(true);
  });

  it('keeps the attention of the default model near that of f32', async () => {
    const options = { thread: 'here', build } as const;
    const [f32, int8] = [
      await loadModel(bilingual, options),
      await loadModel(bilingual, { ...options, precision: 'int8' }),
    ];
    expect([f32.info.precision, int8.info.precision]).toEqual(['f32', 'int8']);
    const index = JSON.parse(readFileSync(new URL('bilingual/reference/index.json', GOLDEN), 'utf8'));
    const masks: readonly MaskOptions[] = [{ causal: true }, {}, { window: 8 }];
    let worst = 0;
    for (const { ids } of index as { ids: number[] }[]) {
      for (const mask of masks) {
        const [a, b] = [await f32.run(ids, { mask }), await int8.run(ids, { mask })];
        worst = Math.max(worst, maxError(b.attention, a.attention));
      }
    }
    f32.dispose();
    int8.dispose();
    expect(worst).toBeGreaterThan(0.001); // it is computed otherwise
    expect(worst).toBeLessThan(ATTENTION_TOLERANCE);
  });
});

it('gives the same bits in both builds', async () => {
  const [plain, relaxed] = await Promise.all(BUILDS.map(engineOf));
  if (!plain || !relaxed) throw new Error('there are two builds');
  for (const width of [1, 7, 16, 33, 128, 131, 384]) {
    const next = generator(width);
    const layer = { width, weight: floats(next, width * width, 0.2), bias: floats(next, width, 1) };
    const x = floats(next, 11 * width, 5);
    x[0] = 1e6; // an outlier
    expect(sameBits(linear(plain, layer, x), linear(relaxed, layer, x)), `width ${width}`).toBe(true);
  }
});
