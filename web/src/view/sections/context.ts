/** What every section of the lens is given: what there is to show, and the few things it may ask for. */
import type { Model } from '../../core/types.js';
import type { Translate } from '../i18n/index.js';
import type { ShownMap } from '../maps.js';
import type { CellRef, EntropyValues, Words } from '../pictures/types.js';
import type { Answer, Status } from '../session.js';
import type { LensState } from '../state.js';

/** A cell of one of the shown maps. */
export interface PointedCell extends CellRef {
  readonly map: ShownMap;
}

/** The row that the chips show: of the cell that is read, or the pinned one. */
export interface ShownRow {
  readonly query: number;
  /** `[T]` */
  readonly weights: Float32Array;
  readonly baseline: Float32Array | null;
  /** A round number that no weight of the row is above. */
  readonly max: number;
}

export interface LensContext {
  readonly state: LensState;
  readonly model: Model | null;
  readonly answer: Answer | null;
  /** One, or one a selected head; empty without an answer. */
  readonly maps: readonly ShownMap[];
  /** The cell that is read: under pointer or focus, else the strongest of the pinned row. */
  readonly pointed: PointedCell | null;
  readonly row: ShownRow | null;
  /** Mean entropy of every head, `[L, H]`. */
  readonly entropies: EntropyValues | null;
  /** The lens is too narrow for three columns. */
  readonly narrow: boolean;
  /** A click on a head adds it to the selection. */
  readonly adding: boolean;
  setAdding(on: boolean): void;
  /** Largest distance of a row's sum from 1. */
  readonly deviation: number | null;
  /** Key to pixels of the last answer, in milliseconds; null before the first. */
  readonly latency: number | null;
  /** The page has said enough of hovering. */
  readonly explored: boolean;
  /** Names the stroke under way, so that it is undone as one; `done` ends it. */
  stroke(done: boolean): string;
  point(cell: PointedCell | null): void;
  retry(): void;
  readonly status: Status;
  /** The newest notice; empty if there is none. */
  readonly message: string;
  readonly t: Translate;
  readonly words: Words;
  /** Text is being composed with an input method; it is not in the state yet. */
  readonly composing: boolean;
  compose(on: boolean): void;
  /** Changes the state. */
  set(change: (state: LensState) => LensState): void;
  /** Changes the state to another text; positions in it are meant for that text. */
  start(change: (state: LensState) => LensState): void;
  /** Says something in the status line. */
  say(message: string): void;
}
