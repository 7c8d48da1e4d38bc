/** Our public calls against PyTorch: every case recorded in tests/golden/attention, to 1e-5. */
import { afterAll, describe, expect, it } from 'vitest';
import {
  type BoolTensor,
  boolTensor,
  type Engine,
  MultiHeadAttention,
  scaledDotProductAttention,
  type Tensor,
} from '../../web/src/index.js';
import { maxError, Worst } from '../support/compare.js';
import { type GoldenCase, readGoldenCases } from '../support/golden.js';
import { BUILDS, engineOf } from './builds.js';

const TOLERANCE = 1e-5;
const cases = readGoldenCases();

interface Result {
  readonly output: Tensor;
  readonly weights: Tensor | null;
  readonly maskedRows: number;
}

// ===== torch.nn.MultiheadAttention =====

function sequence(golden: GoldenCase, name: string, length: number, width: number): Tensor {
  const batch = golden.number('batch');
  if (golden.flag('unbatched')) return golden.input(name, [length, width], 2);
  return golden.input(name, golden.flag('batch_first') ? [batch, length, width] : [length, batch, width], 2);
}

/** Parameters under PyTorch's names; the amplitudes are those of tests/golden/README.md. */
function stateDict(golden: GoldenCase): Record<string, Tensor> {
  const [embed, key, value] = ['embed_dim', 'key_dim', 'value_dim'].map((name) => golden.number(name)) as [
    number,
    number,
    number,
  ];
  const weight = golden.number('weight');
  const shapes: [name: string, shape: number[], amplitude: number][] = [['out_proj.weight', [embed, embed], weight]];
  if (key === embed && value === embed) shapes.push(['in_proj_weight', [3 * embed, embed], weight]);
  else {
    shapes.push(['q_proj_weight', [embed, embed], weight]);
    shapes.push(['k_proj_weight', [embed, key], weight]);
    shapes.push(['v_proj_weight', [embed, value], weight]);
  }
  if (golden.flag('bias')) shapes.push(['in_proj_bias', [3 * embed], 0.5], ['out_proj.bias', [embed], 0.5]);
  if (golden.flag('bias_kv')) shapes.push(['bias_k', [1, 1, embed], 1], ['bias_v', [1, 1, embed], 1]);
  return Object.fromEntries(shapes.map(([name, shape, amplitude]) => [name, golden.input(name, shape, amplitude)]));
}

function triangle(queries: number, keys: number): BoolTensor {
  const data = Uint8Array.from({ length: queries * keys }, (_, i) => Number(i % keys > Math.floor(i / keys)));
  return boolTensor(data, [queries, keys]);
}

function moduleMasks(golden: GoldenCase) {
  const kind = golden.word('attn_mask');
  const padding = golden.word('key_padding');
  const attnHidden = kind === 'none' || kind === 'causal' ? undefined : golden.hidden('attn_hidden');
  const keyHidden = padding === 'none' ? undefined : golden.hidden('key_hidden');
  return {
    isCausal: kind === 'causal',
    attnMask:
      kind === 'causal'
        ? triangle(golden.number('queries'), golden.number('keys'))
        : attnHidden && (kind.startsWith('bool') ? attnHidden : golden.additive('attn_mask', attnHidden)),
    keyPaddingMask: keyHidden && (padding === 'bool' ? keyHidden : golden.additive('key_padding_mask', keyHidden)),
  };
}

function runMultihead(engine: Engine, golden: GoldenCase): Result {
  const module = new MultiHeadAttention(engine, {
    embedDim: golden.number('embed_dim'),
    numHeads: golden.number('heads'),
    bias: golden.flag('bias'),
    addBiasKv: golden.flag('bias_kv'),
    addZeroAttn: golden.flag('zero_attn'),
    kdim: golden.number('key_dim'),
    vdim: golden.number('value_dim'),
    batchFirst: golden.flag('batch_first'),
  });
  module.loadStateDict(stateDict(golden));
  const query = sequence(golden, 'query', golden.number('queries'), golden.number('embed_dim'));
  const self = golden.flag('self');
  const key = self ? query : sequence(golden, 'key', golden.number('keys'), golden.number('key_dim'));
  const value = self ? query : sequence(golden, 'value', golden.number('keys'), golden.number('value_dim'));
  const { attnMask, keyPaddingMask, isCausal } = moduleMasks(golden);
  const result = module.forward(query, key, value, {
    ...(attnMask && { attnMask }),
    ...(keyPaddingMask && { keyPaddingMask }),
    isCausal,
    needWeights: golden.flag('need_weights'),
    averageAttnWeights: golden.flag('average'),
  });
  module.dispose();
  return result;
}

// ===== torch.nn.functional.scaled_dot_product_attention =====

function runAttention(engine: Engine, golden: GoldenCase): Result {
  const number = (name: string) => golden.number(name);
  const rows = (name: string, heads: number, length: number, width: number) =>
    golden.input(name, [number('batch'), heads, length, width].slice(4 - number('dims')), 2);
  const query = rows('query', number('heads'), number('queries'), number('head_dim'));
  const key = rows('key', number('kv_heads'), number('keys'), number('head_dim'));
  const value = rows('value', number('kv_heads'), number('keys'), number('value_dim'));
  const hidden = golden.word('mask') === 'none' ? undefined : golden.hidden('attn_hidden');
  const shown =
    hidden &&
    boolTensor(
      hidden.data.map((hide) => 1 - hide),
      hidden.shape,
    );
  const attnMask = hidden && shown && (golden.word('mask') === 'bool' ? shown : golden.additive('attn_mask', hidden));
  const scale = golden.word('scale');
  return scaledDotProductAttention(engine, {
    query,
    key,
    value,
    ...(attnMask ? { attnMask, causal: golden.flag('causal') } : { isCausal: golden.flag('causal') }),
    ...(scale !== 'default' && { scale: Number(scale) }),
    enableGqa: number('kv_heads') !== number('heads'),
    needWeights: true,
  });
}

// ===== Comparison =====

/** PyTorch's NaN is a row that sees no key, where our weights must be zero. */
function zeroForNaN(recorded: Tensor): Float32Array {
  return recorded.data.map((value) => (Number.isNaN(value) ? 0 : value));
}

/** Indices of the rows of the last axis that PyTorch left NaN or zero. */
function unseeingRows(weights: Tensor): number[] {
  const rows = Array.from({ length: weights.data.length / (weights.shape.at(-1) ?? 1) }, (_, row) => row);
  return rows.filter((row) => rowOf(weights, row).every((weight) => Number.isNaN(weight) || weight === 0));
}

function rowOf(tensor: Tensor, row: number): Float32Array {
  const width = tensor.shape.at(-1) ?? 1;
  return tensor.data.slice(row * width, (row + 1) * width);
}

function compare(golden: GoldenCase, result: Result): number {
  const output = golden.recorded('output');
  const weights = golden.recorded('weights');
  expect(result.output.shape).toEqual(output?.shape);
  expect(result.weights?.shape).toEqual(weights?.shape);
  expect(result.maskedRows).toBe(golden.number('masked_rows'));
  const errors = [maxError(result.output.data, output?.data ?? [])];
  if (weights && result.weights) errors.push(maxError(result.weights.data, zeroForNaN(weights)));
  return Math.max(...errors);
}

describe.each(BUILDS)('%s against PyTorch', (build) => {
  const worst = new Worst();
  afterAll(() => console.log(`${build} against PyTorch: ${worst}`));

  it.each(cases.filter(({ kind }) => kind === 'multihead'))('$name', async (golden) => {
    const error = compare(golden, runMultihead(await engineOf(build), golden));
    worst.note(golden.name, error);
    expect(error).toBeLessThanOrEqual(TOLERANCE);
  });

  it.each(cases.filter(({ kind }) => kind === 'attention'))('$name', async (golden) => {
    const error = compare(golden, runAttention(await engineOf(build), golden));
    worst.note(golden.name, error);
    expect(error).toBeLessThanOrEqual(TOLERANCE);
  });

  it.each(
    cases.filter((golden) => golden.kind !== 'encoder' && golden.flag('masked_rows') && golden.recorded('weights')),
  )('$name: rows that see no key are exactly zero', async (golden) => {
    const engine = await engineOf(build);
    const result = golden.kind === 'multihead' ? runMultihead(engine, golden) : runAttention(engine, golden);
    const dead = unseeingRows(golden.recorded('weights') as Tensor);
    expect(dead.length).toBeGreaterThan(0);
    for (const row of dead) expect(rowOf(result.weights as Tensor, row).every((weight) => weight === 0)).toBe(true);
    if (golden.kind === 'attention') {
      for (const row of dead) expect(rowOf(result.output, row).every((value) => value === 0)).toBe(true);
    } else if (golden.flag('average')) {
      const bias = golden.input('out_proj.bias', [golden.number('embed_dim')], 0.5).data;
      for (const row of dead) expect(rowOf(result.output, row)).toEqual(bias);
    }
  });
});

it('covers the record', () => {
  const count = (kind: string) => cases.filter((golden) => golden.kind === kind).length;
  expect(count('multihead') + count('attention')).toBeGreaterThanOrEqual(200);
});
