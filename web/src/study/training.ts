/**
 * A training under way: a model, a task, and what is measured of both on the way. It does as much as it is given time
 * for and then reports, so that whoever drives it stays in charge.
 */
import type { Supervision } from '../train/batch.js';
import type { BatchResult, Trainer } from '../train/trainer.js';
import { LESSON_STEPS, supervisionOf } from './lessons.js';
import { type Moments, readMoments } from './moments.js';
import { type Finding, headEntropies, headSimilarities, nameHeads } from './patterns.js';
import type { Settings } from './settings.js';
import { type Batch, encode, makeSequences, type Part, type Task, type Word } from './task.js';
import { taskOf } from './tasks/index.js';

export interface StepPoint {
  readonly step: number;
  /** Mean, nats. */
  readonly loss: number;
  /** Share of places. */
  readonly accuracy: number;
  readonly learningRate: number;
  /** Before clipping. */
  readonly gradientNorm: number;
}

/** What is measured now and then. Heads are `[L, H]`. */
export interface Check {
  readonly step: number;
  readonly loss: number;
  readonly accuracy: number;
  /** Mean entropy over its maximum. */
  readonly trainEntropies: Float32Array;
  readonly heldOutEntropies: Float32Array;
  readonly findings: readonly (Finding | null)[];
  /** `[L]` */
  readonly similarities: Float32Array;
  /** Standard deviation of each matrix of the layers: `[L, 6]`, in the order of `weightNames`. */
  readonly weightDeviations: Float32Array;
}

export const weightNames = ['W_Q', 'W_K', 'W_V', 'W_O', 'W_1', 'W_2'] as const;

/** One number of the model, and what the optimiser did to it in one step. */
export interface WeightStep {
  readonly step: number;
  readonly name: string;
  readonly index: number;
  readonly before: number;
  readonly after: number;
  /** Of the mean loss, before clipping. */
  readonly gradient: number;
  /** Factor of clipping. */
  readonly clipFactor: number;
  readonly learningRate: number;
  readonly decays: boolean;
  /** Before this step; null for plain gradient descent. */
  readonly moments: Moments | null;
}

/** A number of a tensor of `Trainer.parameters`. */
export interface WatchedWeight {
  readonly name: string;
  readonly index: number;
}

export interface Report {
  readonly step: number;
  readonly points: readonly StepPoint[];
  readonly checks: readonly Check[];
  /** The probe's `[L, H, T, T]`, and how well it is answered. */
  readonly probe: Probe;
  readonly watched: WeightStep | null;
  /** Time that it took, in milliseconds. */
  readonly milliseconds: number;
}

export interface Probe {
  readonly words: readonly Word[];
  readonly attention: Float32Array;
  readonly score: BatchResult;
}

/** Steps from one check to the next. */
const CHECK_EVERY = 25;
/** Held-out sequences that accuracy is measured on, and how many of them heads are. */
const HELD_OUT = 128;
const MAPPED = 16;
/** Sequences to choose a probe from. */
const PROBES = 6;

export class Training {
  readonly task: Task;
  readonly #settings: Settings;
  readonly #trainer: Trainer;
  readonly #heldOut: Batch;
  readonly #mapped: Batch;
  /** Sequences that are shown again and again; null when there are always new ones. */
  readonly #examples: readonly (readonly Word[])[] | null;
  #probe: readonly Word[];
  #step = 0;
  #checks: Check[] = [];

  /** A trainer that has taken no step, of `networkOf(settings)` and `trainerSettingsOf(settings)`. */
  constructor(settings: Settings, trainer: Trainer) {
    this.#settings = settings;
    this.#trainer = trainer;
    this.task = taskOf(settings.task);
    spreadEmbeddings(trainer);
    const heldOut = this.#sequences('held-out', 0, HELD_OUT);
    this.#mapped = encode(this.task, heldOut.slice(0, MAPPED));
    this.#heldOut = encode(this.task, heldOut);
    this.#examples = settings.examples > 0 ? this.#sequences('train', 0, settings.examples) : null;
    this.#probe = probesOf(settings)[0] as readonly Word[];
    this.#checks.push(this.#check());
  }

  /** What is watched from now on. */
  setProbe(words: readonly Word[]): void {
    this.#probe = words;
  }

  /** The state as it is, without a step. */
  look(): Report {
    return this.#report([], null, performance.now());
  }

  /** Steps for about so many milliseconds, at least one and at most `most`, then reports. */
  advance(milliseconds: number, most: number, watch: WatchedWeight | null): Report {
    const start = performance.now();
    const points: StepPoint[] = [];
    let watched: WeightStep | null = null;
    do {
      // Only the last step is shown, and reading a checkpoint at each would take longer than the step itself.
      const last = points.length + 1 >= most || performance.now() - start >= milliseconds;
      const learned = this.#learn(last ? watch : null);
      points.push(learned.point);
      watched = learned.watched;
      if (this.#step % CHECK_EVERY === 0) this.#checks.push(this.#check());
      if (last) break;
    } while (points.length < most);
    return this.#report(points, watched, start);
  }

  /**
   * The model as safetensors, such as `loadModel` reads. One that was trained without ÷√d_k is written as the same model
   * with it: its queries are √d_k times as long.
   */
  save(): Uint8Array {
    const { scaled, layers, width, heads } = this.#settings;
    if (scaled) return this.#trainer.save();
    const stretch = Math.sqrt(width / heads);
    const names = Array.from({ length: layers }, (_, layer) => [
      `h.${layer}.attn.c_attn.weight`,
      `h.${layer}.attn.c_attn.bias`,
    ]).flat();
    const kept = names.map((name) => [name, this.#trainer.read(name)] as const);
    try {
      for (const [name, { data, shape }] of kept) {
        // Columns of W_Q, W_K and W_V follow each other in every row.
        const longer = data.map((value, i) => (i % (3 * width) < width ? value * stretch : value));
        this.#trainer.write(name, { data: longer, shape });
      }
      return this.#trainer.save();
    } finally {
      for (const [name, tensor] of kept) this.#trainer.write(name, tensor);
    }
  }

  #report(points: readonly StepPoint[], watched: WeightStep | null, start: number): Report {
    const checks = this.#checks;
    this.#checks = [];
    const batch = encode(this.task, [this.#probe]);
    const score = this.#trainer.evaluate(asked(batch));
    // One sequence: its layers follow each other as the pictures want them.
    const probe = { words: this.#probe, attention: this.#attention(batch), score };
    return { step: this.#step, points, checks, probe, watched, milliseconds: performance.now() - start };
  }

  #learn(watch: WatchedWeight | null): { readonly point: StepPoint; readonly watched: WeightStep | null } {
    const state = watch && this.#momentsOf(watch);
    const batch = this.#nextBatch();
    const { loss, accuracy } = this.#trainer.accumulate({ ...asked(batch), supervision: this.#supervision(batch) });
    const before = watch && this.#weight(watch);
    const { step, learningRate, gradientNorm } = this.#trainer.apply();
    this.#step = step;
    const watched = watch &&
      before && {
        ...before,
        step,
        learningRate,
        clipFactor: clipFactor(this.#settings.clip, gradientNorm),
        moments: state,
        after: this.#trainer.read(watch.name).data[watch.index] as number,
      };
    return { point: { step, loss, accuracy, learningRate, gradientNorm }, watched };
  }

  #supervision({ count, length }: Batch): readonly Supervision[] {
    const { taught, heads } = this.#settings;
    return taught && this.#step < LESSON_STEPS ? supervisionOf(this.task.lessons, heads, count, length) : [];
  }

  #momentsOf({ name, index }: WatchedWeight): Moments | null {
    if (this.#settings.optimiser !== 'adamw') return null;
    return readMoments(this.#trainer.checkpoint(), this.#trainer.parameters, name, index);
  }

  /** Between `accumulate` and `apply`. */
  #weight({ name, index }: WatchedWeight) {
    return {
      name,
      index,
      decays: this.#trainer.parameters.find((parameter) => parameter.name === name)?.decays ?? false,
      before: this.#trainer.read(name).data[index] as number,
      gradient: this.#trainer.gradient(name).data[index] as number,
    };
  }

  #attention(batch: Batch): Float32Array {
    return this.#trainer.probe(asked(batch)).attention;
  }

  #sequences(part: Part, first: number, count: number): readonly (readonly Word[])[] {
    return makeSequences(this.task, part, this.#settings.seed, first, count);
  }

  #nextBatch(): Batch {
    const { batch } = this.#settings;
    const first = this.#step * batch;
    if (this.#examples === null) return encode(this.task, this.#sequences('train', first, batch));
    const examples = this.#examples;
    return encode(
      this.task,
      Array.from({ length: batch }, (_, i) => examples[(first + i) % examples.length] as readonly Word[]),
    );
  }

  /** Sequences that were trained on, as many as are mapped: the first ones, or the newest where all are seen once. */
  #trained(): Batch {
    const newest = Math.max(0, this.#step * this.#settings.batch - MAPPED);
    return encode(this.task, this.#examples?.slice(0, MAPPED) ?? this.#sequences('train', newest, MAPPED));
  }

  #check(): Check {
    const { layers, heads } = this.#settings;
    const heldOut = { attention: this.#attention(this.#mapped), layers, heads, batch: this.#mapped };
    const trained = this.#trained();
    const score = this.#trainer.evaluate(asked(this.#heldOut));
    return {
      step: this.#step,
      loss: score.loss,
      accuracy: score.accuracy,
      trainEntropies: headEntropies({ attention: this.#attention(trained), layers, heads, batch: trained }),
      heldOutEntropies: headEntropies(heldOut),
      findings: nameHeads(heldOut),
      similarities: headSimilarities(heldOut),
      weightDeviations: this.#deviations(),
    };
  }

  #deviations(): Float32Array {
    const { layers, width } = this.#settings;
    const matrix = (layer: number, name: string) => this.#trainer.read(`h.${layer}.${name}`).data;
    return Float32Array.from(
      Array.from({ length: layers }, (_, layer) => {
        const qkv = matrix(layer, 'attn.c_attn.weight');
        return [
          ...[0, 1, 2].map((third) => deviation(qkv, width, third, 3)),
          ...['attn.c_proj', 'mlp.c_fc', 'mlp.c_proj'].map((name) => deviation(matrix(layer, `${name}.weight`))),
        ];
      }).flat(),
    );
  }
}

/** Sequences of the held-out part that a learner can be watched on, beyond those that are measured. */
export const probesOf = ({ task, seed }: Settings): readonly (readonly Word[])[] =>
  makeSequences(taskOf(task), 'held-out', seed, HELD_OUT, PROBES);

/** A batch as the trainer reads it. */
const asked = ({ tokens, targets, count }: Batch) => ({ tokens, targets, batch: count, causal: true });

/** Standard deviation of embeddings at the start, and what the engine starts with, as GPT-2 did. */
const EMBEDDING_DEVIATION = 0.5;
const SMALL_DEVIATION = 0.02;

/**
 * Makes the first embeddings larger. As the head is tied to them, words that are never an answer are pushed away all alike;
 * from 0.02 they would soon look alike to every query too, and nothing could be recalled by them.
 */
function spreadEmbeddings(trainer: Trainer): void {
  for (const name of ['wte.weight', 'wpe.weight']) {
    const { data, shape } = trainer.read(name);
    trainer.write(name, { data: data.map((value) => value * (EMBEDDING_DEVIATION / SMALL_DEVIATION)), shape });
  }
}

/** What clipping multiplies a gradient of that norm with. */
const clipFactor = (clip: number, norm: number): number => (clip > 0 && norm > clip ? clip / norm : 1);

/** Standard deviation of a matrix, or of part `part` of `parts` of its columns, `width` each. */
function deviation(values: Float32Array, width = values.length, part = 0, parts = 1): number {
  let [count, sum, squares] = [0, 0, 0];
  for (let start = part * width; start < values.length; start += parts * width) {
    for (let i = start; i < start + width; i++) {
      const value = values[i] as number;
      count++;
      sum += value;
      squares += value * value;
    }
  }
  const mean = sum / count;
  return Math.sqrt(Math.max(0, squares / count - mean * mean));
}
