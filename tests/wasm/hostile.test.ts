/** Bad input gets an error that names it, with the right code; the engine goes on working after every one. */
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  boolTensor,
  type Engine,
  type ErrorCode,
  loadEngine,
  loadModel,
  type Model,
  MultiHeadAttention,
  type MultiHeadAttentionOptions,
  MultiheadError,
  type ScaledDotProductOptions,
  scaledDotProductAttention,
  type Tensor,
  tensor,
} from '../../web/src/index.js';
import { bilingualF32 } from '../support/golden.js';
import { readGpt2 } from '../support/gpt2.js';
import { Random, uniform } from '../support/streams.js';
import { BUILDS, engineOf } from './builds.js';

const [B, T, S, E, H] = [2, 5, 7, 12, 3];

function random(shape: readonly number[]): Tensor {
  return {
    data: uniform(
      `hostile/${shape}`,
      shape.reduce((a, b) => a * b, 1),
      1,
    ),
    shape,
  };
}

/** A copy with one value changed. */
function withValue(of: Tensor, index: number, value: number): Tensor {
  return { data: of.data.map((old, i) => (i === index ? value : old)), shape: of.shape };
}

/** Calls, and returns the error that must come. */
function errorOf(call: () => unknown): MultiheadError {
  try {
    call();
  } catch (error) {
    expect(error).toBeInstanceOf(MultiheadError);
    return error as MultiheadError;
  }
  throw new Error('nothing was thrown');
}

function expectError(call: () => unknown, code: ErrorCode, message: RegExp): void {
  const error = errorOf(call);
  expect(error.message).toMatch(message);
  expect(error.code).toBe(code);
}

// ===== Sizes of a module =====

const badOptions: [what: string, options: Partial<MultiHeadAttentionOptions>, code: ErrorCode, message: RegExp][] = [
  ['heads that do not divide', { numHeads: 5 }, 'shape', /5.*12/],
  ['no heads', { numHeads: 0 }, 'argument', /numHeads.*0/],
  ['a negative width', { embedDim: -12 }, 'argument', /embedDim.*-12/],
  ['half a width', { embedDim: 1.5 }, 'argument', /embedDim.*1\.5/],
  ['NaN for a width', { embedDim: Number.NaN }, 'argument', /embedDim.*NaN/],
  ['KV heads that do not divide', { kvHeads: 2 }, 'shape', /kvHeads.*2.*3/],
  ['no width of keys', { kdim: 0 }, 'argument', /kdim.*0/],
  ['dropout of 1', { dropout: 1 }, 'argument', /dropout.*1/],
  ['dropout below 0', { dropout: -0.1 }, 'argument', /dropout.*-0\.1/],
  ['dropout of NaN', { dropout: Number.NaN }, 'argument', /dropout.*NaN/],
];

describe.each(BUILDS)('%s: modules', (build) => {
  let engine: Engine;
  let module: MultiHeadAttention;
  const [query, key, value] = [random([B, T, E]), random([B, S, E]), random([B, S, E])];
  beforeAll(async () => {
    engine = await engineOf(build);
    module = new MultiHeadAttention(engine, { embedDim: E, numHeads: H, batchFirst: true });
  });

  it.each(badOptions)('%s', (_, options, code, message) => {
    expectError(() => new MultiHeadAttention(engine, { embedDim: E, numHeads: H, ...options }), code, message);
  });

  it.each<[what: string, inputs: readonly [Tensor, Tensor, Tensor], message: RegExp]>([
    ['a query of another width', [random([B, T, E + 1]), key, value], /query.*\[2, 5, 13\].*\[2, 5, 12\]/],
    ['a key of another width', [query, random([B, S, E - 1]), value], /key.*\[2, 7, 11\].*\[2, 7, 12\]/],
    ['values of another length', [query, key, random([B, S + 1, E])], /value.*\[2, 8, 12\].*\[2, 7, 12\]/],
    ['keys of another batch', [query, random([B + 1, S, E]), value], /key.*\[3, 7, 12\]/],
    ['a batch only for the query', [query, random([S, E]), random([S, E])], /query.*key/],
    ['four dimensions', [random([1, B, T, E]), key, value], /query.*\[1, 2, 5, 12\]/],
    [
      'data shorter than its shape',
      [{ data: new Float32Array(7), shape: [B, T, E] }, key, value],
      /query.*7 values.*120/,
    ],
  ])('%s', (_, inputs, message) => {
    expectError(() => module.forward(...inputs), 'shape', message);
  });

  it('no query, or no key, at all', () => {
    const none = random([B, 0, E]);
    expectError(() => module.forward(none, key, value), 'argument', /queries/);
    expectError(() => module.forward(query, none, none), 'argument', /keys/);
  });

  it.each<[what: string, input: unknown]>([
    ['nothing', undefined],
    ['plain lists', [[[1, 2, 3]]]],
    ['a bare array', new Float32Array(B * T * E)],
    ['data without shape', { data: new Float32Array(4) }],
  ])('%s for a tensor', (_, input) => {
    expectError(() => module.forward(input as Tensor, key, value), 'argument', /query.*tensor/);
  });

  it.each<[what: string, options: Parameters<MultiHeadAttention['forward']>[3], code: ErrorCode, message: RegExp]>([
    ['a mask of another shape', { attnMask: random([T, T]) }, 'shape', /attnMask.*\[5, 5\].*\[5, 7\]/],
    [
      'a mask per head, not per batch and head',
      { attnMask: random([H, T, S]) },
      'shape',
      /attnMask.*\[3, 5, 7\].*\[6, 5, 7\]/,
    ],
    ['a padding of queries', { keyPaddingMask: random([B, T]) }, 'shape', /keyPaddingMask.*\[2, 5\].*\[2, 7\]/],
    ['isCausal without the mask it speaks of', { isCausal: true }, 'argument', /isCausal.*causal: true/],
    ['too few lengths', { keyLengths: [1] }, 'shape', /keyLengths.*1.*2/],
    ['a length past the keys', { keyLengths: [1, S + 1] }, 'shape', /length.*8/],
    ['a negative length', { keyLengths: [-1, 2] }, 'shape', /length.*-1/],
    ['blocks of queries alone', { queryBlocks: [0, 0, 0, 1, 1] }, 'argument', /block/],
    ['a negative window', { window: -1 }, 'argument', /window.*-1/],
    ['half a window', { window: 1.5 }, 'argument', /window.*1\.5/],
    ['a prefix below 0', { prefix: -1 }, 'argument', /prefix.*-1/],
    ['a scale of NaN', { scale: Number.NaN }, 'argument', /scale/],
    ['a head that is not there', { weightsRows: { heads: [H] } }, 'argument', /head.*3/],
    ['rows out of order', { weightsRows: { rows: [2, 1] } }, 'argument', /row/],
  ])('%s', (_, options, code, message) => {
    expectError(() => module.forward(query, key, value, options), code, message);
  });

  it.each<[what: string, change: (state: Record<string, Tensor>) => void, code: ErrorCode, message: RegExp]>([
    ['lacks a parameter', (state) => delete state.in_proj_bias, 'argument', /in_proj_bias/],
    [
      'has one too much',
      (state) => {
        state.bias_k = random([1, 1, E]);
      },
      'argument',
      /bias_k/,
    ],
    [
      'has one of another shape',
      (state) => {
        state['out_proj.weight'] = random([E, E + 1]);
      },
      'shape',
      /out_proj\.weight/,
    ],
  ])('a state dict that %s', (_, change, code, message) => {
    const state: Record<string, Tensor> = {
      in_proj_weight: random([3 * E, E]),
      in_proj_bias: random([3 * E]),
      'out_proj.weight': random([E, E]),
      'out_proj.bias': random([E]),
    };
    module.loadStateDict({ ...state });
    const before = module.forward(query, key, value).output.data;
    change(state);
    expectError(() => module.loadStateDict(state), code, message);
    expect(module.forward(query, key, value).output.data).toEqual(before);
  });

  it('a module that was disposed', () => {
    const gone = new MultiHeadAttention(engine, { embedDim: E, numHeads: H });
    gone.dispose();
    gone.dispose();
    expectError(() => gone.forward(query, key, value), 'disposed', /disposed/);
    expectError(() => gone.loadStateDict({}), 'disposed', /disposed/);
  });

  it('the engine still works', () => {
    expect(engine.alive).toBe(true);
    expect(module.forward(query, key, value).output.data.every(Number.isFinite)).toBe(true);
  });
});

// ===== The guard against NaN and infinity =====

describe.each(BUILDS)('%s: the guard names', (build) => {
  const inputs = { query: random([1, H, T, 4]), key: random([1, H, S, 4]), value: random([1, H, S, 4]) };

  it.each(
    [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY].flatMap((bad) => [
      [bad, 'query', /^query\[b=0, h=1, row=3, d=1\]/] as const,
      [bad, 'key', /^key\[b=0, h=1, row=1, d=1\]/] as const,
      [bad, 'value', /^value\[b=0, h=1, row=1, d=1\]/] as const,
    ]),
  )('%s in %s, with its place', async (bad, name, message) => {
    const engine = await engineOf(build);
    const call = () => scaledDotProductAttention(engine, { ...inputs, [name]: withValue(inputs[name], 33, bad) });
    expectError(call, 'nonfinite', message);
  });

  it('an additive mask that is NaN or +infinity; -infinity hides', async () => {
    const engine = await engineOf(build);
    const run = (bad: number) => () =>
      scaledDotProductAttention(engine, { ...inputs, attnMask: withValue(random([T, S]), 17, bad), needWeights: true });
    expectError(run(Number.NaN), 'nonfinite', /bias/);
    expectError(run(Number.POSITIVE_INFINITY), 'nonfinite', /bias/);
    const { weights } = run(Number.NEGATIVE_INFINITY)();
    expect(weights?.data[17]).toBe(0);
  });

  it('numbers too large for their product', async () => {
    const engine = await engineOf(build);
    const huge = { data: inputs.query.data.map(() => 1e38), shape: inputs.query.shape };
    expectError(
      () =>
        scaledDotProductAttention(engine, {
          ...inputs,
          query: huge,
          key: { ...inputs.key, data: inputs.key.data.map(() => 1e38) },
        }),
      'nonfinite',
      /scores/,
    );
  });

  it('nothing when it is off', async () => {
    const engine = await engineOf(build);
    const query = withValue(inputs.query, 0, Number.NaN);
    const { output } = scaledDotProductAttention(engine, { ...inputs, query, checkFinite: false });
    expect(Number.isNaN(output.data[0])).toBe(true);
    expect(output.data.slice(4).every(Number.isFinite)).toBe(true);
  });
});

// ===== Scaled dot-product attention =====

describe.each(BUILDS)('%s: scaledDotProductAttention', (build) => {
  const [query, key, value] = [random([B, 4, T, 6]), random([B, 4, S, 6]), random([B, 4, S, 3])];
  it.each<[what: string, options: Partial<ScaledDotProductOptions>, code: ErrorCode, message: RegExp]>([
    ['one dimension', { query: random([6]) }, 'shape', /query.*\[6\]/],
    ['another head size', { key: random([B, 4, S, 5]) }, 'shape', /key.*\[2, 4, 7, 5\]/],
    ['fewer KV heads without enableGqa', { key: random([B, 2, S, 6]), value: random([B, 2, S, 3]) }, 'shape', /key/],
    [
      'KV heads that do not divide',
      { key: random([B, 3, S, 6]), value: random([B, 3, S, 3]), enableGqa: true },
      'shape',
      /3.*4|4.*3/,
    ],
    [
      'a mask that does not broadcast',
      { attnMask: boolTensor(new Uint8Array(10), [5, 2]) },
      'shape',
      /attnMask.*\[5, 2\]/,
    ],
    ['isCausal and a mask', { attnMask: random([T, S]), isCausal: true }, 'argument', /isCausal/],
    ['a dropout of 1', { dropoutP: 1 }, 'argument', /dropout.*1/],
    ['an infinite scale', { scale: Number.POSITIVE_INFINITY }, 'argument', /scale/],
  ])('%s', async (_, options, code, message) => {
    const engine = await engineOf(build);
    expectError(() => scaledDotProductAttention(engine, { query, key, value, ...options }), code, message);
  });

  it.each([
    ['half of what is wanted', 16_000],
    ['nothing of it, nor its size in 32 bits', 40_000],
  ])('a memory that holds %s', async (_, rows) => {
    const engine = await loadEngine({ build });
    const long = random([1, 1, rows, 1]);
    const call = () =>
      scaledDotProductAttention(engine, { query: long, key: long, value: long, needWeights: true, stages: true });
    expectError(call, 'memory', /memory.*bytes/);
    expect(scaledDotProductAttention(engine, { query, key, value }).output.shape).toEqual([B, 4, T, 3]);
    // What it took on the way is free again.
    engine.memory.release(engine.memory.reserve(1_600_000_000));
  });
});

describe('tensor and boolTensor', () => {
  it('refuse what is no tensor', () => {
    expectError(() => tensor([[1, 2], [3]]), 'shape', /ragged/);
    expectError(() => tensor([1, [2]] as never), 'shape', /ragged/);
    expectError(() => tensor(['1'] as never), 'argument', /number/);
    expectError(() => boolTensor([1] as never), 'argument', /boolean/);
    expectError(() => tensor(new Float32Array(5), [2, 3]), 'shape', /5.*6/);
  });
});

// ===== Models =====

describe.each(BUILDS)('%s: models', (build) => {
  let model: Model;
  beforeAll(async () => {
    model = await loadModel(bilingualF32, { build });
  });

  it.each<
    [what: string, input: string | number[], options: Parameters<Model['run']>[1], code: ErrorCode, message: RegExp]
  >([
    ['no token', [], {}, 'argument', /empty|token/],
    ['a token past the vocabulary', [2, 8016], {}, 'argument', /8016/],
    ['a negative token', [-1], {}, 'argument', /-1/],
    ['half a token', [1.5], {}, 'argument', /1\.5/],
    ['too many tokens', new Array<number>(65).fill(7), {}, 'too-long', /65.*64/],
    ['a text too long', 'cat '.repeat(100), {}, 'too-long', /64/],
    ['a temperature of 0', 'Hi', { temperature: 0 }, 'argument', /temperature.*0/],
    ['a scale of NaN', 'Hi', { scale: Number.NaN }, 'argument', /scale.*NaN/],
    ['a layer that is not there', 'Hi', { ablate: [{ layer: 4, head: 0, kind: 'zero' }] }, 'argument', /layer.*4/],
    ['a head that is not there', 'Hi', { ablate: [{ layer: 0, head: 8, kind: 'zero' }] }, 'argument', /head.*8/],
    ['another ablation', 'Hi', { ablate: [{ layer: 0, head: 0, kind: 'all' as never }] }, 'argument', /all.*zero/],
    ['a painted mask of another size', 'Hi', { mask: { hidden: new Uint8Array(10) } }, 'shape', /10.*9/],
    ['padding past the end', 'Hi', { mask: { padding: [3] } }, 'argument', /padding.*3/],
    ['logits of no position', 'Hi', { logits: [9] }, 'argument', /logits.*9/],
    ['a mask token past the end', 'Hi', { maskTokens: [99] }, 'argument', /maskTokens.*99/],
  ])('%s', async (_, input, options, code, message) => {
    const error = await model.run(input, options).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(MultiheadError);
    expect((error as MultiheadError).message).toMatch(message);
    expect((error as MultiheadError).code).toBe(code);
  });

  it('a row that sees nothing is zero and counted, and what follows stays finite', async () => {
    const { tokens } = await model.run('I am a student.');
    const length = tokens.length;
    const hidden = new Uint8Array(length * length).fill(1, 2 * length, 3 * length);
    const run = await model.run('I am a student.', { mask: { hidden }, hidden: true });
    const { layers, heads } = model.info;
    expect(run.maskedRows).toBe(layers * heads);
    for (let map = 0; map < layers * heads; map++) {
      const row = run.attention.subarray((map * length + 2) * length, (map * length + 3) * length);
      expect(row.every((weight) => weight === 0)).toBe(true);
    }
    expect(run.hidden?.every(Number.isFinite)).toBe(true);
  });

  it('files changed at random give an error or a model that runs, never a crash', async () => {
    const { config, tokenizer, folder } = readGpt2();
    const whole = new Uint8Array(readFileSync(new URL('model-bf16.safetensors', folder)));
    const choose = new Random('hostile/files');
    const codes = new Map<string, number>();
    for (let i = 0; i < 150; i++) {
      const weights = damage(whole, choose);
      const outcome = await loadModel({ config, weights, tokenizer }, { build })
        .then(async (loaded) => {
          await loaded.run([1, 2, 3]);
          loaded.dispose();
          return 'ran';
        })
        .catch((error: unknown) => {
          expect(error).toBeInstanceOf(MultiheadError);
          return (error as MultiheadError).code;
        });
      codes.set(outcome, (codes.get(outcome) ?? 0) + 1);
    }
    expect(codes.get('crashed')).toBeUndefined();
    expect(codes.get('corrupt')).toBeGreaterThan(50);
  });
});

/** Cut off, with other bytes in its header, or with another length of header. */
function damage(file: Uint8Array, choose: Random): Uint8Array {
  const headerBytes = new DataView(file.buffer, file.byteOffset).getUint32(0, true);
  const kind = choose.between(0, 2);
  if (kind === 0) return file.slice(0, choose.between(0, file.length - 1));
  const copy = file.slice();
  if (kind === 1) copy[choose.between(0, 7)] = choose.between(0, 255);
  for (let n = choose.between(1, 4); kind === 2 && n > 0; n--) {
    copy[8 + choose.between(0, headerBytes - 1)] = choose.between(32, 126);
  }
  return copy;
}
