/** Text to tokens and back, over `@huggingface/tokenizers`, which reads any tokenizer.json. */
import { MultiheadError, messageOf } from './errors.js';
import { beginsWord, findSpans, isSpace, wellFormed } from './token-spans.js';
import { labelOf, type Notation, readNotation, surfaceOf } from './token-surface.js';
import type { Token } from './types.js';

/** What is used of the library's Tokenizer; its own types do not resolve here, for they name files without extensions. */
interface Tokenizer {
  readonly normalizer: { normalize(text: string): string } | null;
  readonly model: { readonly unk_token?: string } | null;
  encode(text: string, options?: { readonly add_special_tokens?: boolean }): { ids: number[]; tokens: string[] };
  token_to_id(token: string): number | undefined;
  id_to_token(id: number): string | undefined;
  get_added_tokens_decoder(): Map<number, { readonly id: number; readonly special: boolean }>;
  get_vocab(): Map<string, number>;
}

/** Entries that stand for a hidden token, in the models that have one. */
const MASK_TOKENS = ['[MASK]', '<mask>'];

export class ModelTokenizer {
  /** Special tokens that the model's format puts before and after a text. */
  readonly startTokens: readonly Token[];
  readonly endTokens: readonly Token[];
  /** Id of the token that hides another, if there is one. */
  readonly maskToken: number | undefined;
  readonly size: number;
  readonly #tokenizer: Tokenizer;
  readonly #notation: Notation;
  readonly #special: ReadonlySet<number>;

  private constructor(tokenizer: Tokenizer, decoder: unknown) {
    this.#tokenizer = tokenizer;
    this.#notation = readNotation(decoder);
    const added = [...tokenizer.get_added_tokens_decoder().values()];
    this.#special = new Set(added.filter((token) => token.special).map((token) => token.id));
    this.maskToken = MASK_TOKENS.map((name) => tokenizer.token_to_id(name)).find((id) => id !== undefined);
    this.size = tokenizer.get_vocab().size;
    const frame = readFrame(tokenizer);
    this.startTokens = frame.before.map((id) => this.specialToken(id));
    this.endTokens = frame.after.map((id) => this.specialToken(id));
  }

  /** The code that reads tokenizers, in a file of its own; asked for early, it comes beside the files of the model. */
  static library() {
    return import('@huggingface/tokenizers');
  }

  /**
   * Reads tokenizer.json and, if there is one, tokenizer_config.json, both parsed. `origin` names the file in errors.
   *
   * @throws {MultiheadError} `model-format` if the library cannot read it.
   */
  static async create(json: object, config: object, origin: string): Promise<ModelTokenizer> {
    const library = await ModelTokenizer.library();
    try {
      return new ModelTokenizer(new library.Tokenizer(json, config), (json as { decoder?: unknown }).decoder);
    } catch (thrown) {
      throw new MultiheadError('model-format', `${origin} is not a tokenizer this can read: ${messageOf(thrown)}`, {
        details: { file: origin },
        cause: thrown,
      });
    }
  }

  /** The tokens of a text, without start and end tokens. Spans are in UTF-16 units of `text`. */
  encode(text: string): Token[] {
    const { ids, tokens } = this.#tokenizer.encode(text, { add_special_tokens: false });
    const unknown = this.#tokenizer.model?.unk_token;
    const entries = tokens.map((token) => (token === unknown ? undefined : token));
    return this.#withSpans(text, ids, entries, (part) => this.#normalise(part));
  }

  /** Tokens by their ids. Spans are in the text that the ids spell. */
  fromIds(ids: readonly number[]): Token[] {
    const entries = ids.map((id) => (this.#special.has(id) ? '' : (this.#tokenizer.id_to_token(id) ?? '')));
    const text = surfaceOf(entries, this.#notation)
      .map(({ char }) => char ?? '\ufffd')
      .join('');
    const tokens = this.#withSpans(text, ids, entries, (part) => part);
    return tokens.map((token) =>
      this.#special.has(token.id) ? this.specialToken(token.id, token.start, token.end) : token,
    );
  }

  /** A token that stands for no text, at `start`..`end`. */
  specialToken(id: number, start = 0, end = start): Token {
    return { id, text: this.#tokenizer.id_to_token(id) ?? `#${id}`, start, end, special: true, wordStart: true };
  }

  /** Readable text of one entry. */
  label(id: number): string {
    const entry = this.#tokenizer.id_to_token(id);
    if (entry === undefined) return `#${id}`;
    return this.#special.has(id) ? entry : labelOf(entry, this.#notation);
  }

  #withSpans(
    text: string,
    ids: readonly number[],
    entries: readonly (string | undefined)[],
    normalise: (part: string) => string,
  ): Token[] {
    const spans = findSpans(text, surfaceOf(entries, this.#notation), ids.length, normalise);
    let reached = 0;
    return ids.map((id, i) => {
      const { start, end } = spans[i] ?? { start: reached, end: reached };
      const slice = wellFormed(text.slice(start, end));
      const wordStart = start >= reached && start < end && beginsWord(text, start);
      reached = Math.max(reached, end);
      return {
        id,
        text: slice === '' ? this.label(id) : slice,
        start,
        end,
        special: this.#special.has(id) && slice === this.#tokenizer.id_to_token(id),
        wordStart,
      };
    });
  }

  /** One grapheme. A normaliser may trim or put a space before, which is meant for a whole text. */
  #normalise(grapheme: string): string {
    const { normalizer } = this.#tokenizer;
    if (!normalizer || isSpace(grapheme)) return grapheme;
    return normalizer.normalize(grapheme).replace(/^[\s▁]+/u, '');
  }
}

/** Special tokens before and after a text, found by encoding one with and without them. */
function readFrame(tokenizer: Tokenizer): { readonly before: number[]; readonly after: number[] } {
  const probe = 'a';
  const bare = tokenizer.encode(probe, { add_special_tokens: false }).ids;
  const { ids } = tokenizer.encode(probe);
  const start = ids.findIndex((_, i) => bare.every((id, k) => ids[i + k] === id));
  return { before: ids.slice(0, start), after: ids.slice(start + bare.length) };
}
