/**
 * One training as the page has it: drives the worker, and keeps what came of it. Knows nothing of the page; whoever owns
 * it is told when something changed.
 */
import { Series, Snapshots } from '../../study/history.js';
import type { Finding, PatternId } from '../../study/patterns.js';
import type { Settings } from '../../study/settings.js';
import type { Word } from '../../study/task.js';
import type { Check, Probe, Report, StepPoint, WatchedWeight, WeightStep } from '../../study/training.js';
import type { Host } from '../../worker/connection.js';
import type { Begun, TrainingApi } from '../../worker/training-protocol.js';

export type RunStatus =
  | { readonly kind: 'loading' }
  | { readonly kind: 'ready' }
  | { readonly kind: 'training' }
  /** The schedule is over; it may go on at the last learning rate. */
  | { readonly kind: 'finished' }
  /** A number was not finite: the step was not taken. */
  | { readonly kind: 'diverged'; readonly error: unknown }
  | { readonly kind: 'failed'; readonly error: unknown };

/** A head got a name at some step. */
export interface Naming {
  readonly step: number;
  readonly layer: number;
  readonly head: number;
  readonly pattern: PatternId;
}

/** What can be gone back to. */
export interface Snapshot {
  readonly probe: Probe;
  readonly findings: readonly (Finding | null)[];
}

export interface Curves {
  readonly loss: Series;
  readonly accuracy: Series;
  readonly heldOutLoss: Series;
  readonly heldOutAccuracy: Series;
  readonly gradientNorm: Series;
  readonly learningRate: Series;
  /** By head, `[L, H]`. */
  readonly trainEntropies: readonly Series[];
  readonly heldOutEntropies: readonly Series[];
  /** By layer. */
  readonly similarities: readonly Series[];
  /** `[L, 6]`, see `weightNames`. */
  readonly deviations: readonly Series[];
}

/** Milliseconds of training between two pictures: the page stays smooth, and the worker busy. */
const TURN = 80;
/** Floats of snapshots that are kept at most: 16 MB. */
const SNAPSHOT_FLOATS = 4_000_000;
const MOST_SNAPSHOTS = 120;
const MOST_NAMINGS = 60;

export class Run {
  readonly settings: Settings;
  status: RunStatus = { kind: 'loading' };
  begun: Begun | null = null;
  step = 0;
  probe: Probe | null = null;
  check: Check | null = null;
  point: StepPoint | null = null;
  watched: WeightStep | null = null;
  namings: readonly Naming[] = [];
  curves: Curves;
  snapshots: Snapshots<Snapshot>;
  /** Steps a second of the last turns; 0 before the first. */
  speed = 0;
  /** Milliseconds that the worker has trained. */
  milliseconds = 0;

  readonly #open: () => Promise<Host<TrainingApi>>;
  readonly #changed: () => void;
  readonly #painted: () => Promise<void>;
  #host: Host<TrainingApi> | null = null;
  #playing = false;
  #busy = false;
  #closed = false;
  #watch: WatchedWeight | null = null;
  #wantedProbe: readonly Word[] | null = null;

  /** `painted` resolves when the page has shown the last change, so that the worker does not run ahead of it. */
  constructor(
    settings: Settings,
    open: () => Promise<Host<TrainingApi>>,
    changed: () => void,
    painted: () => Promise<void>,
  ) {
    this.settings = settings;
    this.#open = open;
    this.#changed = () => {
      if (!this.#closed) changed();
    };
    this.#painted = painted;
    this.curves = emptyCurves(settings);
    this.snapshots = new Snapshots(2);
  }

  /** Starts the worker and makes the model. */
  async begin(): Promise<void> {
    await this.#guard(async () => {
      const host = await this.#open();
      if (this.#closed) {
        host.close(new Error('this run was closed'));
        return;
      }
      this.#host = host;
      const begun = await host.call((remote) => remote.begin(this.settings));
      this.begun = begun;
      const floats = begun.report.probe.attention.length;
      this.snapshots = new Snapshots(Math.max(2, Math.min(MOST_SNAPSHOTS, Math.floor(SNAPSHOT_FLOATS / floats))));
      this.#take(begun.report);
      this.status = { kind: 'ready' };
    });
    if (this.#playing) void this.play();
  }

  get playing(): boolean {
    return this.#playing;
  }

  /** Trains until it is paused, or until its schedule ends. */
  async play(): Promise<void> {
    this.#playing = true;
    if (!this.#canTrain()) return;
    const last = this.status.kind === 'finished' ? Number.POSITIVE_INFINITY : this.settings.steps;
    this.status = { kind: 'training' };
    while (this.#playing && this.step < last && this.#canTrain()) {
      await this.#advance(TURN, last - this.step);
      await this.#painted();
    }
    if (this.step >= last) {
      this.#playing = false;
      if (this.status.kind === 'training') this.status = { kind: 'finished' };
    } else if (this.status.kind === 'training') this.status = { kind: 'ready' };
    this.#changed();
  }

  pause(): void {
    this.#playing = false;
    this.#changed();
  }

  /** One step. */
  async stepOnce(): Promise<void> {
    this.#playing = false;
    if (this.#canTrain()) await this.#advance(0, 1);
  }

  watch(weight: WatchedWeight | null): void {
    this.#watch = weight;
    if (weight === null) this.watched = null;
  }

  /** Watches another sequence from now on. */
  async setProbe(words: readonly Word[]): Promise<void> {
    this.#wantedProbe = words;
    if (this.begun === null || this.#busy) return;
    await this.#sendProbe();
  }

  async save(): Promise<Uint8Array> {
    if (this.#host === null) throw new Error('there is no model yet');
    return this.#host.call((remote) => remote.save());
  }

  /** Ends the worker. No more calls to the owner. */
  close(): void {
    this.#closed = true;
    this.#playing = false;
    this.#host?.close(new Error('this run was closed'));
  }

  #canTrain(): boolean {
    const { kind } = this.status;
    return !this.#busy && !this.#closed && this.begun !== null && kind !== 'failed' && kind !== 'diverged';
  }

  async #advance(milliseconds: number, most: number): Promise<void> {
    this.#busy = true;
    await this.#guard(async () => {
      const host = this.#host as Host<TrainingApi>;
      const start = performance.now();
      const report = await host.call((remote) =>
        remote.advance(milliseconds, Number.isFinite(most) ? most : 1e9, this.#watch),
      );
      this.#measure(report.points.length, performance.now() - start);
      this.#take(report);
    });
    this.#busy = false;
    if (this.#wantedProbe !== null) await this.#sendProbe();
    this.#changed();
  }

  async #sendProbe(): Promise<void> {
    const words = this.#wantedProbe;
    this.#wantedProbe = null;
    if (words === null) return;
    this.#busy = true;
    await this.#guard(async () => {
      this.snapshots = new Snapshots(MOST_SNAPSHOTS);
      this.#take(await (this.#host as Host<TrainingApi>).call((remote) => remote.probe(words)));
    });
    this.#busy = false;
    if (this.#playing && this.status.kind !== 'training') void this.play();
  }

  /** A mean that forgets: the machine may be busy for a while. */
  #measure(steps: number, milliseconds: number): void {
    const now = (1000 * steps) / milliseconds;
    this.speed = this.speed === 0 ? now : this.speed + 0.2 * (now - this.speed);
  }

  async #guard(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (this.#closed) return;
      this.#playing = false;
      const { code } = error as { code?: string };
      this.status = { kind: code === 'nonfinite' ? 'diverged' : 'failed', error };
    }
    this.#changed();
  }

  #take(report: Report): void {
    const { curves } = this;
    this.step = report.step;
    this.milliseconds += report.milliseconds;
    this.probe = report.probe;
    if (report.watched !== null) this.watched = report.watched;
    for (const point of report.points) {
      curves.loss.add(point.step, point.loss);
      curves.accuracy.add(point.step, point.accuracy);
      curves.gradientNorm.add(point.step, point.gradientNorm);
      curves.learningRate.add(point.step, point.learningRate);
    }
    this.point = report.points.at(-1) ?? this.point;
    for (const check of report.checks) this.#takeCheck(check);
    if (this.check !== null) this.snapshots.add(this.step, { probe: report.probe, findings: this.check.findings });
  }

  #takeCheck(check: Check): void {
    const { curves } = this;
    curves.heldOutLoss.add(check.step, check.loss);
    curves.heldOutAccuracy.add(check.step, check.accuracy);
    addAll(curves.trainEntropies, check.step, check.trainEntropies);
    addAll(curves.heldOutEntropies, check.step, check.heldOutEntropies);
    addAll(curves.similarities, check.step, check.similarities);
    addAll(curves.deviations, check.step, check.weightDeviations);
    const before = this.check?.findings;
    const { heads } = this.settings;
    const named = check.findings.flatMap((finding, i) =>
      finding !== null && finding.pattern !== 'even' && finding.pattern !== before?.[i]?.pattern
        ? [{ step: check.step, layer: Math.floor(i / heads), head: i % heads, pattern: finding.pattern }]
        : [],
    );
    this.namings = [...this.namings, ...named].slice(-MOST_NAMINGS);
    this.check = check;
  }
}

function addAll(series: readonly Series[], step: number, values: Float32Array): void {
  series.forEach((one, i) => {
    one.add(step, values[i] as number);
  });
}

function emptyCurves({ layers, heads }: Settings): Curves {
  const many = (count: number) => Array.from({ length: count }, () => new Series());
  return {
    loss: new Series(),
    accuracy: new Series(),
    heldOutLoss: new Series(),
    heldOutAccuracy: new Series(),
    gradientNorm: new Series(),
    learningRate: new Series(),
    trainEntropies: many(layers * heads),
    heldOutEntropies: many(layers * heads),
    similarities: many(layers),
    deviations: many(layers * 6),
  };
}
