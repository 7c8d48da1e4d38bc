/** What the parts of the Translate room are given: what there is to show, and what it may ask for. */
import type { Look } from '../../study/translator.js';
import type { CellRef } from '../pictures/types.js';
import type { Attention, Chosen, Kind, ShownMap } from './maps.js';
import type { Translation } from './translation.js';
import type { Say } from './words.js';

export type FieldName = 'sentence' | 'written';

export interface Desk {
  readonly t: Say;
  readonly translation: Translation;
  readonly look: Look | null;
  readonly picture: Picture | null;
  readonly kind: Kind;
  /** The query that was chosen; null: none. */
  readonly at: number | null;
  readonly asTable: boolean;
  /** The cell under pointer or focus. */
  readonly pointed: CellRef | null;
  /** The field whose text is being composed with an input method. */
  readonly composing: FieldName | null;
  readonly narrow: boolean;
  readonly message: string;
  show(kind: Kind): void;
  choose(chosen: Chosen): void;
  lookFrom(query: number | null): void;
  point(cell: CellRef | null): void;
  table(on: boolean): void;
  compose(field: FieldName | null): void;
  /** Another sentence; `begin`: it is translated at once. */
  setText(text: string, begin: boolean): void;
  setWritten(text: string): void;
  play(): void;
  stop(): void;
  step(): void;
  back(): void;
  restart(): void;
  finish(): void;
  cut(): void;
  force(place: number, id: number): void;
  retry(): void;
}

/** What is drawn of a look. */
export interface Picture {
  readonly look: Look;
  readonly attention: Attention;
  readonly chosen: Chosen;
  readonly map: ShownMap;
}

/** The query whose links stand out: pointed at, chosen, or while something is to come, the token written last. */
export function litQuery({ pointed, at, kind, look, translation }: Desk): number | null {
  if (pointed) return pointed.query;
  if (at !== null || kind === 'encoder' || !look || !translation.canGoOn) return at;
  return Math.max(0, look.written.length - 1);
}

/** The place of the translation that candidates are for: the chosen one, else the next. */
export function candidatePlace({ at, kind }: Desk, look: Look): number {
  return kind === 'encoder' || at === null ? look.read.length - 1 : at;
}
