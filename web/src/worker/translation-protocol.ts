/** What the page and the worker that translates say to each other, over comlink. */
import type { Build } from '../core/types.js';
import type { Look, TranslatorFiles, Written } from '../study/translator.js';
import type { Outcome } from './protocol.js';

export interface TranslatorInfo {
  readonly build: Build;
  /** Tokens that fit into a source and into a translation, each with its start and end token. */
  readonly positions: number;
}

export interface TranslationApi {
  /** Answers as soon as the worker's script runs. */
  hello(): void;
  /** Takes a model; one that was there before is gone. */
  loadTranslator(files: TranslatorFiles): Promise<Outcome<TranslatorInfo>>;
  /** See `Translator.look`. */
  look(source: string, written: Written, more: number): Promise<Outcome<Look>>;
}
