/** A batch of token sequences, as the fields of `struct mh_training_pass`. */
import { MultiheadError } from '../core/errors.js';
import { VISIBLE_KEYS, visibleKeysFields } from '../core/masks.js';
import type { Fields, Scope } from '../core/memory.js';
import { checkOptions, type Known } from '../core/options.js';
import type { VisibleKeys } from '../core/types.js';
import type { Network } from './settings.js';

/** B sequences of T tokens, and which keys their queries see: all, if nothing is said. */
export interface Batch extends VisibleKeys {
  /** [B, T] */
  readonly tokens: Int32Array;
  /** [B, T], the right token at each place; below 0 where there is none, as -1 or torch's -100. */
  readonly targets?: Int32Array;
  /** B. Default 1. */
  readonly batch?: number;
}

export const BATCH: Known<Batch> = { tokens: true, targets: true, batch: true, ...VISIBLE_KEYS };

export interface BatchSizes {
  readonly batch: number;
  readonly length: number;
}

export function sizesOf(batch: Batch): BatchSizes {
  requireInt32('tokens', batch.tokens);
  const count = batch.batch ?? 1;
  const length = batch.tokens.length / count;
  if (!Number.isInteger(count) || count < 1 || !Number.isInteger(length)) {
    throw new MultiheadError(
      'shape',
      `batch is ${count} and there are ${batch.tokens.length} tokens: that is no whole number of each`,
      { details: { batch: count, tokens: batch.tokens.length } },
    );
  }
  return { batch: count, length };
}

export function batchFields(scope: Scope, batch: Batch, sizes: BatchSizes, { heads }: Network): Fields {
  checkOptions('the batch', batch, BATCH);
  if (batch.targets) requireInt32('targets', batch.targets);
  if (batch.targets && batch.targets.length !== batch.tokens.length) {
    throw new MultiheadError(
      'shape',
      `there are ${batch.targets.length} targets: there must be one for each of the ${batch.tokens.length} tokens`,
      { details: { targets: batch.targets.length, tokens: batch.tokens.length } },
    );
  }
  const { length } = sizes;
  return {
    ...sizes,
    tokens: scope.copyIn(batch.tokens),
    targets: batch.targets && scope.copyIn(batch.targets),
    mask: visibleKeysFields(scope, batch, { batch: sizes.batch, heads, queries: length, keys: length }),
  };
}

function requireInt32(name: string, values: unknown): void {
  if (values instanceof Int32Array) return;
  throw new MultiheadError('argument', `${name} must be an Int32Array, and is ${String(values)}`);
}
