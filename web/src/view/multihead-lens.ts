/** `<multihead-lens>`: a sentence, the attention of a real model over it, and everything that can be changed about it. */

import { html, LitElement, nothing, type PropertyValues, type TemplateResult } from 'lit';
import type { Model, ModelInfo } from '../core/types.js';
import { afterPaint } from './after-paint.js';
import { drawer, type Pointer, pointedCell, shownRow } from './drawing.js';
import { firstExample, withExample } from './examples.js';
import {
  type Language,
  languageTag,
  matchLanguage,
  preferredLanguage,
  type Translate,
  translator,
} from './i18n/index.js';
import { type Preset, presets, type Remap } from './mask.js';
import { sharedModels } from './models.js';
import { Notice } from './notice.js';
import type { HeatmapElement } from './pictures/heatmap.js';
import type { Words } from './pictures/types.js';
import { arithmetic } from './sections/arithmetic.js';
import type { LensContext } from './sections/context.js';
import { entropy } from './sections/entropy.js';
import { loadingText, problemOf } from './sections/failure.js';
import { heads } from './sections/heads.js';
import { maskPanel } from './sections/mask-panel.js';
import { output } from './sections/output.js';
import { proof } from './sections/proof.js';
import { reading } from './sections/reading.js';
import { sentence } from './sections/sentence.js';
import { stage } from './sections/stage.js';
import { type Answer, Session, type SessionOwner } from './session.js';
import {
  asksAnew,
  defaultState,
  fitToModel,
  type LensState,
  redo,
  remapState,
  undo,
  type View,
  views,
} from './state.js';
import { lensStyles } from './styles/index.js';

const lensControls = ['sentence', 'heads', 'entropy', 'mask', 'arithmetic', 'reading', 'output', 'proof'] as const;
type LensControl = (typeof lensControls)[number];

/** Below this width heads are a strip; the same as in styles/layout.ts. */
const threeColumns = 1320;

/** Milliseconds after which a change is drawn without waiting for its answer. */
const patience = 60;

/** A single run, above all the first, says little: the proof shows the median of so many. */
const timedRuns = 9;

/** Milliseconds that a notice stays while nothing changes. */

export interface LensEvents {
  /** The state changed, by the user or by the page. */
  'multihead-change': { readonly state: LensState };
  /** The picture shows an answer for the newest state. */
  'multihead-answer': { readonly answer: Answer };
  'multihead-error': { readonly error: unknown };
}

declare global {
  interface HTMLElementEventMap {
    'multihead-change': CustomEvent<LensEvents['multihead-change']>;
    'multihead-answer': CustomEvent<LensEvents['multihead-answer']>;
    'multihead-error': CustomEvent<LensEvents['multihead-error']>;
  }
}

type Tab = 'mask' | 'arithmetic' | 'reading' | 'output' | 'entropy';

/**
 * @attr text - the sentence
 * @attr layer, head - the selected head, from 1 as the page writes it
 * @attr query - the token whose row is pinned, from 0, the start token
 * @attr mask - none, causal, window or prefix; with `window` and `prefix` their sizes in tokens
 * @attr view - heatmap, difference or steps
 * @attr lang - en or zh; without it the nearest `lang` around, else the browser's languages
 * @attr theme - auto (default), light or dark
 * @attr model - folder of another model: config.json, model.safetensors, tokenizer.json
 * @attr controls - all (default), none, or a list of: sentence heads entropy mask arithmetic reading output proof
 * @fires multihead-change, multihead-answer, multihead-error
 * @csspart sentence, heads, entropy, stage, mask, arithmetic, reading, output, proof, legend, caveat, error, loading
 */
export class MultiheadLens extends LitElement implements SessionOwner {
  static override readonly styles = lensStyles;

  static override readonly properties = {
    text: { noAccessor: true },
    layer: { type: Number, noAccessor: true },
    head: { type: Number, noAccessor: true },
    mask: { noAccessor: true },
    windowSize: { attribute: 'window', type: Number, noAccessor: true },
    prefixSize: { attribute: 'prefix', type: Number, noAccessor: true },
    query: { type: Number, noAccessor: true },
    view: { noAccessor: true },
    model: { noAccessor: true },
    theme: { reflect: true },
    controls: {},
    // Only so that a change of the attribute draws anew; `language` looks further than this element.
    ownLanguage: { attribute: 'lang' },
  };

  declare theme: 'auto' | 'light' | 'dark';
  declare controls: string;
  declare ownLanguage: string | null;

  #state: LensState = defaultState;
  /** What the page has said before the first rendering; the rest is an example of ours. */
  #given: Partial<LensState> = {};
  readonly #session = new Session(this, sharedModels);
  #pointer: Pointer | null = null;
  #explored = false;
  #composing = false;
  #adding = false;
  #chipsFrom: number | null = null;
  #tab: Tab = 'mask';
  #narrow = true;
  readonly #notice = new Notice(this);
  #strokes = 0;
  readonly #draw = drawer();
  /** The model that the state was made to fit. */
  #fitted: Model | null = null;
  #told: Answer | null = null;
  /** When the oldest change that is not on screen yet was made. */
  #changedAt: number | null = null;
  #latency: number | null = null;
  /** Of it, from the answer on. */
  #drawTime: number | null = null;
  #timed: Answer | null = null;
  /** Milliseconds of the engine's last runs, the newest last. */
  #runTimes: readonly number[] = [];
  #rendering: ReturnType<typeof setTimeout> | undefined;
  #resizes: ResizeObserver | undefined;
  #visibility: IntersectionObserver | undefined;
  /** In view, or not far from it. */
  #near = false;

  constructor() {
    super();
    this.theme = 'auto';
    this.controls = 'all';
    this.#session.rest();
  }

  /* ----------------------------------------------------------------------------------- State and attributes */

  /** Everything that is shown. Setting it shows something else, as opening a link does. */
  get state(): LensState {
    return this.#state;
  }
  set state(state: LensState) {
    this.#give(state);
  }

  get text(): string {
    return this.#state.text;
  }
  set text(text: string) {
    this.#give({ text: text ?? '' });
  }

  get layer(): number {
    return (this.#state.heads[0]?.layer ?? 0) + 1;
  }
  set layer(layer: number) {
    if (this.#accepts('layer', layer, 1)) this.#give({ heads: [{ layer: layer - 1, head: this.head - 1 }] });
  }

  get head(): number {
    return (this.#state.heads[0]?.head ?? 0) + 1;
  }
  set head(head: number) {
    if (this.#accepts('head', head, 1)) this.#give({ heads: [{ layer: this.layer - 1, head: head - 1 }] });
  }

  get mask(): Preset {
    return this.#state.mask.preset;
  }
  set mask(preset: Preset) {
    if (this.#knows('mask', preset, presets)) this.#give({ mask: { ...this.#state.mask, preset } });
  }

  get windowSize(): number {
    return this.#state.mask.window;
  }
  set windowSize(window: number) {
    if (this.#accepts('window', window, 0)) this.#give({ mask: { ...this.#state.mask, window } });
  }

  get prefixSize(): number {
    return this.#state.mask.prefix;
  }
  set prefixSize(prefix: number) {
    if (this.#accepts('prefix', prefix, 0)) this.#give({ mask: { ...this.#state.mask, prefix } });
  }

  get query(): number | null {
    return this.#state.query;
  }
  set query(query: number | null) {
    if (query === null || this.#accepts('query', query, 0)) this.#give({ query });
  }

  get view(): View {
    return this.#state.view;
  }
  set view(view: View) {
    if (this.#knows('view', view, views)) this.#give({ view });
  }

  get model(): string {
    return this.#state.model;
  }
  set model(model: string) {
    this.#give({ model: model ?? '' });
  }

  /** Changes the state by a pure function; the picture follows. */
  change(change: (state: LensState) => LensState): void {
    const before = this.#state;
    const wanted = change(before);
    if (wanted !== before) this.#notice.drop();
    this.#state = this.#fit(wanted);
    if (this.#state === before) return;
    if (this.#state.query !== before.query) this.#chipsFrom = null;
    if (asksAnew(before, this.#state)) {
      if (this.#session.answer) this.#changedAt ??= performance.now();
      // The answer comes within a frame as a rule: one rendering for both. Fields show their own change at once.
      this.#session.refresh();
      this.#renderIn(patience);
    } else this.requestUpdate();
    this.#dispatch('multihead-change', { state: this.#state });
  }

  /** Takes out heads that the model does not have, and says so. */
  readonly #fit = (wanted: LensState): LensState => {
    const { model } = this.#session;
    if (!model) return wanted;
    const { state, changed } = fitToModel(wanted, model.info);
    if (changed) this.say(translator(this.language)('status.heads'));
    return state;
  };

  #renderIn(milliseconds: number): void {
    clearTimeout(this.#rendering);
    this.#rendering = setTimeout(() => this.requestUpdate(), milliseconds);
  }

  /** A change by the page that holds the lens. */
  #give(part: Partial<LensState>): void {
    if (!this.hasUpdated) this.#given = { ...this.#given, ...part };
    if (part.text !== undefined) this.#session.startText();
    this.change((state) => ({ ...state, ...part }));
  }

  #accepts(name: string, value: number, min: number): boolean {
    if (Number.isInteger(value) && value >= min) return true;
    this.#complain(name, value, `a whole number from ${min}`);
    return false;
  }

  #knows<T extends string>(name: string, value: T, known: readonly T[]): boolean {
    if (known.includes(value)) return true;
    this.#complain(name, value, known.join(', '));
    return false;
  }

  #complain(name: string, value: unknown, expected: string): void {
    if (value !== null) console.warn(`<multihead-lens ${name}="${value}"> is ignored: it must be ${expected}.`);
  }

  /* ------------------------------------------------------------------------------------------------ Session */

  /** For the session: token positions in the state follow a changed text. */
  remap(remap: Remap): void {
    const { state, dropped } = remapState(this.#state, remap);
    this.#state = state;
    if (dropped > 0) this.say(translator(this.language)('edit.dropped', { count: dropped }));
  }

  /** For the session: there is a new status or answer. */
  changed(): void {
    const { status, model, answer } = this.#session;
    // Without a text, or after a failure, no picture comes that a change could wait for.
    if (answer === null || status.kind === 'failed') this.#changedAt = null;
    if (model && model !== this.#fitted) {
      this.#fitted = model;
      this.#runTimes = [];
      if (model.thread === 'here') this.say(translator(this.language)('status.hereInPage'));
      this.change((state) => state);
    }
    if (answer !== null && answer !== this.#timed) {
      this.#timed = answer;
      this.#runTimes = [...this.#runTimes, answer.result.milliseconds].slice(-timedRuns);
    }
    if (status.kind === 'failed') this.#dispatch('multihead-error', { error: status.error });
    this.requestUpdate();
  }

  #dispatch<Name extends keyof LensEvents>(name: Name, detail: LensEvents[Name]): void {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }

  /** Says something in the status line, for a while. */
  say(message: string): void {
    this.#notice.say(message);
  }

  /** The maps on screen, each with its `picture` and `theme`; none in a view without maps. */
  get heatmaps(): readonly HeatmapElement[] {
    return [...this.renderRoot.querySelectorAll<HeatmapElement>('mh-heatmap')];
  }

  /** The model in use; null while it loads. */
  get modelInfo(): ModelInfo | null {
    return this.#session.model?.info ?? null;
  }

  /** The texts of its pictures, in its language. */
  get words(): Words {
    return translator(this.language) as Words;
  }

  /** The language it speaks: of `lang` on it or around it, else the first of ours among the browser's. */
  get language(): Language {
    for (let element: Element | null = this; element; element = outer(element)) {
      const language = matchLanguage(element.getAttribute('lang'));
      if (language) return language;
    }
    return preferredLanguage(navigator.languages);
  }

  /* ---------------------------------------------------------------------------------------------- Lifecycle */

  override connectedCallback(): void {
    super.connectedCallback();
    this.addEventListener('keydown', this.#pressed);
    this.#resizes = new ResizeObserver(([entry]) => {
      const narrow = (entry?.contentRect.width ?? 0) < threeColumns;
      if (narrow === this.#narrow) return;
      this.#narrow = narrow;
      this.requestUpdate();
    });
    this.#resizes.observe(this);
    // A lens further down an article loads nothing until it comes near, and one that is scrolled away rests.
    this.#visibility = new IntersectionObserver(
      (entries) => {
        this.#near = entries.at(-1)?.isIntersecting ?? false;
        this.#wakeOrRest();
      },
      { rootMargin: '400px' },
    );
    this.#visibility.observe(this);
    document.addEventListener('visibilitychange', this.#wakeOrRest);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.removeEventListener('keydown', this.#pressed);
    this.#resizes?.disconnect();
    this.#visibility?.disconnect();
    document.removeEventListener('visibilitychange', this.#wakeOrRest);
    this.#near = false;
    clearTimeout(this.#rendering);
    this.#session.close();
  }

  readonly #wakeOrRest = (): void => {
    if (this.#near && !document.hidden) this.#session.wake();
    else this.#session.rest();
  };

  readonly #pressed = (event: KeyboardEvent): void => {
    const target = event.composedPath()[0];
    const typing =
      target instanceof HTMLTextAreaElement || (target instanceof HTMLInputElement && target.type === 'number');
    if (typing || event.isComposing || !(event.ctrlKey || event.metaKey) || event.altKey) return;
    const key = event.key.toLowerCase();
    const redoes = key === 'y' || (key === 'z' && event.shiftKey);
    if (key !== 'z' && !redoes) return;
    event.preventDefault();
    this.change(redoes ? redo : undo);
    this.say(translator(this.language)(redoes ? 'status.redone' : 'status.undone'));
  };

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has('controls')) this.#checkControls();
    // Not earlier: the page may still say its language or its text in the same script that made the lens.
    if (this.hasUpdated) return;
    const own = this.#given.text === undefined;
    const base = own ? withExample(defaultState, firstExample(this.language)) : { ...defaultState, query: null };
    this.#state = { ...base, ...this.#given };
  }

  protected override updated(_changed: PropertyValues): void {
    const { answer } = this.#session;
    if (answer === null || answer === this.#told) return;
    this.#told = answer;
    this.#dispatch('multihead-answer', { answer });
    this.#measure(answer);
  }

  /** From the oldest change that this picture is the first to show, to the end of the frame that shows it. */
  #measure(answer: Answer): void {
    const since = this.#changedAt;
    this.#changedAt = null;
    if (since === null) return;
    afterPaint(() => {
      const shown = performance.now();
      this.#latency = shown - since;
      this.#drawTime = shown - answer.arrived;
      this.#renderIn(patience);
    });
  }

  /* -------------------------------------------------------------------------------------------------- Render */

  #context(): LensContext {
    const { answer, model, overview, status } = this.#session;
    const drawing = this.#draw(answer, this.#state);
    const pointed = pointedCell(drawing, this.#pointer, this.#state.query);
    const t = translator(this.language);
    return {
      ...drawing,
      state: this.#state,
      model,
      answer,
      overview,
      status,
      pointed,
      row: shownRow(drawing, pointed, this.#state.query),
      message: this.#status(t),
      latency: this.#latency,
      drawTime: this.#drawTime,
      runTimes: this.#runTimes,
      narrow: this.#narrow,
      explored: this.#explored,
      composing: this.#composing,
      adding: this.#adding,
      chipsFrom: this.#chipsFrom,
      t,
      words: this.words,
      set: (change) => this.change(change),
      start: (change) => {
        this.#session.startText();
        this.change(change);
      },
      say: (message) => this.say(message),
      retry: () => this.#session.retry(),
      compose: (on) => {
        this.#composing = on;
        this.requestUpdate();
      },
      showChips: (from) => {
        this.#chipsFrom = from;
        this.requestUpdate();
      },
      setAdding: (on) => {
        this.#adding = on;
        this.requestUpdate();
      },
      stroke: (done) => {
        const name = `stroke-${this.#strokes}`;
        if (done) this.#strokes++;
        return name;
      },
      point: (cell) => {
        this.#pointer = cell && { query: cell.query, key: cell.key, index: drawing.maps.indexOf(cell.map) };
        this.#explored = true;
        this.requestUpdate();
      },
    };
  }

  #checkControls(): void {
    const known: readonly string[] = ['all', 'none', ...lensControls];
    for (const name of this.controls.split(/\s+/))
      if (!known.includes(name)) this.#complain('controls', name, `all, none, or a list of ${lensControls.join(' ')}`);
  }

  #has(control: LensControl): boolean {
    return this.controls === 'all' || this.controls.split(/\s+/).includes(control);
  }

  protected override render(): TemplateResult {
    const lens = this.#context();
    const panels = (
      [
        ['mask', maskPanel],
        ['arithmetic', arithmetic],
        ['reading', reading],
        ['output', output],
      ] as const
    ).filter(([name]) => this.#has(name));
    const names: readonly Tab[] = [
      ...panels.map(([name]) => name),
      ...(this.#has('entropy') ? (['entropy'] as const) : []),
    ];
    const tab = names.includes(this.#tab) ? this.#tab : (names[0] ?? null);
    return html`
      <div class="lens" lang=${languageTag(this.language)} data-tab=${tab ?? nothing}>
        ${this.#has('sentence') ? sentence(lens) : nothing} ${this.#has('heads') ? heads(lens) : nothing} ${stage(lens)}
        ${this.#tabs(lens, names, tab)}
        ${panels.length > 0 ? html`<div class="panels">${panels.map(([, panel]) => panel(lens))}</div>` : nothing}
        ${this.#has('entropy') ? entropy(lens) : nothing} ${this.#has('proof') ? proof(lens) : nothing}
      </div>
    `;
  }

  /** Only the narrow layout shows them: one panel at a time. */
  #tabs({ t }: LensContext, names: readonly Tab[], chosen: Tab | null): TemplateResult | typeof nothing {
    if (names.length < 2) return nothing;
    const choose = (name: Tab) => {
      this.#tab = name;
      this.requestUpdate();
    };
    return html`<div class="tabs" role="group">
      ${names.map((name) => html`<button aria-pressed=${name === chosen} @click=${() => choose(name)}>${t(name)}</button>`)}
    </div>`;
  }

  #status(t: Translate): string {
    const { status } = this.#session;
    if (status.kind === 'loading') return loadingText({ t }, status);
    if (status.kind === 'failed') return t(problemOf(status.error).title);
    return this.#notice.text;
  }
}

/** The element around this one, out of shadow trees too. */
function outer(element: Element): Element | null {
  if (element.parentElement) return element.parentElement;
  const root = element.getRootNode();
  return root instanceof ShadowRoot ? root.host : null;
}
