/**
 * Keeps what the engine says in step with the state: one run under way at most, always for the newest state. Knows
 * nothing of the page; whoever owns it is told when something changed.
 *
 * Several lenses may share one model, so that each queues here instead of calling `model.runLatest`, where the request
 * of one would take the place of another's.
 */
import type { Model, ModelInfo, ModelSession, Precision, RunResult, Token } from '../core/types.js';
import { isCausal, isMaskEdited, type Remap, tokenRemap } from './mask.js';
import { type Overview, overviewOf, overviewOptions } from './overview.js';
import { asksAnew, isEdited, isLong, type LensState, runOptions, uneditedState } from './state.js';

export interface LoadedBytes {
  readonly loaded: number;
  /** 0 while unknown. */
  readonly total: number;
}

export type Status =
  | ({ readonly kind: 'loading' } & LoadedBytes)
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly error: unknown };

/** What the engine said of one state. */
export interface Answer {
  readonly state: LensState;
  readonly result: RunResult;
  /** The same text without edits; null when nothing is edited. */
  readonly baseline: RunResult | null;
  /** With int8 layers: the largest difference of an attention weight in `result` from the same run in f32. Else null. */
  readonly roundingError: number | null;
  /** When the result was here, as `performance.now()`. */
  readonly arrived: number;
}

export interface SessionOwner {
  /** The newest state. */
  readonly state: LensState;
  /** Tokens have moved: positions in the owner's state are to follow them, before the run. */
  remap(remap: Remap): void;
  /** Status or answer changed. */
  changed(): void;
}

export interface ModelSupply {
  /** Loads the model, or gives the one that is loaded already. */
  acquire(address: string, precision: Precision, onProgress: (bytes: LoadedBytes) => void): Promise<Model>;
  /** Forgets a model that failed, in every precision, so that the next `acquire` loads it anew. */
  forget(address: string): void;
}

const sameBaseline = (a: LensState, b: LensState): boolean =>
  a.text === b.text &&
  a.mask.preset === b.mask.preset &&
  a.mask.window === b.mask.window &&
  a.mask.prefix === b.mask.prefix &&
  a.replaced === b.replaced;

function largestDifference(a: Float32Array, b: Float32Array): number {
  let largest = 0;
  for (let i = 0; i < a.length; i++) largest = Math.max(largest, Math.abs((a[i] ?? 0) - (b[i] ?? 0)));
  return largest;
}

/** Does the run itself depend on token positions? Then they must follow the text before it, else they may after. */
const hasPositions = ({ mask, replaced }: LensState): boolean => isMaskEdited(mask) || replaced !== null;

/** May a text have so many tokens that it counts as long? Its bytes are the most it can have, and the special ones. */
const mayBeLong = ({ text }: LensState, info: ModelInfo): boolean =>
  isLong(Math.min(3 * text.length + 2, info.positions), info);

/** Are all maps other ones, and not only others chosen of them? */
const asksForAllAnew = (before: LensState, after: LensState): boolean =>
  asksAnew({ ...before, heads: after.heads }, after);

/** Milliseconds without a question after which the small pictures of a long text are worth a run of their own. */
const idleTime = 300;

export class Session {
  status: Status = { kind: 'loading', loaded: 0, total: 0 };
  /** The newest answer; null for an empty text and before the first. */
  answer: Answer | null = null;
  model: Model | null = null;
  /** Of a long text: all heads in little, as they were at some answer not long ago; null for others. */
  overview: Overview | null = null;

  readonly #owner: SessionOwner;
  readonly #supply: ModelSupply;
  #address: string | null = null;
  #precision: Precision = 'f32';
  /** Ids of the tokens that the owner's positions refer to; null when they are to be taken as they are. */
  #tokens: readonly number[] | null = null;
  /** The text they were made of before a run. */
  #tokensOf: string | null = null;
  #baseline: { readonly state: LensState; readonly result: RunResult } | null = null;
  #looking: ReturnType<typeof setTimeout> | undefined;
  #busy = false;
  #stale = false;
  /** What was computed for the last answer, with edits and without, from which the next goes on. */
  #sessions: { readonly model: Model; readonly edited: ModelSession; readonly unedited: ModelSession } | null = null;
  #closed = false;
  #resting = false;

  constructor(owner: SessionOwner, supply: ModelSupply) {
    this.#owner = owner;
    this.#supply = supply;
  }

  /** The owner's state has changed. A model that could not be loaded waits for `retry`, or for another model. */
  refresh(): void {
    this.#stale = true;
    clearTimeout(this.#looking);
    const { model, precision } = this.#owner.state;
    const asked = this.#address === model && this.#precision === precision;
    const failed = this.status.kind === 'failed' && this.model === null && asked;
    if (!failed && !this.#busy && !this.#closed && !this.#resting) void this.#work();
  }

  /** The next text is not a change of the old one: positions in the state are meant for it as they stand. */
  startText(): void {
    this.#tokens = null;
  }

  /** After a failure: loads what failed again. */
  retry(): void {
    if (this.#address !== null) this.#supply.forget(this.#address);
    this.#address = null;
    this.model = null;
    this.refresh();
  }

  /** No more calls to the owner. The model stays loaded for others. */
  close(): void {
    clearTimeout(this.#looking);
    this.#closed = true;
    this.#resting = true;
    this.#endSessions();
  }

  /** Nobody sees the answer: what is asked from now on waits for `wake`. */
  rest(): void {
    this.#resting = true;
  }

  /** Starts, or goes on after `rest` or `close`, with what was asked meanwhile. */
  wake(): void {
    if (!this.#resting) return;
    this.#resting = false;
    // Nothing has been asked yet, or what was asked is forgotten.
    const first = this.#closed || this.status.kind === 'loading';
    this.#closed = false;
    if (first || this.#stale) this.refresh();
    else this.#lookOverSoon();
  }

  /** Does one thing first, then answers until nothing is asked any more. */
  async #work(first?: () => Promise<void>): Promise<void> {
    this.#busy = true;
    try {
      await first?.();
      while (this.#stale && !this.#closed && !this.#resting) await this.#answer();
    } catch (error) {
      this.#set({ kind: 'failed', error });
    } finally {
      this.#busy = false;
      this.#lookOverSoon();
    }
  }

  async #answer(): Promise<void> {
    const model = await this.#loaded(this.#owner.state);
    if (this.#owner.state.text.trim() === '') {
      this.#stale = false;
      this.answer = null;
      this.overview = null;
      this.#set({ kind: 'ready' });
      return;
    }
    const needsSize = hasPositions(this.#owner.state) || mayBeLong(this.#owner.state, model.info);
    if (needsSize && !(await this.#tokenise(model))) return;
    const { state } = this.#owner;
    this.#stale = false;
    const size = needsSize ? (this.#tokens?.length ?? 0) : 0;
    const result = await this.#sessionsOn(model).edited.run(state.text, runOptions(state, size, model.info));
    if (!hasPositions(state) && this.#reads(state)) this.#follow(result.tokens);
    const baseline = isEdited(state) ? await this.#unedited(model, state, size) : null;
    const roundingError = await this.#roundingError(state, size, result);
    this.answer = { state, result, baseline, roundingError, arrived: performance.now() };
    if (!result.chosenAttention) this.overview = null;
    this.#set({ kind: 'ready' });
  }

  /** Asks for all heads of a long text in little, when nothing else is asked for a while. */
  #lookOverSoon(): void {
    clearTimeout(this.#looking);
    const { answer } = this;
    if (!answer?.result.chosenAttention) return;
    if (this.overview && !asksForAllAnew(this.overview.of, answer.state)) return;
    this.#looking = setTimeout(() => {
      if (!this.#busy && !this.#closed && !this.#resting) void this.#work(() => this.#lookOver(answer));
    }, idleTime);
  }

  async #lookOver({ state, result: { tokens } }: Answer): Promise<void> {
    const { model } = this;
    if (!model) return;
    const size = tokens.length;
    const options = overviewOptions(runOptions(state, size, model.info), size);
    const result = await this.#sessionsOn(model).edited.run(state.text, options);
    this.overview = overviewOf(result, state);
    this.#set(this.status);
  }

  async #loaded({ model: address, precision }: LensState): Promise<Model> {
    const wanted = () => this.#address === address && this.#precision === precision;
    if (this.model !== null && wanted()) return this.model;
    this.#address = address;
    this.#precision = precision;
    this.model = null;
    this.#baseline = null;
    this.overview = null;
    this.#set({ kind: 'loading', loaded: 0, total: 0 });
    this.model = await this.#supply.acquire(address, precision, (bytes) => {
      if (wanted() && this.model === null) this.#set({ kind: 'loading', ...bytes });
    });
    return this.model;
  }

  #sessionsOn(model: Model) {
    if (this.#sessions?.model !== model) {
      this.#endSessions();
      this.#sessions = { model, edited: model.openSession(), unedited: model.openSession() };
    }
    return this.#sessions;
  }

  #endSessions(): void {
    this.#sessions?.edited.dispose();
    this.#sessions?.unedited.dispose();
    this.#sessions = null;
  }

  /** Learns the tokens before the run. False if the text has changed meanwhile. */
  async #tokenise(model: Model): Promise<boolean> {
    const { state } = this.#owner;
    const endToken = !isCausal(state.mask);
    const key = `${endToken} ${state.text}`;
    if (this.#tokens !== null && this.#tokensOf === key) return true;
    const tokens = await model.tokenize(state.text, { endToken });
    if (!this.#reads(state)) return false;
    this.#follow(tokens.slice(0, model.info.positions));
    this.#tokensOf = key;
    return true;
  }

  /** Are these still the owner's tokens? */
  #reads({ text, mask }: LensState): boolean {
    const { state } = this.#owner;
    return state.text === text && isCausal(state.mask) === isCausal(mask);
  }

  /** Lets the owner's positions follow their tokens. */
  #follow(tokens: readonly Token[]): void {
    const ids = tokens.map((token) => token.id);
    const fits: Remap = (position) => (position < ids.length ? position : null);
    this.#owner.remap(this.#tokens ? tokenRemap(this.#tokens, ids) : fits);
    this.#tokens = ids;
    this.#tokensOf = null;
  }

  async #unedited(model: Model, state: LensState, size: number): Promise<RunResult> {
    const known = this.#baseline;
    const hasMaps = !known?.result.chosenAttention || known.state.heads === state.heads;
    if (known && hasMaps && sameBaseline(known.state, state)) return known.result;
    const unedited = uneditedState(state);
    const options = { ...runOptions(unedited, size, model.info), stages: false };
    const result = await this.#sessionsOn(model).unedited.run(state.text, options);
    this.#baseline = { state: unedited, result };
    return result;
  }

  /** Runs the same once more in f32, if the layers were rounded. */
  async #roundingError(state: LensState, size: number, result: RunResult): Promise<number | null> {
    if (state.precision === 'f32') return null;
    const model = await this.#supply.acquire(state.model, 'f32', () => {});
    const exact = await model.run(state.text, runOptions(state, size, model.info));
    return largestDifference(result.attention, exact.attention);
  }

  #set(status: Status): void {
    this.status = status;
    if (!this.#closed) this.#owner.changed();
  }
}
