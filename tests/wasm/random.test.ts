/** Our public calls against a plain float64 reference, in thousands of random configurations, to 1e-5. */
import { describe, expect, it } from 'vitest';
import {
  type Engine,
  MultiHeadAttention,
  type ScaledDotProductOptions,
  scaledDotProductAttention,
  type Tensor,
} from '../../web/src/index.js';
import { maxError, Worst } from '../support/compare.js';
import { combine, randomTensorMask, randomVisibleKeys, type Sizes, type TensorMask } from '../support/random-masks.js';
import { attention, linear, transposeMiddle } from '../support/reference.js';
import { Random, uniform } from '../support/streams.js';
import { BUILDS, engineOf } from './builds.js';

const TOLERANCE = 1e-5;
const ATTENTIONS = 1400;
const MODULES = 700;

function randomTensor(stream: string, shape: readonly number[], amplitude: number): Tensor {
  const count = shape.reduce((product, size) => product * size, 1);
  return { data: uniform(stream, count, amplitude), shape };
}

/** Mostly small; some past every tile and SIMD width. */
function length(random: Random): number {
  return random.chance(0.08) ? random.between(21, 67) : random.between(1, 20);
}

/** The error of what is scaled by its size: scores are not near 1 as weights are. */
function relative(actual: Tensor, expected: Float64Array): number {
  const size = expected.reduce((most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most), 1);
  return maxError(actual.data, expected) / size;
}

// ===== scaledDotProductAttention =====

function randomAttention(random: Random, stream: string) {
  const kvHeads = random.between(1, 3);
  const sizes = {
    batch: random.between(1, 3),
    heads: kvHeads * random.between(1, 3),
    queries: length(random),
    keys: length(random),
  };
  const headDim = random.chance(0.1) ? random.between(25, 70) : random.between(1, 24);
  const valueDim = random.chance(0.5) ? headDim : random.between(1, 33);
  const place = randomVisibleKeys(random, sizes);
  const one = (size: number) => (random.chance(0.4) ? 1 : size);
  const maskShape = [one(sizes.batch), one(sizes.heads), one(sizes.queries), sizes.keys].slice(random.between(0, 2));
  const mask = random.chance(0.4) ? randomTensorMask(random, `${stream}/mask`, maskShape, false) : undefined;
  const scale = random.chance(0.3) ? random.pick([0, 0.1, 0.25, -0.2]) : undefined;
  const rows = (name: string, heads: number, count: number, width: number) =>
    randomTensor(`${stream}/${name}`, [sizes.batch, heads, count, width], 2);
  const options: ScaledDotProductOptions = {
    ...place,
    query: rows('query', sizes.heads, sizes.queries, headDim),
    key: rows('key', kvHeads, sizes.keys, headDim),
    value: rows('value', kvHeads, sizes.keys, valueDim),
    ...(mask && { attnMask: mask.tensor }),
    ...(scale !== undefined && { scale }),
    enableGqa: true,
    needWeights: random.chance(0.7),
    stages: random.chance(0.2),
  };
  const expected = attention({
    ...sizes,
    kvHeads,
    headDim,
    valueDim,
    query: options.query.data,
    key: options.key.data,
    value: options.value.data,
    scale: scale ?? 1 / Math.sqrt(headDim),
    ...combine(place, mask ? [mask] : [], sizes.keys),
  });
  return { options, expected };
}

function attentionError(engine: Engine, stream: string): number {
  const { options, expected } = randomAttention(new Random(stream), stream);
  const result = scaledDotProductAttention(engine, options);
  expect(result.maskedRows, stream).toBe(expected.maskedRows);
  expect(result.weights === null, stream).toBe(!options.needWeights);
  return Math.max(
    maxError(result.output.data, expected.output),
    result.weights ? maxError(result.weights.data, expected.weights) : 0,
    result.rawScores ? relative(result.rawScores, expected.rawScores) : 0,
    result.scores ? relative(result.scores, expected.scores) : 0,
  );
}

// ===== MultiHeadAttention =====

interface Module {
  readonly sizes: Sizes;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly kdim: number;
  readonly vdim: number;
  readonly bias: boolean;
  readonly addBiasKv: boolean;
  readonly addZeroAttn: boolean;
}

function randomModule(random: Random): Module {
  const kvHeads = random.between(1, 3);
  const headDim = random.between(1, 12);
  const heads = kvHeads * random.between(1, 3);
  const width = () => (random.chance(0.6) ? heads * headDim : random.between(1, 40));
  return {
    sizes: { batch: random.between(1, 3), heads, queries: length(random), keys: length(random) },
    kvHeads,
    headDim,
    kdim: width(),
    vdim: width(),
    bias: random.chance(0.7),
    addBiasKv: random.chance(0.2),
    addZeroAttn: random.chance(0.2),
  };
}

/** Parameters under torch's names, and the same apart: what the reference multiplies by. */
function parameters(stream: string, { sizes, kvHeads, headDim, kdim, vdim, bias, addBiasKv }: Module) {
  const [embed, kv] = [sizes.heads * headDim, kvHeads * headDim];
  const weight = (name: string, rows: number, columns: number) =>
    uniform(`${stream}/${name}`, rows * columns, Math.sqrt(3 / columns));
  const some = (name: string, count: number, present: boolean) =>
    present ? uniform(`${stream}/${name}`, count, 0.5) : undefined;
  const apart = {
    query: weight('q', embed, embed),
    key: weight('k', kv, kdim),
    value: weight('v', kv, vdim),
    out: weight('out', embed, embed),
    inBias: some('in_bias', embed + 2 * kv, bias),
    outBias: some('out_bias', embed, bias),
    biasKey: some('bias_k', kv, addBiasKv),
    biasValue: some('bias_v', kv, addBiasKv),
  };
  const packed = kdim === embed && vdim === embed;
  const state: Record<string, Tensor> = { 'out_proj.weight': { data: apart.out, shape: [embed, embed] } };
  if (packed) {
    const all = Float32Array.from([...apart.query, ...apart.key, ...apart.value]);
    state.in_proj_weight = { data: all, shape: [embed + 2 * kv, embed] };
  } else {
    state.q_proj_weight = { data: apart.query, shape: [embed, embed] };
    state.k_proj_weight = { data: apart.key, shape: [kv, kdim] };
    state.v_proj_weight = { data: apart.value, shape: [kv, vdim] };
  }
  if (apart.inBias && apart.outBias) {
    state.in_proj_bias = { data: apart.inBias, shape: [embed + 2 * kv] };
    state['out_proj.bias'] = { data: apart.outBias, shape: [embed] };
  }
  if (apart.biasKey && apart.biasValue) {
    state.bias_k = { data: apart.biasKey, shape: [1, 1, kv] };
    state.bias_v = { data: apart.biasValue, shape: [1, 1, kv] };
  }
  return { apart, state };
}

/** [B, S, G·D], and the extra keys, to [B, G, S', D]. */
function extendKeys(projected: Float64Array, extra: Float32Array | undefined, module: Module): Float64Array {
  const { sizes, kvHeads, headDim, addZeroAttn } = module;
  const width = kvHeads * headDim;
  const columns = sizes.keys + Number(extra !== undefined) + Number(addZeroAttn);
  const all = new Float64Array(sizes.batch * columns * width);
  for (let b = 0; b < sizes.batch; b++) {
    all.set(projected.subarray(b * sizes.keys * width, (b + 1) * sizes.keys * width), b * columns * width);
    if (extra) all.set(extra, (b * columns + sizes.keys) * width);
  }
  return transposeMiddle(all, sizes.batch, columns, kvHeads);
}

function moduleReference(
  module: Module,
  { apart }: ReturnType<typeof parameters>,
  inputs: readonly Tensor[],
  masking: ReturnType<typeof combine>,
) {
  const { sizes, kvHeads, headDim } = module;
  const [embed, kv] = [sizes.heads * headDim, kvHeads * headDim];
  const [query, key, value] = inputs.map(({ data }) => data) as [Float32Array, Float32Array, Float32Array];
  const bias = (from: number, to: number) => apart.inBias?.subarray(from, to);
  const [queryRows, keyRows] = [sizes.batch * sizes.queries, sizes.batch * sizes.keys];
  const result = attention({
    ...sizes,
    keys: sizes.keys + Number(module.addBiasKv) + Number(module.addZeroAttn),
    kvHeads,
    headDim,
    valueDim: headDim,
    query: transposeMiddle(
      linear(query, apart.query, bias(0, embed), queryRows, embed),
      sizes.batch,
      sizes.queries,
      sizes.heads,
    ),
    key: extendKeys(linear(key, apart.key, bias(embed, embed + kv), keyRows, kv), apart.biasKey, module),
    value: extendKeys(
      linear(value, apart.value, bias(embed + kv, embed + 2 * kv), keyRows, kv),
      apart.biasValue,
      module,
    ),
    scale: 1 / Math.sqrt(headDim),
    ...masking,
  });
  const joined = transposeMiddle(result.output, sizes.batch, sizes.heads, sizes.queries);
  return { ...result, output: linear(joined, apart.out, apart.outBias, queryRows, embed) };
}

/** [B, H, T, S] to [B, T, S]. */
function meanOverHeads(weights: Float64Array, { batch, heads }: Sizes): Float64Array {
  const perHead = weights.length / (batch * heads);
  return Float64Array.from({ length: batch * perHead }, (_, i) => {
    const first = Math.floor(i / perHead) * heads * perHead + (i % perHead);
    let sum = 0;
    for (let h = 0; h < heads; h++) sum += weights[first + h * perHead] ?? Number.NaN;
    return sum / heads;
  });
}

/** [B, length, width], as the module wants it: sequence-first without `batchFirst`. */
function arranged({ data, shape }: Tensor, batchFirst: boolean): Tensor {
  if (batchFirst) return { data, shape };
  const [batch = 1, rows = 1, width = 1] = shape;
  return { data: Float32Array.from(transposeMiddle(data, 1, batch, rows)), shape: [rows, batch, width] };
}

function moduleError(engine: Engine, stream: string): number {
  const random = new Random(stream);
  const module = randomModule(random);
  const { sizes } = module;
  const embed = sizes.heads * module.headDim;
  const given = parameters(stream, module);
  const query = randomTensor(`${stream}/query`, [sizes.batch, sizes.queries, embed], 2);
  const key = randomTensor(`${stream}/key`, [sizes.batch, sizes.keys, module.kdim], 2);
  const value = randomTensor(`${stream}/value`, [sizes.batch, sizes.keys, module.vdim], 2);
  const place = randomVisibleKeys(random, sizes);
  const perHead = random.chance(0.5);
  const maskShape = perHead ? [sizes.batch * sizes.heads, sizes.queries, sizes.keys] : [sizes.queries, sizes.keys];
  const mask = random.chance(0.4) ? randomTensorMask(random, `${stream}/mask`, maskShape, true) : undefined;
  const padding = random.chance(0.3)
    ? randomTensorMask(random, `${stream}/padding`, [sizes.batch, sizes.keys], true)
    : undefined;
  // The reference's masks are indexed by (batch, head, query, key).
  const masks: TensorMask[] = [];
  if (mask && perHead) masks.push({ ...mask, bias: (b, h, t, s) => mask.bias(0, b * sizes.heads + h, t, s) });
  else if (mask) masks.push(mask);
  if (padding) masks.push({ ...padding, bias: (b, _h, _t, s) => padding.bias(0, 0, b, s) });
  const expected = moduleReference(module, given, [query, key, value], combine(place, masks, sizes.keys));

  const [batchFirst, average, needWeights] = [random.chance(0.5), random.chance(0.5), random.chance(0.8)];
  const { kvHeads, kdim, vdim, bias, addBiasKv, addZeroAttn } = module;
  const built = new MultiHeadAttention(engine, {
    embedDim: embed,
    numHeads: sizes.heads,
    kvHeads,
    kdim,
    vdim,
    bias,
    addBiasKv,
    addZeroAttn,
    batchFirst,
  });
  built.loadStateDict(given.state);
  const result = built.forward(arranged(query, batchFirst), arranged(key, batchFirst), arranged(value, batchFirst), {
    ...place,
    ...(mask && { attnMask: mask.tensor }),
    ...(padding && { keyPaddingMask: padding.tensor }),
    needWeights,
    averageAttnWeights: average,
  });
  built.dispose();
  const output = arranged({ data: Float32Array.from(expected.output), shape: query.shape }, batchFirst);
  const weights = average ? meanOverHeads(expected.weights, sizes) : expected.weights;
  expect(result.output.shape, stream).toEqual(output.shape);
  expect(result.maskedRows, stream).toBe(expected.maskedRows);
  return Math.max(
    maxError(result.output.data, output.data),
    result.weights ? maxError(result.weights.data, weights) : 0,
  );
}

// ===== Running =====

function sweep(engine: Engine, name: string, count: number, errorOf: (engine: Engine, stream: string) => number): void {
  const worst = new Worst();
  for (let i = 0; i < count; i++) {
    const stream = `random/${name}-${i}`;
    const error = errorOf(engine, stream);
    worst.note(stream, error);
    expect(error, stream).toBeLessThanOrEqual(TOLERANCE);
  }
  console.log(`${engine.build}, random ${name} against float64: ${worst}`);
  expect(worst.count).toBe(count);
}

describe.each(BUILDS)('%s against a float64 reference', (build) => {
  it(`${ATTENTIONS} random attentions`, async () =>
    sweep(await engineOf(build), 'attentions', ATTENTIONS, attentionError));
  it(`${MODULES} random modules`, async () => sweep(await engineOf(build), 'modules', MODULES, moduleError));
});
