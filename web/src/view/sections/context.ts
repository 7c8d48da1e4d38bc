/** What every section of the lens is given: what there is to show, and the few things it may ask for. */
import type { Model } from '../../core/types.js';
import type { Drawing, PointedCell, ShownRow } from '../drawing.js';
import type { Translate } from '../i18n/index.js';
import type { Overview } from '../overview.js';
import type { Words } from '../pictures/types.js';
import type { Answer, Status } from '../session.js';
import type { LensState } from '../state.js';

export interface LensContext extends Drawing {
  readonly state: LensState;
  readonly model: Model | null;
  readonly answer: Answer | null;
  /** Of a long text: all heads in little. */
  readonly overview: Overview | null;
  /** The cell that is read: under pointer or focus, else the strongest of the pinned row. */
  readonly pointed: PointedCell | null;
  readonly row: ShownRow | null;
  /** The lens is too narrow for three columns. */
  readonly narrow: boolean;
  /** The first token of the part of a long text that was leafed to; null: the part around the chosen token. */
  readonly chipsFrom: number | null;
  showChips(from: number): void;
  /** A click on a head adds it to the selection. */
  readonly adding: boolean;
  setAdding(on: boolean): void;
  /** Key to pixels of the last answer, in milliseconds; null before the first. */
  readonly latency: number | null;
  /** Milliseconds from the last answer to pixels; null before the first that was timed. */
  readonly drawTime: number | null;
  /** Milliseconds of the engine's last runs. */
  readonly runTimes: readonly number[];
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
