/**
 * Attention as the textbook has it, in float64 and obvious loops: what our engine is compared with.
 *
 *   weights = softmax(scale · Q Kᵀ + bias), hidden keys left out        output = weights V
 */
import type { VisibleKeys } from '../../web/src/core/types.js';

export interface AttentionShape {
  readonly batch: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly queries: number;
  readonly keys: number;
  readonly headDim: number;
  readonly valueDim: number;
}

/** May query t of head h of batch entry b see key s? */
export type Visible = (b: number, h: number, t: number, s: number) => boolean;
/** What is added to its score. */
export type Bias = (b: number, h: number, t: number, s: number) => number;

export interface AttentionInput extends AttentionShape {
  readonly query: ArrayLike<number>; // [B, H, T, D]
  readonly key: ArrayLike<number>; // [B, G, S, D]
  readonly value: ArrayLike<number>; // [B, G, S, DV]
  readonly scale: number;
  readonly visible: Visible;
  readonly bias: Bias;
}

export interface AttentionResult {
  readonly output: Float64Array; // [B, H, T, DV]
  readonly weights: Float64Array; // [B, H, T, S]
  readonly rawScores: Float64Array; // [B, H, T, S], before scale and mask
  readonly scores: Float64Array; // [B, H, T, S], what softmax sees
  readonly maskedRows: number;
}

export function attention(input: AttentionInput): AttentionResult {
  const { batch, heads, kvHeads, queries, keys, headDim, valueDim } = input;
  const output = new Float64Array(batch * heads * queries * valueDim);
  const weights = new Float64Array(batch * heads * queries * keys);
  const rawScores = new Float64Array(weights.length);
  const scores = new Float64Array(weights.length).fill(Number.NEGATIVE_INFINITY);
  let maskedRows = 0;
  for (let b = 0; b < batch; b++) {
    for (let h = 0; h < heads; h++) {
      const kvHead = b * kvHeads + Math.floor(h / (heads / kvHeads));
      for (let t = 0; t < queries; t++) {
        const row = (b * heads + h) * queries + t;
        for (let s = 0; s < keys; s++) {
          let dot = 0;
          for (let d = 0; d < headDim; d++) {
            dot += at(input.query, row * headDim + d) * at(input.key, (kvHead * keys + s) * headDim + d);
          }
          rawScores[row * keys + s] = dot;
          if (input.visible(b, h, t, s)) scores[row * keys + s] = input.scale * dot + input.bias(b, h, t, s);
        }
        const rowWeights = softmax(scores.subarray(row * keys, (row + 1) * keys));
        if (rowWeights.every((weight) => weight === 0)) maskedRows++;
        weights.set(rowWeights, row * keys);
        for (let d = 0; d < valueDim; d++) {
          let sum = 0;
          for (let s = 0; s < keys; s++) {
            sum += at(rowWeights, s) * at(input.value, (kvHead * keys + s) * valueDim + d);
          }
          output[row * valueDim + d] = sum;
        }
      }
    }
  }
  return { output, weights, rawScores, scores, maskedRows };
}

/** All zeros if every score is -Infinity. */
function softmax(scores: Float64Array): Float64Array {
  const largest = scores.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  if (largest === Number.NEGATIVE_INFINITY) return new Float64Array(scores.length);
  const powers = scores.map((score) => Math.exp(score - largest));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}

/** Section 3 of c/include/multihead.h, for what depends on the places of query and key alone. */
export function visibleByPlace(keysOf: VisibleKeys, b: number, t: number, s: number): boolean {
  const place = t + (keysOf.queryOffset ?? 0);
  if (keysOf.keyLengths && s >= at(keysOf.keyLengths, b)) return false;
  if (keysOf.queryBlocks && keysOf.keyBlocks && keysOf.queryBlocks[t] !== keysOf.keyBlocks[s]) return false;
  if (s < (keysOf.prefix ?? 0)) return true;
  if (keysOf.causal && s > place) return false;
  if (keysOf.window === undefined) return true;
  const [left, right] = typeof keysOf.window === 'number' ? [keysOf.window, keysOf.window] : keysOf.window;
  return s >= place - left && s <= place + right;
}

/** x Wᵀ + b for `rows` rows: x [rows, in], W [out, in], b [out] or none. */
export function linear(
  x: ArrayLike<number>,
  weight: ArrayLike<number>,
  bias: ArrayLike<number> | undefined,
  rows: number,
  out: number,
): Float64Array {
  const width = x.length / rows;
  const result = new Float64Array(rows * out);
  for (let r = 0; r < rows; r++) {
    for (let o = 0; o < out; o++) {
      let sum = bias ? at(bias, o) : 0;
      for (let i = 0; i < width; i++) sum += at(x, r * width + i) * at(weight, o * width + i);
      result[r * out + o] = sum;
    }
  }
  return result;
}

/** [a, b, c, rest] to [a, c, b, rest]: splits [B, length, H, D] into heads, and joins [B, H, length, D] again. */
export function transposeMiddle(x: ArrayLike<number>, a: number, b: number, c: number): Float64Array {
  const rest = x.length / (a * b * c);
  const result = new Float64Array(x.length);
  for (let i = 0; i < a; i++) {
    for (let j = 0; j < b; j++) {
      for (let k = 0; k < c; k++) {
        for (let r = 0; r < rest; r++) {
          result[((i * c + k) * b + j) * rest + r] = at(x, ((i * b + j) * c + k) * rest + r);
        }
      }
    }
  }
  return result;
}

function at(values: ArrayLike<number>, i: number): number {
  const value = values[i];
  if (value === undefined) throw new RangeError(`index ${i} of ${values.length}`);
  return value;
}
