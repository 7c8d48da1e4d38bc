/** Which maps of a run are wanted: a choice as the caller gives it, as the engine takes it, and as the result tells it. */
import { MultiheadError } from './errors.js';
import type { Fields, Scope } from './memory.js';
import { requireIndex } from './model-input.js';
import { checkOptions } from './options.js';
import type { ChosenMaps, HeadPlace, MapChoice } from './types.js';

/** Sizes that a choice must fit into. */
export interface MapSizes {
  readonly layers: number;
  readonly heads: number;
  /** Tokens. */
  readonly length: number;
}

export interface WantedMaps {
  /** Floats of an array of these maps. */
  readonly floats: number;
  /** Sorted and complete; absent when all maps are wanted, or none. */
  readonly chosen?: ChosenMaps;
}

/**
 * Reads the option `name`: all maps, none, or a choice.
 *
 * @throws {MultiheadError} `argument` for a head or row that is not there, or is there twice.
 */
export function readMapChoice(name: string, wanted: unknown, { layers, heads, length }: MapSizes): WantedMaps {
  if (wanted === 'all' || wanted === true) return { floats: layers * heads * length * length };
  if (wanted === 'none' || wanted === false) return { floats: 0 };
  const { heads: places, rows } = wanted as MapChoice;
  const chosen = {
    heads: places ? readHeads(name, places, layers, heads) : everyHead(layers, heads),
    rows: rows ? readRows(name, rows, length) : Array.from({ length }, (_, row) => row),
  };
  return { floats: chosen.heads.length * chosen.rows.length * length, chosen };
}

/** Throws code `argument` unless `wanted` is one of `words`, or an object of type `MapChoice`. */
export function checkMapChoice(name: string, wanted: unknown, words: readonly unknown[]): void {
  if (wanted === undefined || words.includes(wanted)) return;
  if (typeof wanted !== 'object' || wanted === null) {
    const list = words.map((word) => (typeof word === 'string' ? `'${word}'` : String(word)));
    throw new MultiheadError(
      'argument',
      `${name} is ${String(wanted)}: it must be ${list.join(', ')}, or an object that names heads and rows`,
    );
  }
  checkOptions<MapChoice>(name, wanted, { heads: true, rows: true });
  for (const key of ['heads', 'rows'] as const) {
    const list = (wanted as MapChoice)[key];
    if (list === undefined || Array.isArray(list)) continue;
    throw new MultiheadError('argument', `${name}.${key} is ${String(list)}: it must be a list`);
  }
}

/** Fields of `struct mh_choice`. */
export function choiceFields(scope: Scope, { chosen }: WantedMaps, { heads }: MapSizes): Fields {
  if (!chosen) return {};
  return {
    heads: scope.copyIn(Int32Array.from(chosen.heads, (place) => place.layer * heads + place.head)),
    head_count: chosen.heads.length,
    rows: scope.copyIn(Int32Array.from(chosen.rows)),
    row_count: chosen.rows.length,
  };
}

function everyHead(layers: number, heads: number): HeadPlace[] {
  return Array.from({ length: layers * heads }, (_, i) => ({ layer: Math.floor(i / heads), head: i % heads }));
}

function readHeads(name: string, places: readonly HeadPlace[], layers: number, heads: number): HeadPlace[] {
  for (const place of places) {
    checkOptions<HeadPlace>(`a head of ${name}`, place, { layer: true, head: true });
    requireIndex(`the layer of a head of ${name}`, place.layer, layers);
    requireIndex(`a head of ${name}`, place.head, heads);
  }
  const sorted = places
    .map(({ layer, head }) => ({ layer, head }))
    .sort((a, b) => a.layer - b.layer || a.head - b.head);
  const twice = sorted.find((place, i) => place.layer === sorted[i - 1]?.layer && place.head === sorted[i - 1]?.head);
  if (twice) throw givenTwice(name, `head ${twice.head} of layer ${twice.layer}`);
  return sorted;
}

function readRows(name: string, rows: readonly number[], length: number): number[] {
  for (const row of rows) requireIndex(`a row of ${name}`, row, length);
  const sorted = [...rows].sort((a, b) => a - b);
  const twice = sorted.find((row, i) => row === sorted[i - 1]);
  if (twice !== undefined) throw givenTwice(name, `row ${twice}`);
  return sorted;
}

function givenTwice(name: string, what: string): MultiheadError {
  return new MultiheadError('argument', `${name} has ${what} twice: name it once`);
}
