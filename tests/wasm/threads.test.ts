/** More threads give the same bits, or none come and the engine does without; they end with the engine, or with a crash. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { bilingual } from '../../web/models/bilingual/index.js';
import { type Engine, loadEngine, loadModel, MultiHeadAttention, type Tensor } from '../../web/src/index.js';
import { sameBits } from '../support/compare.js';
import { uniform } from '../support/streams.js';
import { BUILDS } from './builds.js';

/** Workers that were started in a test, and those of them that still run; `refuse` makes the host one without. */
const host = vi.hoisted(() => ({ started: [] as Worker[], running: new Set<Worker>(), refuse: '' }));

vi.mock('../../web/src/core/assets.js', async (importOriginal) => {
  const original = await importOriginal<typeof import('../../web/src/core/assets.js')>();
  const builtin = (name: 'node:worker_threads') => {
    const found = original.builtin(name);
    if (name !== 'node:worker_threads' || !found) return found;
    const Counted = class extends found.Worker {
      constructor(script: string, options: object) {
        if (host.refuse === 'spawn') throw new Error('no more threads');
        super(host.refuse === 'script' ? 'throw new Error("blocked")' : script, options);
        const { running } = host;
        host.started.push(this);
        running.add(this);
        this.once('exit', () => running.delete(this));
      }
    };
    return { ...found, Worker: Counted };
  };
  return { ...original, builtin };
});

beforeEach(() => Object.assign(host, { started: [], running: new Set(), refuse: '' }));
afterEach(() => vi.unstubAllGlobals());

const allEnded = () => expect.poll(() => host.running.size, { timeout: 20_000 }).toBe(0);

function random(stream: string, ...shape: number[]): Tensor {
  const size = shape.reduce((a, b) => a * b, 1);
  return { data: uniform(stream, size, 1), shape };
}

/** Large enough to be split: some by rows, some by columns, by heads, and with every kind of weights. */
function compute(engine: Engine): Float32Array[] {
  const results: Float32Array[] = [];
  for (const [embedDim, numHeads, batch, length] of [
    [192, 6, 1, 150],
    [192, 6, 3, 41],
    [256, 1, 1, 130],
    [320, 5, 1, 3],
  ] as const) {
    const module = new MultiHeadAttention(engine, { embedDim, numHeads, batchFirst: true, seed: 7 });
    const x = random(`threads/${embedDim}/${length}`, batch, length, embedDim);
    for (const averageAttnWeights of [true, false]) {
      const { output, weights } = module.forward(x, x, x, { causal: !averageAttnWeights, averageAttnWeights });
      results.push(output.data, weights?.data ?? new Float32Array());
    }
    module.dispose();
  }
  return results;
}

describe.each(BUILDS)('%s with threads', (build) => {
  it('gives the bits of the build with one thread, in arrays that are not shared', async () => {
    const single = await loadEngine({ build, threads: 1 });
    expect(single.threads).toBe(1);
    const expected = compute(single);
    for (const threads of [2, 3, 5]) {
      const engine = await loadEngine({ build, threads });
      expect(engine.threads).toBe(threads);
      expect(engine.build).toBe(build);
      const results = compute(engine);
      results.forEach((result, i) => {
        expect(sameBits(result, expected[i] ?? new Float32Array()), `result ${i}`).toBe(true);
        expect(result.buffer).toBeInstanceOf(ArrayBuffer);
      });
      engine.dispose();
    }
    await allEnded();
  });

  it('runs the model to the same bits', async () => {
    const text = 'The cat sat on the mat. 苹果在桌子上，香蕉在椅子上。'.repeat(3);
    const options = { mask: { causal: true }, logits: 'all', hidden: true, stages: true, tooLong: 'truncate' } as const;
    const [one, two] = await Promise.all([1, 2].map((threads) => loadModel(bilingual, { build, threads })));
    if (!one || !two) throw new Error('there are no models');
    expect([one.threads, two.threads]).toEqual([1, 2]);
    const [a, b] = [await one.run(text, options), await two.run(text, options)];
    for (const key of ['attention', 'hidden', 'logits', 'scores', 'rowStatistics'] as const) {
      const [ofOne, ofTwo] = [a[key], b[key]];
      if (!ofOne || !ofTwo) throw new Error(`there is no ${key}`);
      expect(ofOne.length, key).toBeGreaterThan(0);
      expect(sameBits(ofOne, ofTwo), key).toBe(true);
    }
    one.dispose();
    two.dispose();
    await allEnded();
  });
});

describe('where there are no more threads, the build with one computes', () => {
  it('in Node by itself', async () => {
    expect((await loadEngine()).threads).toBe(1);
    expect((await loadModel(bilingual)).threads).toBe(1);
    expect(host.started).toEqual([]);
  });

  it('without SharedArrayBuffer', async () => {
    vi.stubGlobal('SharedArrayBuffer', undefined);
    expect((await loadEngine({ threads: 2 })).threads).toBe(1);
    expect((await loadEngine({ threads: 'auto' })).threads).toBe(1);
  });

  it.each(['spawn', 'script'])('when a worker fails (%s)', async (refuse) => {
    host.refuse = refuse;
    const engine = await loadEngine({ threads: 4 });
    expect(engine.threads).toBe(1);
    expect(engine.alive).toBe(true);
    await allEnded();
  });

  it('when the wasm with threads is not there', async () => {
    const { mkdtemp, copyFile } = await import('node:fs/promises');
    const folder = await mkdtemp('build/no-threads-');
    for (const build of BUILDS)
      await copyFile(`dist/wasm/multihead-${build}.wasm`, `${folder}/multihead-${build}.wasm`);
    const engine = await loadEngine({ wasmUrl: folder, threads: 2 });
    expect([engine.threads, engine.build]).toEqual([1, 'relaxed-simd']);
  });

  it('when the memory is refused', async () => {
    const names = Object.getOwnPropertyNames(WebAssembly);
    vi.stubGlobal('WebAssembly', {
      ...Object.fromEntries(names.map((name) => [name, Reflect.get(WebAssembly, name)])),
      Memory: class {
        constructor() {
          throw new RangeError('could not allocate memory');
        }
      },
    });
    expect((await loadEngine({ threads: 2 })).threads).toBe(1);
  });
});

it('takes wasm with threads that is given to it', async () => {
  const { readFile } = await import('node:fs/promises');
  const wasm = await readFile('dist/wasm/multihead-relaxed-simd-threads.wasm');
  const engine = await loadEngine({ wasm, threads: 2 });
  expect([engine.threads, engine.build]).toEqual([2, 'relaxed-simd']);
  engine.dispose();
  expect((await loadEngine({ wasm, threads: 1 })).threads).toBe(1);
});

it.each([0, 65, 1.5, Number.NaN, 'two'])('refuses %s threads', async (threads) => {
  await expect(loadEngine({ threads: threads as number })).rejects.toMatchObject({
    code: 'argument',
    message: `threads is ${threads}: it must be 'auto', or a whole number from 1 to 64`,
  });
});

describe('the end', () => {
  it('comes with dispose, ten times over', async () => {
    for (let i = 0; i < 10; i++) {
      const engine = await loadEngine({ threads: 3 });
      compute(engine);
      engine.dispose();
      engine.dispose();
      expect(engine.alive).toBe(false);
      expect(() => engine.call('mh_build')).toThrowError(expect.objectContaining({ code: 'disposed' }));
    }
    expect(host.started.length).toBe(20);
    await allEnded();
  });

  it('comes when nobody holds the engine any more', async () => {
    setFlagsFromString('--expose-gc');
    const gc = runInNewContext('gc') as () => void;
    compute(await loadEngine({ threads: 3 }));
    await expect
      .poll(
        () => {
          gc();
          return host.running.size;
        },
        { timeout: 20_000 },
      )
      .toBe(0);
    expect(host.started.length).toBe(2);
  });

  it('comes when a signal aborts the loading', async () => {
    const stop = new AbortController();
    const loading = loadEngine({ threads: 3, signal: stop.signal });
    stop.abort();
    await expect(loading).rejects.toMatchObject({ name: 'AbortError' });
    await allEnded();
  });

  it('comes with a crash in any of the threads, which the caller learns of', async () => {
    const engine = await loadEngine({ threads: 2 });
    const { memory } = engine;
    const [rows, width] = [96, 256];
    const projectFrom = (place: (valid: number) => number) =>
      memory.scope((scope) => {
        const linear = { data: scope.alloc(width * width * 4), out_stride: width, in_stride: 1 };
        const config = { embed_dim: width, heads: 2, kv_heads: 2, query: linear, key: linear, value: linear };
        const module = scope.alloc(4);
        engine.check('mh_multihead_create', module, scope.struct('mh_multihead_config', config));
        const input = place(scope.alloc(rows * width * 4));
        const strides = Object.fromEntries(
          ['query', 'key', 'value'].flatMap((name) => [
            [name, input],
            [`${name}_batch_stride`, rows * width],
            [`${name}_row_stride`, width],
          ]),
        );
        const pass = {
          ...{ batch: 1, queries: rows, keys: rows, ...strides, output: scope.alloc(rows * width * 4) },
          ...{ output_batch_stride: rows * width, output_row_stride: width },
        };
        engine.forward(scope, 'mh_multihead', memory.uint32(module), scope.struct('mh_multihead_pass', pass));
      });
    projectFrom((valid) => valid);
    // Now that memory has grown: the first half of the rows is in it, the second half beyond its end.
    const crash = () => projectFrom(() => memory.bytes - (rows * width * 4) / 2);
    expect(crash).toThrowError(expect.objectContaining({ name: 'MultiheadError', code: 'crashed' }));
    expect(engine.alive).toBe(false);
    expect(crash).toThrow(/cannot be used again/);
    await allEnded();
  });
});
