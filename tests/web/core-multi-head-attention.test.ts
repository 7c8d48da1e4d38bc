/**
 * MultiHeadAttention: its options, shapes, states and messages. That its numbers are PyTorch's is tested in tests/wasm,
 * over recorded and random cases.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeAll, describe, expect, it } from 'vitest';
import { initialStateDict, parameterShapes } from '../../web/src/core/state-dict.js';
import {
  boolTensor,
  type Engine,
  type ForwardOptions,
  loadEngine,
  MultiHeadAttention,
  type MultiHeadAttentionOptions,
  type Tensor,
  tensor,
} from '../../web/src/index.js';

let engine: Engine;
beforeAll(async () => {
  engine = await loadEngine();
});

function counting(...shape: number[]): Tensor {
  const size = shape.reduce((a, b) => a * b, 1);
  return tensor(
    Float32Array.from({ length: size }, (_, i) => ((i * 7) % 11) / 5 - 1),
    shape,
  );
}

const SIZES = { embedDim: 8, numHeads: 2 };

function make(options: Partial<MultiHeadAttentionOptions> = {}): MultiHeadAttention {
  return new MultiHeadAttention(engine, { ...SIZES, ...options });
}

describe('shapes', () => {
  it('are [T, B, E] by default, as in torch', () => {
    const { output, weights } = make().forward(counting(5, 3, 8), counting(4, 3, 8), counting(4, 3, 8));
    expect(output.shape).toEqual([5, 3, 8]);
    expect(weights?.shape).toEqual([3, 5, 4]);
  });

  it('are [B, T, E] with batchFirst, with the same numbers', () => {
    const x = counting(3, 5, 8);
    const transposed = new Float32Array(x.data.length);
    x.data.forEach((value, i) => {
      const [b, t, e] = [Math.floor(i / 40), Math.floor(i / 8) % 5, i % 8];
      transposed[(t * 3 + b) * 8 + e] = value;
    });
    const first = make({ batchFirst: true }).forward(x, x, x);
    const y = tensor(transposed, [5, 3, 8]);
    const second = make().forward(y, y, y);
    expect(first.output.shape).toEqual([3, 5, 8]);
    expect(first.weights?.data).toEqual(second.weights?.data);
  });

  it('need no batch', () => {
    const x = counting(5, 8);
    const module = make();
    const { output, weights } = module.forward(x, x, x);
    expect(output.shape).toEqual([5, 8]);
    expect(weights?.shape).toEqual([5, 5]);
    expect(module.forward(x, x, x, { averageAttnWeights: false }).weights?.shape).toEqual([2, 5, 5]);
  });

  it('follow kdim, vdim and the extra keys', () => {
    const module = make({ kdim: 6, vdim: 4, addBiasKv: true, addZeroAttn: true });
    const result = module.forward(counting(3, 2, 8), counting(5, 2, 6), counting(5, 2, 4), {
      averageAttnWeights: false,
    });
    expect(result.output.shape).toEqual([3, 2, 8]);
    expect(result.weights?.shape).toEqual([2, 2, 3, 7]);
  });

  it('of chosen rows', () => {
    const x = counting(6, 2, 8);
    const { weights } = make().forward(x, x, x, { weightsRows: { heads: [1], rows: [0, 5] } });
    expect(weights?.shape).toEqual([2, 1, 2, 6]);
  });

  it('average over heads', () => {
    const x = counting(4, 8);
    const module = make();
    const all = module.forward(x, x, x, { averageAttnWeights: false }).weights?.data ?? [];
    const mean = module.forward(x, x, x).weights?.data ?? [];
    Array.from(mean).forEach((weight, i) => {
      expect(weight).toBeCloseTo(((all[i] ?? 0) + (all[16 + i] ?? 0)) / 2, 6);
    });
    expect(module.forward(x, x, x, { needWeights: false }).weights).toBeNull();
  });
});

describe('masks', () => {
  const x = counting(3, 8);
  const shown = (options: ForwardOptions) =>
    Array.from(make().forward(x, x, x, options).weights?.data ?? [], (weight) => Number(weight > 0));
  const lower = [1, 0, 0, 1, 1, 0, 1, 1, 1];
  const hidesUpper = boolTensor([
    [false, true, true],
    [false, false, true],
    [false, false, false],
  ]);

  it('true HIDES in boolean masks, as in torch', () => {
    expect(shown({ attnMask: hidesUpper })).toEqual(lower);
    expect(shown({ keyPaddingMask: boolTensor([false, true, false]) })).toEqual([1, 0, 1, 1, 0, 1, 1, 0, 1]);
    expect(shown({ attnMask: hidesUpper, keyPaddingMask: boolTensor([false, true, false]) })).toEqual([
      1, 0, 0, 1, 0, 0, 1, 0, 1,
    ]);
  });

  it('take causal without a mask, and isCausal only with one', () => {
    expect(shown({ causal: true })).toEqual(lower);
    expect(shown({ attnMask: hidesUpper, isCausal: true })).toEqual(lower);
    expect(() => shown({ isCausal: true })).toThrow(/there is no attnMask\. .* use causal: true\.$/);
  });

  it('replace the mask by the hint where torch does', () => {
    const module = make();
    const open = boolTensor([
      [false, false, false],
      [false, false, false],
      [false, false, false],
    ]);
    const hinted = module.forward(x, x, x, { attnMask: open, isCausal: true, needWeights: false });
    expect(hinted.output.data).toEqual(module.forward(x, x, x, { causal: true }).output.data);
    const needing = module.forward(x, x, x, { attnMask: open, isCausal: true });
    expect(needing.output.data).toEqual(module.forward(x, x, x).output.data);
  });

  it('add float masks of attention and padding', () => {
    const module = make({ batchFirst: true });
    const batch = counting(2, 3, 8);
    const [attn, padding] = [counting(4, 3, 3), counting(2, 3)];
    const both = module.forward(batch, batch, batch, { attnMask: attn, keyPaddingMask: padding });
    const sum = attn.data.map((value, i) => value + (padding.data[Math.floor(i / 18) * 3 + (i % 3)] ?? 0));
    const once = module.forward(batch, batch, batch, { attnMask: tensor(sum, [4, 3, 3]) });
    expect(both.weights?.data).toEqual(once.weights?.data);
    const paddingOnly = module.forward(batch, batch, batch, { keyPaddingMask: padding });
    const spread = Float32Array.from({ length: 36 }, (_, i) => padding.data[Math.floor(i / 18) * 3 + (i % 3)] ?? 0);
    expect(paddingOnly.weights?.data).toEqual(
      module.forward(batch, batch, batch, { attnMask: tensor(spread, [4, 3, 3]) }).weights?.data,
    );
  });

  it('mix a boolean one with an additive one', () => {
    const added = counting(3, 3);
    const mixed = make().forward(x, x, x, { attnMask: added, keyPaddingMask: boolTensor([true, false, false]) });
    const written = added.data.map((value, i) => (i % 3 === 0 ? Number.NEGATIVE_INFINITY : value));
    expect(mixed.weights?.data).toEqual(make().forward(x, x, x, { attnMask: tensor(written, [3, 3]) }).weights?.data);
  });

  it('leave a row without keys at the bias of the out-projection', () => {
    const module = make();
    const state = { ...initialStateDict({ ...defaults(), embedDim: 8 }, 0), 'out_proj.bias': counting(8) };
    module.loadStateDict(state);
    const { output, weights, maskedRows } = module.forward(x, x, x, { keyPaddingMask: boolTensor([true, true, true]) });
    expect(maskedRows).toBe(6);
    expect(weights?.data.every((weight) => weight === 0)).toBe(true);
    expect(output.data.slice(8, 16)).toEqual(counting(8).data);
  });
});

describe('initial weights', () => {
  const sizes = { ...defaults(), embedDim: 64, numHeads: 4, kvHeads: 4, kdim: 64, vdim: 64, addBiasKv: true };
  const state = initialStateDict(sizes, 7);
  const largest = (name: string) =>
    Array.from(state[name]?.data ?? []).reduce((max, value) => Math.max(max, Math.abs(value)), 0);

  it('are bounded as in torch: Xavier uniform, and ±1/√E for the out-projection', () => {
    const bound = Math.sqrt(6 / (64 + 3 * 64));
    expect(largest('in_proj_weight')).toBeLessThanOrEqual(bound);
    expect(largest('in_proj_weight')).toBeGreaterThan(0.99 * bound);
    expect(largest('out_proj.weight')).toBeLessThanOrEqual(1 / 8);
    expect(largest('out_proj.weight')).toBeGreaterThan(0.99 / 8);
  });

  it('have zero biases, and normal ones for the extra key and value', () => {
    expect(largest('in_proj_bias')).toBe(0);
    expect(largest('out_proj.bias')).toBe(0);
    const values = [...(state.bias_k?.data ?? []), ...(state.bias_v?.data ?? [])];
    const deviation = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length);
    expect(deviation).toBeGreaterThan(0.6 / 8);
    expect(deviation).toBeLessThan(1.4 / 8);
  });

  it('are spread evenly', () => {
    const values = state.in_proj_weight?.data ?? new Float32Array();
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    expect(Math.abs(mean)).toBeLessThan(0.003);
    const variance = values.reduce((sum, value) => sum + value * value, 0) / values.length;
    expect(variance / (6 / 256 / 3)).toBeCloseTo(1, 1);
  });

  it('come from the seed', () => {
    const x = counting(4, 8);
    const output = (seed: number) => make({ seed }).forward(x, x, x).output.data;
    expect(output(1)).toEqual(output(1));
    expect(output(1)).not.toEqual(output(2));
  });
});

describe('state dict', () => {
  it('has the names and shapes of torch', () => {
    expect([...parameterShapes(defaults())]).toEqual([
      ['in_proj_weight', [24, 8]],
      ['in_proj_bias', [24]],
      ['out_proj.weight', [8, 8]],
      ['out_proj.bias', [8]],
    ]);
    expect([...parameterShapes({ ...defaults(), kdim: 6, vdim: 4, bias: false, addBiasKv: true })]).toEqual([
      ['q_proj_weight', [8, 8]],
      ['k_proj_weight', [8, 6]],
      ['v_proj_weight', [8, 4]],
      ['bias_k', [1, 1, 8]],
      ['bias_v', [1, 1, 8]],
      ['out_proj.weight', [8, 8]],
    ]);
    expect(parameterShapes({ ...defaults(), kvHeads: 1 }).get('in_proj_weight')).toEqual([16, 8]);
  });

  it('is checked one by one', () => {
    const state = initialStateDict(defaults(), 0);
    const { in_proj_bias: _, ...without } = state;
    const load = (given: object) => () => make().loadStateDict({ ...given });
    expect(load(without)).toThrow('the state dict lacks in_proj_bias [24]');
    expect(load({ ...state, bias_k: counting(1, 1, 8) })).toThrow(
      'the state dict has bias_k, and this module has only in_proj_weight, in_proj_bias, out_proj.weight, out_proj.bias',
    );
    expect(load({ ...state, in_proj_weight: counting(8, 24) })).toThrow(
      'in_proj_weight has shape [8, 24]: it must be [24, 8]',
    );
    expect(load({ ...state, in_proj_weight: [1] })).toThrow('in_proj_weight is not a tensor');
  });

  it('takes effect, and leaves the old weights if it is wrong', () => {
    const x = counting(4, 8);
    const module = make();
    const before = module.forward(x, x, x).output.data;
    expect(() => module.loadStateDict({})).toThrow();
    expect(module.forward(x, x, x).output.data).toEqual(before);
    module.loadStateDict(initialStateDict(defaults(), 3));
    expect(module.forward(x, x, x).output.data).toEqual(make({ seed: 3 }).forward(x, x, x).output.data);
  });

  it('of grouped heads equals the full one with its rows repeated', () => {
    const sizes = { ...defaults(), kvHeads: 1 };
    const grouped = make({ kvHeads: 1, seed: 5 });
    const state = initialStateDict(sizes, 5);
    const rows = (name: string, width: number, from: number, count: number) =>
      Array.from(state[name]?.data.slice(from * width, (from + count) * width) ?? []);
    const widened = (name: string, width: number) => [
      ...rows(name, width, 0, 8),
      ...rows(name, width, 8, 4),
      ...rows(name, width, 8, 4),
      ...rows(name, width, 12, 4),
      ...rows(name, width, 12, 4),
    ];
    const full = make();
    full.loadStateDict({
      ...state,
      in_proj_weight: tensor(Float32Array.from(widened('in_proj_weight', 8)), [24, 8]),
      in_proj_bias: tensor(Float32Array.from(widened('in_proj_bias', 1)), [24]),
    });
    const x = counting(5, 8);
    const [a, b] = [grouped.forward(x, x, x).output.data, full.forward(x, x, x).output.data];
    a.forEach((value, i) => {
      expect(value).toBeCloseTo(b[i] ?? Number.NaN, 5);
    });
  });
});

describe('dropout', () => {
  const x = counting(16, 8);

  it('acts in training, the default, and not in evaluation', () => {
    const module = make({ dropout: 0.5 });
    expect(module.training).toBe(true);
    const dropped = module.forward(x, x, x, { averageAttnWeights: false }).weights?.data ?? [];
    expect(dropped.filter((weight) => weight === 0).length).toBeGreaterThan(100);
    const whole = module.eval().forward(x, x, x).output.data;
    expect(whole).toEqual(make().forward(x, x, x).output.data);
    expect(module.train().training).toBe(true);
  });

  it('is another each time, and the same from the same seed', () => {
    const outputs = (seed: number) => {
      const module = make({ dropout: 0.5, seed });
      return [module.forward(x, x, x).output.data, module.forward(x, x, x).output.data] as const;
    };
    const [first, second] = outputs(4);
    expect(first).not.toEqual(second);
    expect(outputs(4)).toEqual([first, second]);
  });
});

describe('life', () => {
  it('ends with dispose, which may be called twice', () => {
    const x = counting(4, 8);
    const module = make();
    module.dispose();
    module.dispose();
    const error = expect.objectContaining({ code: 'disposed' });
    expect(() => module.forward(x, x, x)).toThrowError(error);
    expect(() => module.loadStateDict(initialStateDict(defaults(), 0))).toThrowError(error);
  });

  it('ends with its block by using', () => {
    const x = counting(4, 8);
    const module = make();
    module[Symbol.dispose]();
    expect(() => module.forward(x, x, x)).toThrow('disposed');
  });

  it('ends with the last reference, if nobody disposed it', async () => {
    setFlagsFromString('--expose-gc');
    const collect: () => void = runInNewContext('gc');
    const own = await loadEngine();
    const forget = () => {
      for (let i = 0; i < 50; i++) new MultiHeadAttention(own, { embedDim: 128, numHeads: 2 });
    };
    const settle = async () => {
      for (let i = 0; i < 3; i++) {
        collect();
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    };
    forget();
    await settle();
    const { bytes } = own.memory;
    for (let i = 0; i < 5; i++) {
      forget();
      await settle();
    }
    expect(own.memory.bytes).toBe(bytes);
  });

  it('shares an engine among modules made by create', async () => {
    const [a, b] = await Promise.all([MultiHeadAttention.create(SIZES), MultiHeadAttention.create(SIZES)]);
    const c = await MultiHeadAttention.create(SIZES, { build: 'simd128' });
    expect(a.engine).toBe(b.engine);
    expect(c.engine.build).toBe('simd128');
  });

  it('gets a new engine by create after a crash', async () => {
    const module = await MultiHeadAttention.create(SIZES);
    expect(() => module.engine.call('mh_model_free', 0xffff_fff0)).toThrow();
    const x = counting(4, 8);
    expect(() => module.forward(x, x, x)).toThrowError(expect.objectContaining({ code: 'crashed' }));
    module.dispose();
    const next = await MultiHeadAttention.create(SIZES);
    expect(next.forward(x, x, x).output.shape).toEqual([4, 8]);
  });
});

it('runs its documented example', async () => {
  const attention = await MultiHeadAttention.create({ embedDim: 64, numHeads: 8, batchFirst: true });
  const x = tensor(new Float32Array(2 * 10 * 64).fill(0.5), [2, 10, 64]);
  const { output, weights } = attention.forward(x, x, x, { causal: true });
  expect(output.shape).toEqual([2, 10, 64]);
  expect(weights?.shape).toEqual([2, 10, 10]);
  attention.dispose();
});

describe('refuses', () => {
  it.each<[string, string, Partial<MultiHeadAttentionOptions>]>([
    ['shape', 'numHeads is 3, which does not divide embedDim, 8', { numHeads: 3 }],
    ['shape', 'kvHeads is 3, which does not divide numHeads, 4', { numHeads: 4, kvHeads: 3 }],
    ['argument', 'embedDim is 0: it must be a whole number above 0', { embedDim: 0 }],
    ['argument', 'kdim is 2.5: it must be a whole number above 0', { kdim: 2.5 }],
    ['argument', 'dropout is 1: it must be 0 or more and below 1', { dropout: 1 }],
  ])('%s: %s', (code, message, options) => {
    expect(() => make(options)).toThrowError(expect.objectContaining({ code, message }));
  });

  const x = counting(4, 2, 8);
  it.each<[string, Tensor, Tensor, Tensor, ForwardOptions]>([
    ['query has shape [4, 2, 8] and key [4, 8]: both must be [T, B, E], or both [T, E]', x, counting(4, 8), x, {}],
    ['query has shape [4, 2, 7]: it must be [4, 2, 8]', counting(4, 2, 7), x, x, {}],
    ['key has shape [4, 3, 8]: it must be [4, 2, 8]', x, counting(4, 3, 8), x, {}],
    ['value has shape [5, 2, 8]: it must be [4, 2, 8]', x, x, counting(5, 2, 8), {}],
    ['attnMask has shape [4, 5]: it must be [4, 4] = [T, S]', x, x, x, { attnMask: counting(4, 5) }],
    ['attnMask has shape [2, 4, 4]: it must be [4, 4, 4] = [B·H, T, S]', x, x, x, { attnMask: counting(2, 4, 4) }],
    ['keyPaddingMask has shape [4, 2]: it must be [2, 4] = [B, S]', x, x, x, { keyPaddingMask: counting(4, 2) }],
  ])('shapes: %s', (message, query, key, value, options) => {
    const call = () => make().forward(query, key, value, options);
    expect(call).toThrowError(expect.objectContaining({ code: 'shape' }));
    expect(call).toThrow(message);
  });

  it('NaN, naming the tensor', () => {
    const bad = { ...x, data: x.data.map((value, i) => (i === 9 ? Number.NaN : value)) };
    expect(() => make().forward(x, bad, x)).toThrowError(
      expect.objectContaining({ code: 'nonfinite', message: expect.stringMatching(/key/) }),
    );
  });
});

function defaults() {
  return {
    embedDim: 8,
    numHeads: 2,
    kvHeads: 2,
    kdim: 8,
    vdim: 8,
    bias: true,
    addBiasKv: false,
    addZeroAttn: false,
  };
}
