/** What is drawn of an answer: maps, entropies, the cell that is read and its row. Worked out once, then kept. */
import { headEntropies, mapRow, rowSumDeviation, type ShownMap, shownMaps, strongestKey } from './maps.js';
import { closeDifferenceMax, roundMax, weightMax } from './pictures/colour.js';
import type { CellRef, EntropyValues } from './pictures/types.js';
import type { Answer } from './session.js';
import type { LensState } from './state.js';

export interface Drawing {
  /** One, or one a selected head; empty without an answer. */
  readonly maps: readonly ShownMap[];
  /** Mean entropy of every head, `[L, H]`. */
  readonly entropies: EntropyValues | null;
  /** A round number that no change of any head is above; null when nothing is edited. */
  readonly changeMax: number | null;
  /** Largest distance of a row's sum from 1. */
  readonly deviation: number | null;
  /** T */
  readonly size: number;
}

const nothing: Drawing = { maps: [], entropies: null, changeMax: null, deviation: null, size: 0 };

/** A function that draws, and gives the same drawing again while nothing that matters to it has changed. */
export function drawer(): (answer: Answer | null, state: LensState) => Drawing {
  let drawing = nothing;
  let drawn: readonly unknown[] = [];
  return (answer, state) => {
    const { heads, combine, unit } = state;
    const wanted = [answer, heads, combine, unit];
    if (wanted.every((part, index) => part === drawn[index])) return drawing;
    const { changeMax, deviation } = answer === drawn[0] ? drawing : ofAllHeads(answer);
    drawn = wanted;
    drawing = answer
      ? {
          maps: mapsOr(drawing, answer, state),
          entropies: headEntropies(answer.result, unit),
          changeMax,
          deviation,
          size: answer.result.tokens.length,
        }
      : nothing;
    return drawing;
  };
}

/** Of a long text the maps of heads just selected are still to come: those before them stay, with their own names. */
function mapsOr(before: Drawing, answer: Answer, state: LensState): readonly ShownMap[] {
  const maps = shownMaps(answer, state);
  return maps.length === 0 && before.size === answer.result.tokens.length ? before.maps : maps;
}

/** What takes a look at every weight of every head. */
function ofAllHeads(answer: Answer | null): Pick<Drawing, 'changeMax' | 'deviation'> {
  if (!answer) return nothing;
  const { result, baseline } = answer;
  return {
    changeMax: baseline && closeDifferenceMax(result.attention, baseline.attention),
    deviation: rowSumDeviation(result),
  };
}

/** A cell of the map with this number among those shown. */
export interface Pointer extends CellRef {
  readonly index: number;
}

/** A cell of one of the shown maps. */
export interface PointedCell extends CellRef {
  readonly map: ShownMap;
}

/** The cell under the pointer; else the strongest of the pinned row, so that there is always something to read. */
export function pointedCell(
  { maps, size }: Drawing,
  pointer: Pointer | null,
  pinned: number | null,
): PointedCell | null {
  const map = maps[pointer?.index ?? 0];
  if (!map) return null;
  if (pointer && pointer.query < size && pointer.key < size) return { query: pointer.query, key: pointer.key, map };
  if (pinned === null || pinned >= size) return null;
  const key = strongestKey(map, pinned, size);
  return key === null ? null : { query: pinned, key, map };
}

/** One row of a map. */
export interface ShownRow {
  readonly query: number;
  /** `[T]` */
  readonly weights: Float32Array;
  readonly baseline: Float32Array | null;
  /** A round number that no weight of the row is above. */
  readonly max: number;
}

/** The row of the cell that is read, or the pinned one. */
export function shownRow({ maps, size }: Drawing, pointed: PointedCell | null, pinned: number | null): ShownRow | null {
  const map = pointed?.map ?? maps[0];
  const query = pointed?.query ?? pinned;
  if (!map || query === null || query >= size) return null;
  const weights = mapRow(map.weights, query, size);
  const baseline = map.baseline && mapRow(map.baseline, query, size);
  return { query, weights, baseline, max: roundMax(Math.max(weightMax(weights), baseline ? weightMax(baseline) : 0)) };
}
