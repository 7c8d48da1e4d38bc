/** A batch of sequences, as the fields of `struct mh_training_pass`. */
import { MultiheadError } from '../core/errors.js';
import { VISIBLE_KEYS, visibleKeysFields } from '../core/masks.js';
import type { Fields, Memory, Scope } from '../core/memory.js';
import { checkOptions, type Known } from '../core/options.js';
import { int32List } from '../core/tensor.js';
import type { VisibleKeys } from '../core/types.js';
import type { Network } from './settings.js';

/** Attention weights of one head that are to be like given ones. */
export interface Supervision {
  readonly layer: number;
  readonly head: number;
  /** Of cross-attention instead of self-attention. Default false. */
  readonly cross?: boolean;
  /** weight · Σ KL(target ‖ weights) is added to the sum of the losses. */
  readonly weight: number;
  /** [B, T, S], rows of probabilities; a row of zeros asks nothing. */
  readonly target: Float32Array;
}

/** B sequences of T tokens or patches, and which keys their queries see: all, if nothing is said. */
export interface Batch extends VisibleKeys {
  /** [B, T]; a classifier has none. */
  readonly tokens?: Int32Array;
  /** [B, T], the right token at each place, below 0 where there is none, as -1 or torch's -100; of a classifier [B]. */
  readonly targets?: Int32Array;
  /** B. Default 1. */
  readonly batch?: number;
  /** [B, S] of an encoder-decoder. */
  readonly source?: Int32Array;
  /** [B]: from here on the source is padding. */
  readonly sourceLengths?: readonly number[];
  /** [B, T, P] of a classifier. */
  readonly patches?: Float32Array;
  /** Which keys each layer's queries see, instead: `layers` of them, as shifted windows need. */
  readonly layerMasks?: readonly VisibleKeys[];
  readonly supervision?: readonly Supervision[];
}

const BATCH: Known<Batch> = {
  tokens: true,
  targets: true,
  batch: true,
  source: true,
  sourceLengths: true,
  patches: true,
  layerMasks: true,
  supervision: true,
  ...VISIBLE_KEYS,
};

export interface BatchSizes {
  readonly batch: number;
  /** T of tokens or patches. */
  readonly length: number;
  /** T of the attention weights: with the class token. */
  readonly queries: number;
  /** S of the source; 0 without one. */
  readonly source: number;
}

/** Throws code `argument` or `shape` unless the arrays are there and fit one another. */
export function sizesOf(batch: Batch, network: Network): BatchSizes {
  checkOptions('the batch', batch, BATCH);
  const count = batch.batch ?? 1;
  const classifies = network.architecture === 'classifier';
  const length = classifies
    ? share('patches', batch.patches, Float32Array, count * network.patchDim)
    : share('tokens', batch.tokens, Int32Array, count);
  const source = network.architecture === 'encoder-decoder' ? share('source', batch.source, Int32Array, count) : 0;
  requireTargets(batch.targets, classifies ? count : count * length);
  return { batch: count, length, queries: length + Number(classifies && network.classToken), source };
}

export function batchFields(
  memory: Memory,
  scope: Scope,
  batch: Batch,
  { batch: count, length, queries, source }: BatchSizes,
  { heads, layers }: Network,
): Fields {
  const sizes = { batch: count, heads, queries, keys: queries };
  return {
    batch: count,
    length,
    tokens: batch.tokens && scope.copyIn(batch.tokens),
    targets: batch.targets && scope.copyIn(batch.targets),
    mask: visibleKeysFields(scope, batch, sizes),
    layer_masks: structs(
      memory,
      scope,
      'mh_mask',
      exactly('layerMasks', batch.layerMasks, layers)?.map((mask) => visibleKeysFields(scope, mask, sizes)),
    ),
    source: batch.source && scope.copyIn(batch.source),
    source_length: source,
    source_lengths: copyLengths(scope, batch.sourceLengths, count),
    patches: batch.patches && scope.copyIn(batch.patches),
    ...supervisionFields(memory, scope, batch.supervision ?? [], count * queries, { queries, source }),
  };
}

function copyLengths(scope: Scope, lengths: readonly number[] | undefined, count: number): number | undefined {
  const known = exactly('sourceLengths', lengths, count);
  return known && scope.copyIn(int32List('sourceLengths', known));
}

function supervisionFields(
  memory: Memory,
  scope: Scope,
  supervision: readonly Supervision[],
  rows: number,
  { queries, source }: { readonly queries: number; readonly source: number },
): Fields {
  const fields = supervision.map(({ layer, head, cross, weight, target }) => {
    const expected = rows * (cross ? source : queries);
    if (!(target instanceof Float32Array) || target.length !== expected) {
      throw new MultiheadError('shape', `a target of supervision must be a Float32Array of ${expected} values: B·T·S`);
    }
    return { layer, head, cross: cross ?? false, weight, target: scope.copyIn(target) };
  });
  return { supervision: structs(memory, scope, 'mh_supervision', fields), supervision_count: fields.length };
}

/** An array of structs; undefined for none. */
function structs(memory: Memory, scope: Scope, name: string, list: readonly Fields[] | undefined): number | undefined {
  if (!list || list.length === 0) return undefined;
  const size = memory.sizeOf(name);
  const bytes = new Uint8Array(size * list.length);
  for (const [i, fields] of list.entries()) {
    bytes.set(new Uint8Array(memory.copyOut(scope.struct(name, fields), size)), i * size);
  }
  return scope.copyIn(bytes);
}

/** The list, which has `length` values if there is one. */
function exactly<T>(name: string, list: readonly T[] | undefined, length: number): readonly T[] | undefined {
  if (list === undefined || list.length === length) return list;
  throw new MultiheadError('shape', `${name} has ${list.length} values: it must have ${length}`, {
    details: { name, length: list.length, expected: length },
  });
}

/** How many whole shares of `of` values the array has. */
function share(
  name: string,
  values: Int32Array | Float32Array | undefined,
  type: typeof Int32Array | typeof Float32Array,
  of: number,
): number {
  if (!(values instanceof type)) {
    throw new MultiheadError('argument', `${name} must be of type ${type.name}, and is ${String(values)}`);
  }
  const length = values.length / of;
  if (Number.isInteger(of) && of >= 1 && Number.isInteger(length)) return length;
  throw new MultiheadError('shape', `there are ${values.length} values of ${name}: that is no whole number of ${of}`, {
    details: { name, length: values.length, of },
  });
}

function requireTargets(targets: unknown, expected: number): void {
  if (targets === undefined) return;
  if (!(targets instanceof Int32Array)) {
    throw new MultiheadError('argument', `targets must be an Int32Array, and is ${String(targets)}`);
  }
  if (targets.length === expected) return;
  throw new MultiheadError('shape', `there are ${targets.length} targets: there must be ${expected}`, {
    details: { targets: targets.length, expected },
  });
}
