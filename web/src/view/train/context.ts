/** What every part of the Train room is given: what there is to show, and what it may ask for. */
import type { Settings } from '../../study/settings.js';
import type { Word } from '../../study/task.js';
import type { WatchedWeight } from '../../study/training.js';
import type { HeadRef } from '../pictures/types.js';
import type { Run, Snapshot } from './run.js';
import type { Say } from './words.js';

/** 0 is run A, 1 is run B. */
export type RunIndex = 0 | 1;

export const runNames = ['A', 'B'] as const;

/** Colours of the two runs. */
export const runColours = ['var(--mh-data)', 'var(--mh-accent)'] as const;

export interface Shown extends Snapshot {
  readonly step: number;
}

export interface Room {
  readonly t: Say;
  readonly runs: readonly Run[];
  /** The run whose settings and heads are looked at. */
  readonly active: RunIndex;
  readonly run: Run;
  /** What the pictures show of each run: now, or at the cursor. */
  readonly shown: readonly (Shown | null)[];
  readonly head: HeadRef;
  /** The step that is looked back to; null: now. */
  readonly cursor: number | null;
  readonly hovered: number | null;
  /** A picture to show the difference from. */
  readonly kept: Shown | null;
  readonly probes: readonly (readonly Word[])[];
  readonly probe: number;
  readonly playing: boolean;
  readonly watched: WatchedWeight;
  readonly watching: boolean;
  readonly message: string;
  readonly narrow: boolean;
  choose(index: RunIndex): void;
  /** Changes settings of the active run, and begins it anew. */
  set(part: Partial<Settings>): void;
  compare(on: boolean): void;
  play(): void;
  stepOnce(): void;
  reset(): void;
  look(step: number | null): void;
  hover(step: number | null): void;
  keep(on: boolean): void;
  select(head: HeadRef): void;
  choosePredefined(probe: number): void;
  watch(weight: WatchedWeight | null): void;
  explore(): void;
  download(): void;
  share(): void;
  say(message: string): void;
}
