/** From an answer to what is drawn: one map a head, or the average of several, with the entropy of its rows. Pure. */
import type { ChosenMaps, RunResult } from '../core/types.js';
import { isMaskEdited, uneditedMask, visibleCells } from './mask.js';
import { weightMax } from './pictures/colour.js';
import type { EntropyUnit, EntropyValues, HeadRef } from './pictures/types.js';
import type { Answer } from './session.js';
import type { LensState } from './state.js';

/** One attention map as shown; arrays are `[T, T]`. */
export interface ShownMap {
  /** One head, or those that are averaged. */
  readonly heads: readonly HeadRef[];
  readonly weights: Float32Array;
  /** A round number that no weight is above. */
  readonly max: number;
  /** Weights without edits; null when nothing is edited. */
  readonly baseline: Float32Array | null;
  /** After scale and mask, −Infinity where hidden; an average has no scores. */
  readonly scores: Float32Array | null;
  readonly rawScores: Float32Array | null;
  /** 0 where hidden from all of the heads. */
  readonly visible: Uint8Array;
  /** 0 where hidden from all of the heads without edits too. */
  readonly everVisible: Uint8Array;
  /** `[T]` */
  readonly rowEntropy: EntropyValues;
}

const entropyColumn: Record<EntropyUnit, string> = {
  nats: 'entropyNats',
  bits: 'entropyBits',
  normalised: 'entropyNormalised',
};

/** The largest entropy that `keys` visible keys allow. */
function maxEntropy(unit: EntropyUnit, keys: number): number {
  if (unit === 'normalised' || keys < 2) return 1;
  return unit === 'bits' ? Math.log2(keys) : Math.log(keys);
}

/** A head's `[T, T]` part of an array of maps of all heads, or of chosen ones; a view, not a copy. Null: not among them. */
function headMap(
  data: Float32Array | undefined,
  chosen: ChosenMaps | undefined,
  result: RunResult,
  { layer, head }: HeadRef,
): Float32Array | null {
  if (!data) return null;
  const cells = result.tokens.length ** 2;
  const isThis = (place: HeadRef) => place.layer === layer && place.head === head;
  const at = chosen ? chosen.heads.findIndex(isThis) : layer * result.heads + head;
  return at < 0 ? null : data.subarray(at * cells, (at + 1) * cells);
}

function column(names: readonly string[], name: string): number {
  const index = names.indexOf(name);
  if (index < 0) throw new Error(`the engine gives no statistic "${name}"; it has ${names.join(', ')}`);
  return index;
}

/** Mean entropy of every head's rows, `[L, H]`. */
export function headEntropies(result: RunResult, unit: EntropyUnit): EntropyValues {
  const names = result.statisticNames.head;
  const at = column(names, entropyColumn[unit]);
  const values = Float32Array.from(
    { length: result.layers * result.heads },
    (_, head) => result.headStatistics[head * names.length + at] ?? 0,
  );
  return { values, max: maxEntropy(unit, result.tokens.length), unit };
}

/** The engine's own entropy of every row of one head. */
function engineRowEntropy(result: RunResult, { layer, head }: HeadRef, unit: EntropyUnit): EntropyValues {
  const size = result.tokens.length;
  const names = result.statisticNames.row;
  const at = column(names, entropyColumn[unit]);
  const start = (layer * result.heads + head) * size;
  const values = Float32Array.from(
    { length: size },
    (_, row) => result.rowStatistics[(start + row) * names.length + at] ?? 0,
  );
  return { values, max: maxEntropy(unit, size), unit };
}

/** −Σ a ln a of every row of an average map, in `unit`. */
function rowEntropyOf(weights: Float32Array, visible: Uint8Array, size: number, unit: EntropyUnit): EntropyValues {
  const values = Float32Array.from({ length: size }, (_, row) => {
    let nats = 0;
    let keys = 0;
    for (let cell = row * size; cell < (row + 1) * size; cell++) {
      const weight = weights[cell] ?? 0;
      if (weight > 0) nats -= weight * Math.log(weight);
      keys += visible[cell] ?? 0;
    }
    if (unit === 'nats') return nats;
    if (unit === 'bits') return nats / Math.LN2;
    return keys > 1 ? nats / Math.log(keys) : 0;
  });
  return { values, max: maxEntropy(unit, size), unit };
}

function mean(maps: readonly Float32Array[]): Float32Array {
  return Float32Array.from(
    maps[0] ?? [],
    (_, cell) => maps.reduce((sum, map) => sum + (map[cell] ?? 0), 0) / maps.length,
  );
}

/** 1 where any of the masks is. */
const union = (masks: readonly Uint8Array[]): Uint8Array =>
  Uint8Array.from(masks[0] ?? [], (_, cell) => (masks.some((mask) => mask[cell] === 1) ? 1 : 0));

/** Null if the answer has no map of this head: of a long text it has only those that were selected then. */
function singleMap({ state, result, baseline }: Answer, head: HeadRef, unit: EntropyUnit): ShownMap | null {
  const weights = headMap(result.attention, result.chosenAttention, result, head);
  if (!weights) return null;
  const visible = visibleCells(state.mask, result.tokens.length, head);
  const unedited = isMaskEdited(state.mask) && visibleCells(uneditedMask(state.mask), result.tokens.length, head);
  return {
    heads: [head],
    weights,
    max: weightMax(weights),
    baseline: baseline && headMap(baseline.attention, baseline.chosenAttention, baseline, head),
    scores: headMap(result.scores, result.chosenStages, result, head),
    rawScores: headMap(result.rawScores, result.chosenStages, result, head),
    visible,
    everVisible: unedited ? union([visible, unedited]) : visible,
    rowEntropy: engineRowEntropy(result, head, unit),
  };
}

function averageMap(maps: readonly ShownMap[], size: number, unit: EntropyUnit): ShownMap {
  const weights = mean(maps.map((map) => map.weights));
  const baselines = maps.map((map) => map.baseline).filter((map) => map !== null);
  const visible = union(maps.map((map) => map.visible));
  return {
    heads: maps.flatMap((map) => map.heads),
    weights,
    max: weightMax(weights),
    baseline: baselines.length > 0 ? mean(baselines) : null,
    scores: null,
    rawScores: null,
    visible,
    everVisible: union(maps.map((map) => map.everVisible)),
    rowEntropy: rowEntropyOf(weights, visible, size, unit),
  };
}

/** What to draw for the selected heads. The mask is that of the answer: numbers and hatching belong together. */
export function shownMaps(
  answer: Answer,
  { heads, combine, unit }: Pick<LensState, 'heads' | 'combine' | 'unit'>,
): readonly ShownMap[] {
  const { layers, heads: count } = answer.result;
  const existing = heads.filter(({ layer, head }) => layer < layers && head < count);
  const maps = existing.map((head) => singleMap(answer, head, unit)).filter((map) => map !== null);
  return maps.length > 1 && combine === 'average' ? [averageMap(maps, answer.result.tokens.length, unit)] : maps;
}

/** A row of a `[T, T]` array; a view, not a copy. */
export const mapRow = (data: Float32Array, query: number, size: number): Float32Array =>
  data.subarray(query * size, (query + 1) * size);

/** The key with the largest weight in a row, or null if it sees none. */
export function strongestKey(map: ShownMap, query: number, size: number): number | null {
  let best: number | null = null;
  for (let key = 0; key < size; key++) {
    const weight = map.weights[query * size + key] ?? 0;
    if (weight > 0 && (best === null || weight > (map.weights[query * size + best] ?? 0))) best = key;
  }
  return best;
}

/**
 * The largest distance of any row's sum from 1, over all maps of a result, in float64. A row may be empty only if the
 * engine says that it saw no key: one empty row more or less than that has lost its sum, and is 1 off.
 */
export function rowSumDeviation(result: RunResult): number {
  const size = result.tokens.length;
  let worst = 0;
  let empty = 0;
  for (let start = 0; start < result.attention.length; start += size) {
    let sum = 0;
    for (let key = 0; key < size; key++) sum += result.attention[start + key] ?? 0;
    if (sum === 0) empty++;
    // A sum that is no number stays one: Math.max keeps NaN.
    else worst = Math.max(worst, Math.abs(sum - 1));
  }
  // Of chosen maps, the other rows without a key are not among these.
  return result.chosenAttention || empty === result.maskedRows ? worst : Math.max(worst, 1);
}

/** The probability of a token at the first position whose logits are there: softmax of that row. Null if there is none. */
export function tokenProbability(result: RunResult, id: number): number | null {
  if (!result.logits || result.logitPositions.length === 0) return null;
  const row = result.logits.subarray(0, result.logits.length / result.logitPositions.length);
  const max = row.reduce((largest, logit) => Math.max(largest, logit), Number.NEGATIVE_INFINITY);
  const sum = row.reduce((total, logit) => total + Math.exp(logit - max), 0);
  return Math.exp((row[id] ?? Number.NEGATIVE_INFINITY) - max) / sum;
}
