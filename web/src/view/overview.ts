/**
 * All heads of a long text in little. Their whole maps would be gigabytes, so the engine is asked for rows at even
 * distances, and of their keys a picture's pixel shows the strongest of several. Pure.
 */
import type { RunOptions, RunResult } from '../core/types.js';
import type { LensState } from './state.js';

/** About as many rows and columns as a thumbnail has pixels. */
const side = 64;

export interface Overview {
  /** What was asked. */
  readonly of: LensState;
  /** `[L, H, rows, columns]` */
  readonly attention: Float32Array;
  readonly rows: number;
  readonly columns: number;
  /** One of so many rows is shown. */
  readonly every: number;
}

const distance = (size: number): number => Math.ceil(size / side);

/** Changes what an answer is asked for to what an overview needs. */
export function overviewOptions(options: RunOptions, size: number): RunOptions {
  const every = distance(size);
  const rows = Array.from({ length: Math.ceil(size / every) }, (_, index) => Math.min(size - 1, index * every));
  return { ...options, attention: { rows }, stages: false, logits: 'none' };
}

export function overviewOf(result: RunResult, of: LensState): Overview {
  const keys = result.tokens.length;
  const every = distance(keys);
  const columns = Math.ceil(keys / every);
  const attention = new Float32Array((result.attention.length / keys) * columns);
  for (let row = 0; row * keys < result.attention.length; row++) {
    const from = row * keys;
    for (let key = 0; key < keys; key++) {
      const at = row * columns + Math.floor(key / every);
      const weight = result.attention[from + key] ?? 0;
      if (weight > (attention[at] ?? 0)) attention[at] = weight;
    }
  }
  return { of, attention, rows: result.chosenAttention?.rows.length ?? keys, columns, every };
}
