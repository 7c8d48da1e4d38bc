/** What the page and the worker that trains say to each other, over comlink. */
import type { Build } from '../core/types.js';
import type { Settings } from '../study/settings.js';
import type { Word } from '../study/task.js';
import type { Report, WatchedWeight } from '../study/training.js';
import type { ParameterInfo } from '../train/trainer.js';
import type { Outcome } from './protocol.js';

export interface Begun {
  readonly build: Build;
  readonly parameters: readonly ParameterInfo[];
  readonly report: Report;
}

export interface TrainingApi {
  /** Answers as soon as the worker's script runs. */
  hello(): void;
  /** Makes a model that has learned nothing yet; one that was there before is gone. */
  begin(settings: Settings): Promise<Outcome<Begun>>;
  /** See `Training.advance`. The page asks again when it has drawn: the worker never runs ahead of it. */
  advance(milliseconds: number, most: number, watch: WatchedWeight | null): Promise<Outcome<Report>>;
  /** Watches another sequence. */
  probe(words: readonly Word[]): Promise<Outcome<Report>>;
  /** The model as safetensors. */
  save(): Promise<Outcome<Uint8Array>>;
}
