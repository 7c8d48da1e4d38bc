/** What does not exist, or is no options object at all, is refused by name in every public call. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bilingual } from '../../web/models/bilingual/index.js';
import {
  type Engine,
  loadEngine,
  loadModel,
  type Model,
  MultiHeadAttention,
  type RunOptions,
  scaledDotProductAttention,
  tensor,
} from '../../web/src/index.js';

/** Calls as JavaScript may make them: what the types forbid is what is tested. */
// biome-ignore lint/suspicious/noExplicitAny: see above
type Anything = any;

const x = tensor([
  [1, 0],
  [0, 1],
]);
let engine: Engine;
let model: Model;
let attention: MultiHeadAttention;
beforeAll(async () => {
  engine = await loadEngine();
  model = await loadModel(bilingual, { thread: 'here' });
  attention = new MultiHeadAttention(engine, { embedDim: 2, numHeads: 1 });
});
afterAll(() => model.dispose());

const run = (options: Anything) => () => model.run('hi', options);
const forward = (options: Anything) => () => attention.forward(x, x, x, options);
const attend = (options: Anything) => () =>
  scaledDotProductAttention(engine, { query: x, key: x, value: x, ...options });

describe('an option that does not exist is named, with those that do', () => {
  const cases: readonly [string, () => unknown, RegExp][] = [
    ['run', run({ layer: 1 }), /^run has no option layer: it has mask, scale, temperature, ablate, .*signal$/],
    ['mask', run({ mask: { windw: 1 } }), /^mask has no option windw: it has causal, window, prefix, padding, hidden$/],
    [
      'an ablation',
      run({ ablate: [{ layer: 0, head: 0, kinds: 'zero' }] }),
      /^an ablation has no option kinds: it has layer, head, kind$/,
    ],
    ['runLatest', () => model.runLatest('hi', { layer: 1 } as Anything), /^run has no option layer/],
    [
      'tokenize',
      () => model.tokenize('hi', { endtoken: true } as Anything),
      /^tokenize has no option endtoken: it has endToken$/,
    ],
    [
      'loadModel',
      () => loadModel(bilingual, { workerURL: '' } as Anything),
      /^loadModel has no option workerURL: it has .*workerUrl/,
    ],
    [
      'the model',
      () => loadModel({ ...bilingual, weight: 1 } as Anything),
      /^the model has no option weight: it has .*weights/,
    ],
    [
      'loadEngine',
      () => loadEngine({ simd: true } as Anything),
      /^loadEngine has no option simd: it has build, threads, wasmUrl, wasm/,
    ],
    [
      'MultiHeadAttention',
      () => new MultiHeadAttention(engine, { embed_dim: 8 } as Anything),
      /^MultiHeadAttention has no option embed_dim: it has embedDim, numHeads, /,
    ],
    [
      'the engine',
      () => MultiHeadAttention.create({ embedDim: 2, numHeads: 1 }, { simd: true } as Anything),
      /^the engine has no option simd: it has build, threads, wasmUrl, wasm$/,
    ],
    ['forward', forward({ attn_mask: null }), /^forward has no option attn_mask: it has .*attnMask/],
    ['weightsRows', forward({ weightsRows: { head: [0] } }), /^weightsRows has no option head: it has heads, rows$/],
    [
      'scaledDotProductAttention',
      attend({ attn_mask: null }),
      /^scaledDotProductAttention has no option attn_mask: it has /,
    ],
  ];
  it.each(cases)('%s', async (_name, call, message) => {
    const thrown = await Promise.resolve()
      .then(call)
      .catch((error: unknown) => error);
    expect(thrown).toMatchObject({
      code: 'argument',
      message: expect.stringMatching(message),
      details: { known: expect.any(Array) },
    });
  });
});

describe('what is not an argument at all is said', () => {
  const cases: readonly [string, () => unknown, RegExp][] = [
    [
      'a precision that there is not',
      () => loadModel(bilingual, { precision: 'int4' } as Anything),
      /^precision is int4: it must be 'f32' or 'int8'$/,
    ],
    ['run(5)', () => model.run(5 as Anything), /^run takes a text, or a list of ids, and got 5$/],
    ['run()', () => (model as Anything).run(), /^run takes a text, or a list of ids, and got undefined$/],
    ['run(text, null)', run(null), /^run takes an object of options, and got null$/],
    ['run(text, causal)', run({ mask: 'causal' }), /^mask takes an object of options, and got causal$/],
    ['run with one ablation', run({ ablate: { layer: 0 } }), /^ablate is \[object Object\]: it must be a list$/],
    ['run with one hidden token', run({ maskTokens: 3 }), /^maskTokens is 3: it must be a list$/],
    [
      'run with one position',
      run({ logits: 3 }),
      /^logits is 3: it must be 'none', 'last', 'all' or a list of positions$/,
    ],
    ['run too long', run({ tooLong: 'trunc' }), /^tooLong is trunc: it must be 'error' or 'truncate'$/],
    ['tokenize(5)', () => model.tokenize(5 as Anything), /^tokenize takes a text, or a list of ids, and got 5$/],
    [
      'loadModel()',
      () => (loadModel as Anything)(),
      /^the model is undefined: give a folder, or config, weights and tokenizer$/,
    ],
    [
      'loadModel(url, 1)',
      () => loadModel(bilingual, 1 as Anything),
      /^loadModel takes an object of options, and got 1$/,
    ],
    [
      'loadModel in a thread',
      () => loadModel(bilingual, { thread: 'main' as Anything }),
      /^thread is main: it must be 'worker' or 'here'$/,
    ],
    [
      'new MultiHeadAttention()',
      () => new (MultiHeadAttention as Anything)(),
      /^the engine is undefined: make one with await loadEngine\(\)$/,
    ],
    [
      'new MultiHeadAttention(engine)',
      () => new (MultiHeadAttention as Anything)(engine),
      /^MultiHeadAttention takes an object of options, and got undefined$/,
    ],
    [
      'create()',
      () => (MultiHeadAttention as Anything).create(),
      /^MultiHeadAttention takes an object of options, and got undefined$/,
    ],
    ['forward()', () => (attention as Anything).forward(), /^query is not a tensor/],
    ['scaledDotProductAttention()', () => (scaledDotProductAttention as Anything)(), /^the engine is undefined/],
    [
      'scaledDotProductAttention(engine)',
      () => (scaledDotProductAttention as Anything)(engine),
      /^scaledDotProductAttention takes an object of options, and got undefined$/,
    ],
  ];
  it.each(cases)('%s', async (_name, call, message) => {
    const thrown = await Promise.resolve()
      .then(call)
      .catch((error: unknown) => error);
    expect(thrown).toMatchObject({ code: 'argument', message: expect.stringMatching(message) });
  });
});

it('every option that exists is taken', async () => {
  const all: Required<RunOptions> = {
    mask: { causal: true, window: 4, prefix: 1, padding: [1] },
    scale: 'default',
    temperature: 1,
    ablate: [],
    attention: 'all',
    statistics: true,
    stages: false,
    hidden: false,
    logits: 'none',
    topK: 0,
    endToken: false,
    maskTokens: [],
    tooLong: 'error',
    checkFinite: true,
    signal: new AbortController().signal,
  };
  await expect(model.run('hi', all)).resolves.toHaveProperty('attention');
});
