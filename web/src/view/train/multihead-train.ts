/** `<multihead-train>`: a small model learns a task before your eyes, every head of it live. One run, or two side by side. */
import { html, type PropertyValues, type TemplateResult } from 'lit';
import type { ModelFiles } from '../../core/types.js';
import { configOf, tokenizerOf } from '../../study/model-files.js';
import { fitHeads, type Settings, settingsToPairs } from '../../study/settings.js';
import { spell, type Word } from '../../study/task.js';
import { taskOf } from '../../study/tasks/index.js';
import { probesOf, type WatchedWeight } from '../../study/training.js';
import { Connection } from '../../worker/connection.js';
import { spawnTrainingWorker } from '../../worker/spawn-training.js';
import type { TrainingApi } from '../../worker/training-protocol.js';
import { afterPaint } from '../after-paint.js';
import { copyText } from '../clipboard.js';
import { Notice } from '../notice.js';
import type { HeadRef } from '../pictures/types.js';
import { RoomElement } from '../room-element.js';
import { saveFile } from '../save-file.js';
import { board } from './board.js';
import { charts } from './charts.js';
import type { Room, RunIndex, Shown } from './context.js';
import { foot } from './foot.js';
import { hashToRoom, type RoomSettings, roomToHash } from './link.js';
import { heads, map } from './maps.js';
import { optimiser } from './optimiser.js';
import { Run } from './run.js';
import { setup } from './setup.js';
import { trainStyles } from './styles.js';
import { sayIn } from './words.js';

declare global {
  interface HTMLElementEventMap {
    /** The settings changed. */
    'mh-settings': CustomEvent<null>;
    /** A model is to be looked at with every tool: its files, and a sentence of its task. */
    'mh-explore': CustomEvent<{ readonly files: ModelFiles; readonly text: string; readonly head: HeadRef }>;
  }
}

/** Below this width heads are a strip; the same as in styles.ts. */
const threeColumns = 1200;

const change = (settings: Settings, part: Partial<Settings>): Settings => fitHeads({ ...settings, ...part });

/** Where the second run agrees with the first it follows, so that it goes on to differ in what it is compared for. */
function changeFirst({ first, second }: RoomSettings, part: Partial<Settings>): RoomSettings {
  const shared = Object.fromEntries(
    Object.entries(part).filter(([name]) => second?.[name as keyof Settings] === first[name as keyof Settings]),
  );
  return { first: change(first, part), second: second && change(second, shared) };
}

const openWorker = () => Connection.open<TrainingApi>(spawnTrainingWorker);

/** In a hidden page nothing is painted, and training goes on. */
const painted = () =>
  new Promise<void>((resolve) => {
    if (document.hidden) setTimeout(resolve);
    else afterPaint(resolve);
  });

/** @fires mh-settings, mh-explore */
export class MultiheadTrain extends RoomElement {
  static override readonly styles = trainStyles;

  #runs: readonly Run[] = [];
  #wanted: RoomSettings = hashToRoom('').settings;
  #active: RunIndex = 0;
  #head: HeadRef = { layer: 0, head: 0 };
  /** The head was chosen by the reader; else the one that is most worth it is shown. */
  #headChosen = false;
  #cursor: number | null = null;
  #hovered: number | null = null;
  #kept: Shown | null = null;
  #probe = 0;
  #watched: WatchedWeight = { name: 'h.0.attn.c_attn.weight', index: 0 };
  #watching = false;
  #playing = false;
  readonly #notice = new Notice(this);
  #narrow = true;
  #resizes: ResizeObserver | undefined;

  /** All settings, as the hash of a link without its `#`. */
  get link(): string {
    return roomToHash(this.#wanted);
  }

  /** Takes the settings of a link, and says what could not be read. */
  openLink(hash: string): void {
    const { settings, problems } = hashToRoom(hash);
    if (problems.length > 0) this.say(sayIn(this.language)('link', { parts: problems.join(', ') }));
    if (this.isConnected && roomToHash(settings) === this.link && this.#runs.length > 0) return;
    this.#wanted = settings;
    if (this.isConnected) this.#beginAll();
  }

  /** Stops training, as when the reader goes to another room; what was learned stays. */
  pause(): void {
    this.#setPlaying(false);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#resizes = new ResizeObserver(([entry]) => {
      const narrow = (entry?.contentRect.width ?? 0) < threeColumns;
      if (narrow === this.#narrow) return;
      this.#narrow = narrow;
      this.requestUpdate();
    });
    this.#resizes.observe(this);
    this.addEventListener('keydown', this.#pressed);
    this.#beginAll();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#resizes?.disconnect();
    this.removeEventListener('keydown', this.#pressed);
    for (const run of this.#runs) run.close();
    this.#runs = [];
  }

  /** The space bar plays and pauses, unless something that has the focus takes it. */
  readonly #pressed = (event: KeyboardEvent): void => {
    const target = event.composedPath()[0];
    const busy =
      target instanceof Element && target.closest('button, input, select, textarea, summary, [role=gridcell]');
    if (event.key !== ' ' || busy || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.#setPlaying(!this.#playing);
  };

  /* ------------------------------------------------------------------------------------------------- Runs */

  #begin(settings: Settings): Run {
    const run: Run = new Run(settings, openWorker, () => this.#changed(), painted);
    run.watch(this.#watching ? this.#watched : null);
    void run.begin().then(() => {
      if (this.#probe > 0) void run.setProbe(this.#probes()[this.#probe] as readonly Word[]);
      if (this.#playing) void run.play();
    });
    return run;
  }

  #beginAll(): void {
    for (const run of this.#runs) run.close();
    this.#setPlaying(false);
    const { first, second } = this.#wanted;
    this.#runs = second ? [this.#begin(first), this.#begin(second)] : [this.#begin(first)];
    if (second === null) this.#active = 0;
    this.#fresh();
  }

  /** Nothing is looked back at in runs that have no past. */
  #fresh(): void {
    this.#cursor = null;
    this.#kept = null;
    this.#headChosen = false;
    this.#head = { layer: 0, head: 0 };
    this.requestUpdate();
  }

  #changed(): void {
    if (this.#playing && this.#runs.every((run) => !run.playing && run.status.kind !== 'loading'))
      this.#playing = false;
    this.#showWorthwhile();
    this.requestUpdate();
  }

  /** Until the reader chooses a head, the one whose pattern answers the task is shown. */
  #showWorthwhile(): void {
    const run = this.#runs[this.#active];
    const findings = run?.check?.findings;
    if (this.#headChosen || !run || !findings) return;
    const worth = (i: number) => {
      const finding = findings[i];
      if (!finding || finding.pattern === 'even') return 0;
      return finding.score + (finding.pattern === 'induction' || finding.pattern === 'answer' ? 1 : 0);
    };
    const best = findings.reduce((leading, _, i) => (worth(i) > worth(leading) + 0.05 ? i : leading), 0);
    const { heads: count } = run.settings;
    this.#head = { layer: Math.floor(best / count), head: best % count };
  }

  #setPlaying(on: boolean): void {
    this.#playing = on;
    for (const run of this.#runs) {
      if (on) void run.play();
      else run.pause();
    }
    if (on) this.#cursor = null;
    this.requestUpdate();
  }

  #set(part: Partial<Settings>): void {
    const { first, second } = this.#wanted;
    const next: RoomSettings =
      // Two runs are compared on one task.
      part.task !== undefined || this.#active === 0
        ? changeFirst(this.#wanted, part)
        : { first, second: second && change(second, part) };
    this.#wanted = next;
    if (part.task !== undefined) this.#probe = 0;
    this.#setPlaying(false);
    this.#runs = this.#runs.map((run, i) => {
      const settings = i === 0 ? next.first : (next.second as Settings);
      if (settingsToPairs(settings, run.settings).length === 0) return run;
      run.close();
      return this.#begin(settings);
    });
    this.#fresh();
    this.dispatchEvent(new CustomEvent('mh-settings', { detail: null, bubbles: true, composed: true }));
  }

  #compare(on: boolean): void {
    const { first } = this.#wanted;
    this.#wanted = { first, second: on ? first : null };
    this.#setPlaying(false);
    this.#runs[1]?.close();
    this.#runs = this.#runs.slice(0, 1);
    if (on) this.#runs = [...this.#runs, this.#begin(first)];
    this.#active = on ? 1 : 0;
    this.#fresh();
    this.dispatchEvent(new CustomEvent('mh-settings', { detail: null, bubbles: true, composed: true }));
  }

  #probes(): readonly (readonly Word[])[] {
    return probesOf(this.#wanted.first);
  }

  #shown(run: Run): Shown | null {
    const snapshot = this.#cursor === null ? null : run.snapshots.at(this.#cursor);
    if (snapshot) return { ...snapshot.value, step: snapshot.step };
    return run.probe && { probe: run.probe, findings: run.check?.findings ?? [], step: run.step };
  }

  /* -------------------------------------------------------------------------------------------- What it gives */

  async #files(run: Run): Promise<Required<Pick<ModelFiles, 'config' | 'tokenizer' | 'weights'>>> {
    return { config: configOf(run.settings), tokenizer: tokenizerOf(run.settings), weights: await run.save() };
  }

  async #explore(): Promise<void> {
    const run = this.#runs[this.#active] as Run;
    const { task } = run.settings;
    const words = this.#probes()[this.#probe] ?? [];
    // Up to the last answer, which the model is to give.
    const until = words.findLastIndex(({ graded }) => graded);
    const text = spell(taskOf(task), words.slice(0, until));
    const files: ModelFiles = { ...(await this.#files(run)), name: `${task}, ${run.step}` };
    this.dispatchEvent(
      new CustomEvent('mh-explore', { detail: { files, text, head: this.#head }, bubbles: true, composed: true }),
    );
  }

  async #download(): Promise<void> {
    const { config, tokenizer, weights } = await this.#files(this.#runs[this.#active] as Run);
    saveFile(new Blob([weights as BlobPart], { type: 'application/octet-stream' }), 'model.safetensors');
    saveFile(new Blob([JSON.stringify(config, null, 1)], { type: 'application/json' }), 'config.json');
    saveFile(new Blob([JSON.stringify(tokenizer)], { type: 'application/json' }), 'tokenizer.json');
    this.say(sayIn(this.language)('download.done'));
  }

  async #share(): Promise<void> {
    const copied = await copyText(new URL(`#${this.link}`, location.href).href);
    this.say(sayIn(this.language)(copied ? 'share.done' : 'share.failed'));
  }

  /** Says something in the status line, for a while. */
  say(message: string): void {
    this.#notice.say(message);
  }

  readonly #failed = (error: unknown): void => this.say(error instanceof Error ? error.message : String(error));

  /* ------------------------------------------------------------------------------------------------ Rendering */

  #context(): Room | null {
    const run = this.#runs[this.#active];
    if (run === undefined) return null;
    const update = (change: () => void) => {
      change();
      this.requestUpdate();
    };
    return {
      t: sayIn(this.language),
      runs: this.#runs,
      active: this.#active,
      run,
      shown: this.#runs.map((one) => this.#shown(one)),
      head: this.#head,
      cursor: this.#cursor,
      hovered: this.#hovered,
      kept: this.#kept,
      probes: this.#probes(),
      probe: this.#probe,
      playing: this.#playing,
      watched: this.#watched,
      watching: this.#watching,
      message: this.#notice.text,
      narrow: this.#narrow,
      choose: (index) => update(() => (this.#active = index)),
      set: (part) => this.#set(part),
      compare: (on) => this.#compare(on),
      play: () => this.#setPlaying(!this.#playing),
      stepOnce: () => {
        this.#setPlaying(false);
        this.#cursor = null;
        for (const one of this.#runs) void one.stepOnce();
      },
      reset: () => this.#beginAll(),
      look: (step) => update(() => (this.#cursor = step)),
      hover: (step) => update(() => (this.#hovered = step)),
      keep: (on) => update(() => (this.#kept = on ? this.#shown(run) : null)),
      select: (head) =>
        update(() => {
          this.#head = head;
          this.#headChosen = true;
        }),
      choosePredefined: (probe) =>
        update(() => {
          this.#probe = probe;
          this.#cursor = null;
          this.#kept = null;
          for (const one of this.#runs) void one.setProbe(this.#probes()[probe] as readonly Word[]);
        }),
      watch: (weight) =>
        update(() => {
          this.#watching = weight !== null;
          if (weight) this.#watched = weight;
          for (const one of this.#runs) one.watch(weight);
        }),
      explore: () => void this.#explore().catch(this.#failed),
      download: () => void this.#download().catch(this.#failed),
      share: () => void this.#share(),
      say: (message) => this.say(message),
    };
  }

  protected override willUpdate(_changed: PropertyValues): void {
    const run = this.#runs[this.#active];
    if (run && this.#head.layer >= run.settings.layers) this.#head = { layer: 0, head: 0 };
    if (run && this.#head.head >= run.settings.heads) this.#head = { ...this.#head, head: 0 };
  }

  protected override render(): TemplateResult {
    const room = this.#context();
    if (room === null) return html``;
    return html`<div class="room">
      ${board(room)} ${setup(room)}
      <div class="middle">${heads(room)} ${map(room)} ${optimiser(room)}</div>
      ${charts(room)} ${foot(room)}
    </div>`;
  }
}
