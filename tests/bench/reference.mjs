// What the results must be, in float64 and written for reading. Rows of a result do not depend on one another, so a
// sample of query rows is enough, and cheap: all rows of a short sequence, 16 of a long one.

const SAMPLED_ROWS = 16;
const NORM_EPSILON = 1e-5;

export function sampleRows(length) {
  if (length <= 64) return Array.from({ length }, (_, row) => row);
  return Array.from({ length: SAMPLED_ROWS }, (_, i) => Math.round((i * (length - 1)) / (SAMPLED_ROWS - 1)));
}

/** rows [R, in] times matrix [in, out], plus bias. */
export function linear(rows, matrix, bias) {
  const width = bias.length;
  return rows.map((row) => {
    const result = Float64Array.from(bias);
    for (let i = 0; i < row.length; i++) {
      const base = i * width;
      for (let j = 0; j < width; j++) result[j] += row[i] * matrix[base + j];
    }
    return result;
  });
}

function softmax(scores) {
  const highest = scores.reduce((a, b) => Math.max(a, b), -Infinity);
  const exponentials = scores.map((score) => Math.exp(score - highest));
  const total = exponentials.reduce((a, b) => a + b, 0);
  return exponentials.map((value) => value / total);
}

/** One query row over all keys; keys and values are lists of rows. */
export function attend(query, keys, values) {
  const scale = 1 / Math.sqrt(query.length);
  const scores = Float64Array.from(keys, (key) => {
    let sum = 0;
    for (let i = 0; i < query.length; i++) sum += query[i] * key[i];
    return sum * scale;
  });
  const weights = softmax(scores);
  const output = new Float64Array(query.length);
  values.forEach((value, j) => {
    for (let i = 0; i < output.length; i++) output[i] += weights[j] * value[i];
  });
  return { output, weights };
}

/** erf by its series, and by a continued fraction where that cancels. */
function erf(x) {
  const a = Math.abs(x);
  if (a < 2.5) {
    let term = a;
    let sum = a;
    for (let n = 1; n < 60; n++) {
      term *= (-a * a) / n;
      sum += term / (2 * n + 1);
    }
    return (Math.sign(x) * 2 * sum) / Math.sqrt(Math.PI);
  }
  let fraction = 0;
  for (let k = 60; k > 0; k--) fraction = k / 2 / (a + fraction);
  return Math.sign(x) * (1 - Math.exp(-a * a) / (Math.sqrt(Math.PI) * (a + fraction)));
}

export function gelu(x) {
  return 0.5 * x * (1 + erf(x * Math.SQRT1_2));
}

export function layerNorm(row, weight, bias) {
  const mean = row.reduce((a, b) => a + b, 0) / row.length;
  const variance = row.reduce((sum, x) => sum + (x - mean) ** 2, 0) / row.length;
  const factor = 1 / Math.sqrt(variance + NORM_EPSILON);
  return row.map((x, i) => (x - mean) * factor * weight[i] + bias[i]);
}

export function add(a, b) {
  return a.map((x, i) => x + b[i]);
}

/** Rows of one head: out of [H, S, D], or columns of [S, H·D] rows. */
function headOf(data, head, { length, headDim }) {
  return Array.from({ length }, (_, row) => {
    const start = (head * length + row) * headDim;
    return data.subarray(start, start + headDim);
  });
}

function coreReference(shape, inputs, rows) {
  return Array.from({ length: shape.heads }, (_, head) => {
    const [queries, keys, values] = [inputs.query, inputs.key, inputs.value].map((data) => headOf(data, head, shape));
    return rows.map((row) => attend(queries[row], keys, values));
  });
}

function layerReference(shape, inputs, rows) {
  const { length, embedDim, heads, headDim } = shape;
  const x = Array.from({ length }, (_, i) => inputs.x.subarray(i * embedDim, (i + 1) * embedDim));
  const chosen = rows.map((row) => x[row]);
  const slice = (head) => (row) => row.subarray(head * headDim, (head + 1) * headDim);
  const query = linear(chosen, inputs.queryWeight, inputs.queryBias);
  const key = linear(x, inputs.keyWeight, inputs.keyBias);
  const value = linear(x, inputs.valueWeight, inputs.valueBias);
  const perHead = Array.from({ length: heads }, (_, head) => {
    const [keys, values] = [key.map(slice(head)), value.map(slice(head))];
    return query.map((row) => attend(slice(head)(row), keys, values));
  });
  const context = rows.map((_, i) => Float64Array.from(perHead.flatMap((head) => [...head[i].output])));
  const attention = linear(context, inputs.outWeight, inputs.outBias);
  const output = shape.kind === 'mha' ? attention : feedForward(inputs, chosen, attention);
  return { perHead, output };
}

/** The rest of a post-norm encoder layer. */
function feedForward(inputs, x, attention) {
  const first = attention.map((row, i) => layerNorm(add(row, x[i]), inputs.norm1Weight, inputs.norm1Bias));
  const inner = linear(first, inputs.ffnInWeight, inputs.ffnInBias).map((row) => row.map(gelu));
  const outer = linear(inner, inputs.ffnOutWeight, inputs.ffnOutBias);
  return outer.map((row, i) => layerNorm(add(row, first[i]), inputs.norm2Weight, inputs.norm2Bias));
}

/** Expected values with their places: `output` and `weights` are lists of { start, values }. */
export function makeReference(shape, inputs) {
  const { heads, length, headDim, embedDim, kind } = shape;
  const rows = sampleRows(length);
  const layer = kind === 'core' ? null : layerReference(shape, inputs, rows);
  const perHead = layer ? layer.perHead : coreReference(shape, inputs, rows);
  const each = (width, values) =>
    Array.from({ length: heads }, (_, head) =>
      rows.map((row, i) => ({ start: (head * length + row) * width, values: values(perHead[head][i]) })),
    ).flat();
  return {
    output: layer
      ? rows.map((row, i) => ({ start: row * embedDim, values: layer.output[i] }))
      : each(headDim, ({ output }) => output),
    weights: each(length, ({ weights }) => weights),
  };
}

/** Largest absolute difference; Infinity for NaN. */
export function largestError(actual, expected) {
  let largest = 0;
  for (const { start, values } of expected) {
    for (let i = 0; i < values.length; i++) {
      const error = Math.abs(actual[start + i] - values[i]);
      if (!(error <= largest)) largest = Number.isNaN(error) ? Infinity : error;
    }
  }
  return largest;
}
