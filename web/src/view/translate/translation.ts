/**
 * A sentence and its translation as they are being written: what the page asks of the translator, and what came of it.
 * Knows nothing of the page; whoever owns it is told when something changed.
 */
import type { Look, Written } from '../../study/translator.js';
import type { LoadedTranslator } from './host.js';

export type TranslationStatus =
  | { readonly kind: 'loading'; readonly loaded: number; readonly total: number }
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly error: unknown };

export interface TranslationOwner {
  readonly load: (onProgress: (loaded: number, total: number) => void) => Promise<LoadedTranslator>;
  readonly changed: () => void;
  /** Resolves when the next token may be written, so that each can be seen. */
  readonly pause: () => Promise<void>;
}

/** More than any translation has. */
const untilTheEnd = 10_000;

const nothing: Written = { ids: [] };

export class Translation {
  status: TranslationStatus = { kind: 'loading', loaded: 0, total: 0 };
  /** As typed. */
  text: string;
  /** Of the translation, as typed or as the model wrote it. */
  writtenText = '';
  /** Null without a text, and before the first answer. */
  look: Look | null = null;
  readonly #owner: TranslationOwner;
  #loaded: LoadedTranslator | null = null;
  #closed = false;
  /** What was asked last by the reader; steps go on from it. */
  #wanted: Written;
  /** How many tokens more at the first answer. */
  #first: number;
  /** Questions are answered one after the other. */
  #turn: Promise<void> = Promise.resolve();
  #playing = false;

  /** Begins with what is written, or, if that is null, with a whole translation. */
  constructor(owner: TranslationOwner, text: string, written: Written | null) {
    this.#owner = owner;
    this.text = text;
    this.#wanted = written ?? nothing;
    this.#first = written ? 0 : untilTheEnd;
    if (written && 'text' in written) this.writtenText = written.text;
  }

  async begin(): Promise<void> {
    this.#become({ kind: 'loading', loaded: 0, total: 0 });
    try {
      const loaded = await this.#owner.load((done, total) => {
        if (!this.#closed) this.#become({ kind: 'loading', loaded: done, total });
      });
      if (this.#closed) loaded.host.close(new Error('the translation was closed'));
      else {
        this.#loaded = loaded;
        this.#become({ kind: 'ready' });
        await this.#ask(this.#wanted, this.#first);
        this.#first = 0;
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Tries again what failed; texts are kept. */
  async retry(): Promise<void> {
    this.#loaded?.host.close(new Error('the translator is loaded anew'));
    this.#loaded = null;
    await this.begin();
  }

  get loaded(): LoadedTranslator | null {
    return this.#loaded;
  }

  get playing(): boolean {
    return this.#playing;
  }

  get canGoOn(): boolean {
    return this.look !== null && !this.look.ended && !this.look.full;
  }

  /** Ids of what is written. */
  get ids(): readonly number[] {
    return this.look?.written.map(({ id }) => id) ?? [];
  }

  /** Another sentence; its translation is not begun. */
  setText(text: string): Promise<void> {
    this.text = text;
    this.writtenText = '';
    return this.#edit(nothing);
  }

  /** The reader writes the translation. */
  setWritten(text: string): Promise<void> {
    this.writtenText = text;
    return this.#edit({ text });
  }

  /** Puts a token at a place; what came after it is gone, for it was written after another. */
  force(place: number, id: number): Promise<void> {
    return this.#edit({ ids: [...this.ids.slice(0, place), id] });
  }

  /** Leaves what is written before a place. */
  cut(place: number): Promise<void> {
    return this.#edit({ ids: this.ids.slice(0, place) });
  }

  /** Writes up to `more` tokens, each the most probable one. */
  step(more = 1): Promise<void> {
    return this.#write(more, this.#wanted);
  }

  finish(): Promise<void> {
    this.stop();
    return this.step(untilTheEnd);
  }

  /** Writes token by token until the end; a translation that is finished is written anew. */
  async play(): Promise<void> {
    if (this.#playing) return;
    if (this.look?.ended || this.look?.full) await this.cut(0);
    if (!this.canGoOn) return;
    const wanted = this.#wanted;
    const goesOn = () => this.#playing && wanted === this.#wanted && this.canGoOn;
    this.#playing = true;
    while (goesOn()) {
      await this.#write(1, wanted);
      if (goesOn()) await this.#owner.pause();
    }
    if (wanted === this.#wanted) this.stop();
  }

  stop(): void {
    this.#playing = false;
    this.#tell();
  }

  /** Gives the loaded translator away; this translation is closed. */
  release(): LoadedTranslator | null {
    const loaded = this.status.kind === 'ready' ? this.#loaded : null;
    if (loaded) this.#loaded = null;
    this.close();
    return loaded;
  }

  close(): void {
    this.#closed = true;
    this.#playing = false;
    this.#loaded?.host.close(new Error('the translation was closed'));
  }

  #edit(written: Written): Promise<void> {
    this.#playing = false;
    return this.#ask(written, 0);
  }

  async #ask(written: Written, more: number): Promise<void> {
    const wanted = { ...written };
    this.#wanted = wanted;
    this.#tell();
    await this.#inTurn(wanted, () => this.#answer(wanted, more));
  }

  async #write(more: number, since: Written): Promise<void> {
    await this.#inTurn(since, async () => {
      if (this.canGoOn) await this.#answer({ ids: this.ids }, more);
    });
  }

  /** Work that is worth doing only as long as the reader wants nothing else. */
  #inTurn(wanted: Written, work: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(async () => {
      if (this.#closed || wanted !== this.#wanted) return;
      await work();
      this.#tell();
    });
    return this.#turn;
  }

  async #answer(written: Written, more: number): Promise<void> {
    const { text } = this;
    const wanted = this.#wanted;
    if (text.trim() === '') this.look = null;
    if (text.trim() === '' || !this.#loaded) return;
    try {
      const look = await this.#loaded.host.call((remote) => remote.look(text, written, more));
      if (this.#closed || wanted !== this.#wanted) return;
      this.look = look;
      if (more > 0 || 'ids' in written) this.writtenText = look.text;
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    if (this.#closed) return;
    this.#playing = false;
    this.#become({ kind: 'failed', error });
  }

  #become(status: TranslationStatus): void {
    this.status = status;
    this.#tell();
  }

  #tell(): void {
    if (!this.#closed) this.#owner.changed();
  }
}
