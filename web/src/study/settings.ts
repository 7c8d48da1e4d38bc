/** Everything that decides how a training goes, and its text form for links. The same settings give the same numbers. */
import type { NetworkOptions, TrainerSettings } from '../train/settings.js';
import { lengthOf, vocabularyOf } from './task.js';
import { type TaskId, taskIds, taskOf } from './tasks/index.js';

export interface Settings {
  readonly task: TaskId;
  /** Of the model's first weights, of what it is shown and of what dropout drops. */
  readonly seed: number;
  readonly layers: number;
  /** Divides `width`. */
  readonly heads: number;
  /** d_model. */
  readonly width: number;
  readonly norm: 'pre' | 'post';
  /** Scores are divided by √d_k. */
  readonly scaled: boolean;
  /** Probability, while training: on attention weights after softmax. */
  readonly attentionDropout: number;
  /** Probability, while training: on what each residual branch adds. */
  readonly residualDropout: number;
  readonly optimiser: 'adamw' | 'sgd';
  /** Peak learning rate, after the warm-up. */
  readonly rate: number;
  /** Steps until the peak. */
  readonly warmUp: number;
  /** Steps until the learning rate has fallen to a tenth of its peak, by half a cosine. */
  readonly steps: number;
  /** Most Euclidean norm of the gradient; 0: as it comes. */
  readonly clip: number;
  readonly decay: number;
  /** Sequences a step. */
  readonly batch: number;
  /** Heads are taught where to look, in the first steps (lessons.ts). */
  readonly taught: boolean;
  /** Sequences there are to train on; 0: new ones at every step. */
  readonly examples: number;
}

/** Where a newcomer starts: an induction head forms within a minute or two. */
export const defaultSettings: Settings = {
  task: 'induction',
  seed: 1,
  layers: 2,
  heads: 4,
  width: 64,
  norm: 'pre',
  scaled: true,
  attentionDropout: 0,
  residualDropout: 0,
  optimiser: 'adamw',
  rate: 0.003,
  warmUp: 60,
  steps: 1200,
  clip: 1,
  decay: 0.01,
  batch: 16,
  taught: false,
  examples: 0,
};

/** What a task is best begun with, where that is not the default: untaught, nothing told is recalled within minutes. */
const suggestions: Partial<Record<TaskId, Partial<Settings>>> = {
  recall: { taught: true },
  'world-en': { taught: true, rate: 0.002 },
  'world-zh': { taught: true, rate: 0.002 },
};

/** What changes with the task, so that it goes well. */
export const settingsFor = (task: TaskId): Partial<Settings> => {
  const { rate, taught } = defaultSettings;
  return { task, rate, taught, ...suggestions[task] };
};

/** Of AdamW. A β2 below PyTorch's 0.999 forgets sooner, which short trainings like. */
export const adamw = { beta1: 0.9, beta2: 0.98, epsilon: 1e-8 } as const;

/** The feed-forward layer is so many times as wide as the model. */
const FFN_FACTOR = 4;

export const widths = [16, 32, 48, 64, 96, 128] as const;
export const exampleCounts = [0, 64, 256, 1024, 4096] as const;

/** Ranges of the numbers, both ends allowed. */
export const ranges = {
  seed: { min: 1, max: 999_999 },
  layers: { min: 1, max: 4 },
  heads: { min: 1, max: 16 },
  attentionDropout: { min: 0, max: 0.5 },
  residualDropout: { min: 0, max: 0.5 },
  rate: { min: 0.00001, max: 1 },
  warmUp: { min: 0, max: 1000 },
  steps: { min: 100, max: 20_000 },
  clip: { min: 0, max: 100 },
  decay: { min: 0, max: 1 },
  batch: { min: 1, max: 64 },
} as const satisfies Partial<Record<keyof Settings, { readonly min: number; readonly max: number }>>;

/** Head counts that divide a width, up to what is drawn well. */
export const headCounts = (width: number): readonly number[] =>
  [1, 2, 3, 4, 6, 8, 12, 16].filter((heads) => width % heads === 0 && width / heads >= 2);

type Name = keyof Settings;

/** In the order in which a link names them. */
const names = Object.keys(defaultSettings) as readonly Name[];

const whole: readonly Name[] = ['seed', 'layers', 'heads', 'width', 'warmUp', 'steps', 'batch', 'examples'];

const decimal = /^\d+(\.\d+)?(e-?\d+)?$/i;

/** The value of a setting; undefined when the text is none. */
function read(name: Name, text: string): Settings[Name] | undefined {
  if (name === 'task') return taskIds.find((task) => task === text);
  if (name === 'norm') return text === 'pre' || text === 'post' ? text : undefined;
  if (name === 'optimiser') return text === 'adamw' || text === 'sgd' ? text : undefined;
  if (name === 'scaled' || name === 'taught') return text === '1' ? true : text === '0' ? false : undefined;
  const value = decimal.test(text) ? Number(text) : Number.NaN;
  if (whole.includes(name) && !Number.isInteger(value)) return undefined;
  if (name === 'width') return widths.find((width) => width === value);
  if (name === 'examples') return exampleCounts.find((count) => count === value);
  const { min, max } = ranges[name];
  return value >= min && value <= max ? value : undefined;
}

const write = (value: Settings[Name]): string => (typeof value === 'boolean' ? `${Number(value)}` : `${value}`);

/** What differs from `base`, as the pairs of a link. */
export function settingsToPairs(
  settings: Settings,
  base: Settings = defaultSettings,
): readonly (readonly [name: string, value: string])[] {
  return names.filter((name) => settings[name] !== base[name]).map((name) => [name, write(settings[name])] as const);
}

/**
 * `base` with what the pairs say. What cannot be read keeps its value and is named in `problems`; names that are no
 * settings are someone else's. Heads that do not divide the width become the nearest number that does.
 */
export function pairsToSettings(
  pairs: readonly (readonly [name: string, value: string | null])[],
  base: Settings = defaultSettings,
): { readonly settings: Settings; readonly problems: readonly string[] } {
  const problems: string[] = [];
  let settings = base;
  for (const [name, text] of pairs) {
    const known = names.find((setting) => setting === name);
    if (known === undefined) continue;
    const value = text === null ? undefined : read(known, text);
    if (value === undefined) problems.push(name);
    else settings = { ...settings, [known]: value };
  }
  const fitting = fitHeads(settings);
  if (fitting.heads !== settings.heads) problems.push('heads');
  return { settings: fitting, problems };
}

/** The settings with the nearest head count that divides the width. */
export function fitHeads(settings: Settings): Settings {
  const { heads, width } = settings;
  const counts = headCounts(width);
  if (counts.includes(heads)) return settings;
  const nearest = counts.reduce((best, count) => (Math.abs(count - heads) < Math.abs(best - heads) ? count : best), 1);
  return { ...settings, heads: nearest };
}

/** The model that is to learn. */
export function networkOf({ task, layers, heads, width, norm }: Settings): NetworkOptions {
  return {
    layers,
    heads,
    embedDim: width,
    ffnDim: FFN_FACTOR * width,
    vocabulary: vocabularyOf(taskOf(task)).length,
    positions: lengthOf(taskOf(task)),
    norm,
  };
}

/** How it learns. */
export function trainerSettingsOf(settings: Settings): TrainerSettings {
  const { seed, optimiser, rate, warmUp, steps, clip, decay, attentionDropout, residualDropout, scaled } = settings;
  return {
    ...adamw,
    seed,
    optimiser,
    learningRate: rate,
    floor: rate / 10,
    warmUp: Math.min(warmUp, steps),
    steps,
    clip,
    weightDecay: decay,
    attentionDropout,
    residualDropout,
    scale: scaled ? 'default' : 'none',
  };
}

/** Numbers that are learned: embeddings (the head is tied), and per layer two norms, attention and feed-forward. */
export function countParameters({ task, layers, width, norm }: Settings): number {
  const attention = 4 * (width + 1) * width;
  const inner = FFN_FACTOR * width;
  const feedForward = (width + 1) * inner + (inner + 1) * width;
  const finalNorm = norm === 'pre' ? 2 * width : 0;
  const embedded = vocabularyOf(taskOf(task)).length + lengthOf(taskOf(task));
  return embedded * width + layers * (attention + feedForward + 4 * width) + finalNorm;
}
