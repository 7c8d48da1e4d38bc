/** Masks of the attention calls: torch's arguments and ours, as the fields of `struct mh_mask`. */
import { MultiheadError } from './errors.js';
import type { Fields, Scope } from './memory.js';
import type { Known } from './options.js';
import { checkTensor, int32List, requireShape, shapeText, sizeOf } from './tensor.js';
import type { BoolTensor, Tensor, VisibleKeys } from './types.js';

/** Sizes of one attention call. */
export interface AttentionSizes {
  readonly batch: number;
  readonly heads: number;
  /** T */
  readonly queries: number;
  /** S */
  readonly keys: number;
}

/** The numbers for the windows of `MaskOptions` and `VisibleKeys`; a negative width is no limit on that side. */
export function windowFields(window: number | readonly [left: number, right: number] | undefined): Fields {
  if (window === undefined) return {};
  const [left, right] = typeof window === 'number' ? [window, window] : window;
  if (typeof window === 'number' && window < 0) {
    throw new MultiheadError('argument', `window is ${window}: one width for both sides is 0 or more`);
  }
  return { windowed: 1, window_left: clampInfinity(left), window_right: clampInfinity(right) };
}

function clampInfinity(width: number): number {
  return width === Number.POSITIVE_INFINITY ? -1 : width;
}

export const VISIBLE_KEYS: Known<VisibleKeys> = {
  causal: true,
  queryOffset: true,
  window: true,
  prefix: true,
  queryBlocks: true,
  keyBlocks: true,
  keyLengths: true,
};

/** Fields for which keys are visible by their place: everything of `mh_mask` that torch has no argument for. */
export function visibleKeysFields(scope: Scope, visible: VisibleKeys, sizes: AttentionSizes): Fields {
  const list = (name: keyof VisibleKeys, values: readonly number[] | undefined, length: number) => {
    if (values === undefined) return undefined;
    if (values.length === length) return scope.copyIn(int32List(name, values));
    throw new MultiheadError('shape', `${name} has ${values.length} values: it must have ${length}`, {
      details: { name, length: values.length, expected: length },
    });
  };
  return {
    ...windowFields(visible.window),
    causal: visible.causal,
    query_offset: visible.queryOffset,
    prefix: visible.prefix,
    query_blocks: list('queryBlocks', visible.queryBlocks, sizes.queries),
    key_blocks: list('keyBlocks', visible.keyBlocks, sizes.keys),
    key_lengths: list('keyLengths', visible.keyLengths, sizes.batch),
  };
}

/** A mask over (batch, head, query, key), and which value of a boolean one hides. */
export interface DenseMask {
  readonly data: Float32Array | Uint8Array;
  readonly batchStride: number;
  readonly headStride: number;
  readonly rowStride: number;
}

export function denseMaskFields(scope: Scope, mask: DenseMask, hides: 'true' | 'false'): Fields {
  const address = scope.copyIn(mask.data);
  if (mask.data instanceof Float32Array) {
    return {
      bias: address,
      bias_batch_stride: mask.batchStride,
      bias_head_stride: mask.headStride,
      bias_row_stride: mask.rowStride,
    };
  }
  return {
    hidden: address,
    hidden_when: hides === 'true' ? 0 : 1,
    hidden_batch_stride: mask.batchStride,
    hidden_head_stride: mask.headStride,
    hidden_row_stride: mask.rowStride,
  };
}

/** `attnMask` of MultiHeadAttention: [T, S], or [B·H, T, S]. */
export function moduleMask(mask: Tensor | BoolTensor, sizes: AttentionSizes): DenseMask {
  const { batch, heads, queries, keys } = sizes;
  if (mask.shape.length === 3) {
    requireShape('attnMask', mask, [batch * heads, queries, keys], '[B·H, T, S]');
    return { data: mask.data, batchStride: heads * queries * keys, headStride: queries * keys, rowStride: keys };
  }
  requireShape('attnMask', mask, [queries, keys], '[T, S]');
  return { data: mask.data, batchStride: 0, headStride: 0, rowStride: keys };
}

/** The sum of an additive mask and an additive key padding [B, S]. */
export function addPadding(mask: DenseMask, padding: Float32Array, sizes: AttentionSizes): DenseMask {
  const { batch, queries, keys } = sizes;
  const heads = mask.headStride === 0 ? 1 : sizes.heads;
  const data = new Float32Array(batch * heads * queries * keys);
  let at = 0;
  for (let b = 0; b < batch; b++) {
    for (let h = 0; h < heads; h++) {
      for (let t = 0; t < queries; t++) {
        const row = b * mask.batchStride + h * mask.headStride + t * mask.rowStride;
        for (let s = 0; s < keys; s++) data[at++] = (mask.data[row + s] ?? 0) + (padding[b * keys + s] ?? 0);
      }
    }
  }
  return {
    data,
    batchStride: heads * queries * keys,
    headStride: heads === 1 ? 0 : queries * keys,
    rowStride: keys,
  };
}

/**
 * A mask that broadcasts, as NumPy's do, to [...leading, T, S], where `leading` is the batch sizes, then the heads. What
 * strides cannot say is written out.
 */
export function broadcastMask(mask: Tensor | BoolTensor, leading: readonly number[], sizes: AttentionSizes): DenseMask {
  checkTensor('attnMask', mask);
  const target = [...leading, sizes.queries, sizes.keys];
  const shape = alignRight(mask, target);
  const [batchShape, heads, queries, keys] = [shape.slice(0, -3), shape.at(-3), shape.at(-2), shape.at(-1)];
  const perHead = (queries ?? 1) * (keys ?? 1);
  const shared = batchShape.every((size) => size === 1);
  const complete = batchShape.every((size, i) => size === target[i]);
  if (keys === sizes.keys && (shared || complete)) {
    return {
      data: mask.data,
      batchStride: shared ? 0 : (heads ?? 1) * perHead,
      headStride: heads === 1 ? 0 : perHead,
      rowStride: queries === 1 ? 0 : keys,
    };
  }
  return writeOut(mask.data, shape, target);
}

/** The mask's shape with leading ones, as long as `target`. Throws code `shape` if it does not broadcast to it. */
function alignRight(mask: Tensor | BoolTensor, target: readonly number[]): number[] {
  const missing = target.length - mask.shape.length;
  const shape = [...new Array<number>(Math.max(missing, 0)).fill(1), ...mask.shape];
  if (missing >= 0 && shape.every((size, i) => size === 1 || size === target[i])) return shape;
  throw new MultiheadError(
    'shape',
    `attnMask has shape ${shapeText(mask.shape)}, which does not broadcast to ${shapeText(target)}`,
    { details: { name: 'attnMask', shape: [...mask.shape], expected: [...target] } },
  );
}

function writeOut(data: Float32Array | Uint8Array, shape: readonly number[], target: readonly number[]): DenseMask {
  const total = sizeOf(target);
  const out = data instanceof Float32Array ? new Float32Array(total) : new Uint8Array(total);
  for (let flat = 0; flat < total; flat++) {
    let rest = flat;
    let from = 0;
    let stride = 1;
    for (let axis = target.length - 1; axis >= 0; axis--) {
      const size = target[axis] ?? 1;
      if (shape[axis] !== 1) from += (rest % size) * stride;
      rest = Math.floor(rest / size);
      stride *= shape[axis] ?? 1;
    }
    out[flat] = data[from] ?? 0;
  }
  const [heads = 1, queries = 1, keys = 1] = target.slice(-3);
  return { data: out, batchStride: heads * queries * keys, headStride: queries * keys, rowStride: keys };
}
