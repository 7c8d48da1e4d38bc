/** Random masks for the tests, each in two forms: the arguments of a call, and plain functions for the reference. */
import type { BoolTensor, Tensor, VisibleKeys } from '../../web/src/core/types.js';
import { type Bias, type Visible, visibleByPlace } from './reference.js';
import { type Random, uniform } from './streams.js';

export interface Sizes {
  readonly batch: number;
  readonly heads: number;
  readonly queries: number;
  readonly keys: number;
}

/** Masks by place: causal, window, prefix, blocks and lengths, in any combination. */
export function randomVisibleKeys(random: Random, { batch, queries, keys }: Sizes): VisibleKeys {
  const blocks = (length: number) => Array.from({ length }, () => random.between(0, 2));
  return {
    ...(random.chance(0.3) && { causal: true }),
    ...(random.chance(0.2) && { queryOffset: random.between(-3, keys) }),
    ...(random.chance(0.2) && { window: random.chance(0.5) ? random.between(0, 9) : [width(random), width(random)] }),
    ...(random.chance(0.2) && { prefix: random.between(0, keys) }),
    ...(random.chance(0.15) && { queryBlocks: blocks(queries), keyBlocks: blocks(keys) }),
    ...(random.chance(0.15) && { keyLengths: Array.from({ length: batch }, () => random.between(0, keys)) }),
  };
}

function width(random: Random): number {
  return random.chance(0.3) ? Number.POSITIVE_INFINITY : random.between(0, 9);
}

/** A mask given as a tensor: boolean, where `hides` is the value that hides, or additive. */
export interface TensorMask {
  readonly tensor: Tensor | BoolTensor;
  /** -Infinity where it hides, else what it adds. */
  readonly bias: Bias;
}

/** `shape` ends in sizes that broadcast to [batch, heads, queries, keys]. */
export function randomTensorMask(random: Random, stream: string, shape: readonly number[], hides: boolean): TensorMask {
  const count = shape.reduce((product, size) => product * size, 1);
  const rate = random.pick([0.1, 0.4, 0.9]);
  const hidden = Array.from({ length: count }, () => random.chance(rate));
  const additive = random.chance(0.5);
  const values = additive ? uniform(stream, count, 2) : new Float32Array(count);
  const masked = values.map((value, i) => (hidden[i] ? Number.NEGATIVE_INFINITY : value));
  const index = broadcastIndex(shape);
  return {
    tensor: additive
      ? { data: masked, shape }
      : { data: Uint8Array.from(hidden, (hide) => Number(hide === hides)), shape },
    bias: (...place) => masked[index(place)] ?? Number.NaN,
  };
}

/** The flat index in a tensor of `shape` of a place in the tensor that it broadcasts to. */
function broadcastIndex(shape: readonly number[]): (place: readonly number[]) => number {
  return (place) => {
    let index = 0;
    shape.forEach((size, axis) => {
      const at = place[axis + place.length - shape.length] ?? 0;
      index = index * size + (size === 1 ? 0 : at);
    });
    return index;
  };
}

/** All masks together, for the reference; keys from `ownKeys` on are always visible and get nothing added. */
export function combine(
  place: VisibleKeys,
  masks: readonly TensorMask[],
  ownKeys: number,
): { visible: Visible; bias: Bias } {
  const bias: Bias = (b, h, t, s) => {
    if (s >= ownKeys) return 0;
    return masks.reduce((sum, mask) => sum + mask.bias(b, h, t, s), 0);
  };
  return {
    visible: (b, h, t, s) =>
      s >= ownKeys || (visibleByPlace(place, b, t, s) && bias(b, h, t, s) !== Number.NEGATIVE_INFINITY),
    bias,
  };
}
