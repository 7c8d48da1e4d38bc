/**
 * An encoder-decoder that translates, token by token. A look at it is one pass over the source and over all that is
 * written: every head's weights, and at each place what could have been written there.
 */
import type { Engine } from '../core/engine.js';
import { MultiheadError } from '../core/errors.js';
import { ModelTokenizer } from '../core/tokenizer.js';
import type { Build, Token } from '../core/types.js';
import type { Probe } from '../train/probe.js';
import type { NetworkOptions } from '../train/settings.js';
import { Trainer } from '../train/trainer.js';

export interface TranslatorFiles {
  readonly network: NetworkOptions;
  /** A safetensors file. */
  readonly weights: Uint8Array;
  /** tokenizer.json, which frames a text by a start and an end token. */
  readonly tokenizer: Uint8Array;
}

/** What is written so far: tokens, or a text that makes them. */
export type Written = { readonly ids: readonly number[] } | { readonly text: string };

export interface Candidate {
  readonly id: number;
  readonly text: string;
  readonly special: boolean;
  /** Begins a word; otherwise it goes on with the one before it. */
  readonly wordStart: boolean;
  readonly probability: number;
}

/** The end of a text, which has no room. */
export interface Surplus {
  readonly tokens: number;
  readonly text: string;
}

/** Counts: S source tokens, N written tokens, T places of the decoder, V entries of the vocabulary. */
export interface Look {
  /** [S], with the start and the end token. */
  readonly source: readonly Token[];
  /** What the text has more than the model can read; null: nothing. */
  readonly sourceOver: Surplus | null;
  /** Tokens of the source that stand for characters the model does not know. */
  readonly unknown: readonly Token[];
  /** [N], with the end token if it is written. */
  readonly written: readonly Token[];
  /** What was given more than the model can write; null: nothing. */
  readonly writtenOver: Surplus | null;
  /** What `written` spells, without special tokens. */
  readonly text: string;
  /** `text` makes these tokens again: a link may hold it in place of them. */
  readonly respells: boolean;
  /** The end token is written. */
  readonly ended: boolean;
  /** There is no place for another token. */
  readonly full: boolean;
  /** T tokens that the decoder reads, from the start token on: the place that reads one writes the next. */
  readonly read: readonly Token[];
  readonly heads: number;
  readonly layers: number;
  readonly encoderLayers: number;
  /** [layers, H, T, S] */
  readonly cross: Float32Array;
  /** [encoder layers, H, S, S] */
  readonly encoder: Float32Array;
  /** [layers, H, T, T] */
  readonly decoder: Float32Array;
  /** [T], the most probable tokens at each place, best first. */
  readonly candidates: readonly (readonly Candidate[])[];
  /** [N], of each written token at its place. */
  readonly probabilities: Float32Array;
  /** Of this pass over everything. */
  readonly milliseconds: number;
}

const candidateCount = 8;

export class Translator {
  readonly #trainer: Trainer;
  readonly #tokenizer: ModelTokenizer;
  readonly #start: number;
  readonly #end: number;
  /** What a candidate is called, by its id. */
  readonly #names = new Map<number, Omit<Candidate, 'probability'>>();

  private constructor(trainer: Trainer, tokenizer: ModelTokenizer) {
    const { positions, vocabulary } = trainer.network;
    const [start, end] = [tokenizer.startTokens[0], tokenizer.endTokens[0]];
    if (!start || !end)
      throw new MultiheadError('model-format', 'the tokenizer puts no tokens before and after a text');
    if (tokenizer.size > vocabulary) {
      throw new MultiheadError('shape', `the tokenizer has ${tokenizer.size} tokens, the network knows ${vocabulary}`);
    }
    if (positions < 3) throw new MultiheadError('shape', `${positions} positions have no room for a source`);
    this.#trainer = trainer;
    this.#tokenizer = tokenizer;
    this.#start = start.id;
    this.#end = end.id;
  }

  /** @throws {MultiheadError} as `Trainer.load`; `model-format` for the tokenizer, `shape` if it is not the network's. */
  static async create(engine: Engine, { network, weights, tokenizer }: TranslatorFiles): Promise<Translator> {
    const json = JSON.parse(new TextDecoder().decode(tokenizer));
    const trainer = new Trainer(engine, network);
    try {
      trainer.load(weights);
      return new Translator(trainer, await ModelTokenizer.create(json, {}, 'the tokenizer'));
    } catch (error) {
      trainer.dispose();
      throw error;
    }
  }

  get build(): Build {
    return this.#trainer.engine.build;
  }

  /** Tokens that fit into a source and into a translation, each with its start and end token. */
  get positions(): number {
    return this.#trainer.network.positions;
  }

  /**
   * Writes up to `more` tokens to what is written, each time the most probable one, and looks.
   *
   * @throws {MultiheadError} `argument` for ids that are none.
   */
  look(source: string, written: Written, more: number): Look {
    const reads = this.#frame(source.trim());
    const given = this.#given(written);
    const limit = this.#limit(given.map(({ id }) => id));
    const ids = given.slice(0, limit).map(({ id }) => id);
    let seen = this.#pass(reads.tokens, ids);
    for (let made = 0; made < more && this.#canGoOn(ids); made++) {
      ids.push(mostProbable(seen.logits.subarray(-this.#vocabulary)));
      seen = this.#pass(reads.tokens, ids);
    }
    return this.#describe(reads, ids, surplus(given.slice(limit)), seen);
  }

  dispose(): void {
    this.#trainer.dispose();
  }

  get #vocabulary(): number {
    return this.#trainer.network.vocabulary;
  }

  /** The source with the tokens around it; what does not fit between them is left over. */
  #frame(source: string): Framed {
    const { startTokens, endTokens } = this.#tokenizer;
    const all = this.#tokenizer.encode(source);
    const room = this.positions - startTokens.length - endTokens.length;
    return { tokens: [...startTokens, ...all.slice(0, room), ...endTokens], over: surplus(all.slice(room)) };
  }

  #given(written: Written): readonly Token[] {
    if ('text' in written) return this.#tokenizer.encode(written.text.trim());
    const strange = written.ids.find((id) => !(Number.isInteger(id) && id >= 0 && id < this.#tokenizer.size));
    if (strange === undefined) return this.#tokenizer.fromIds(written.ids);
    throw new MultiheadError('argument', `${strange} is no token: there are ${this.#tokenizer.size}`, {
      details: { id: strange },
    });
  }

  /** How many of these tokens can be written: up to the first end token, and as many as there are places. */
  #limit(ids: readonly number[]): number {
    const end = ids.indexOf(this.#end);
    return Math.min(this.positions, end < 0 ? ids.length : end + 1);
  }

  #canGoOn(ids: readonly number[]): boolean {
    return ids.length < this.positions && ids.at(-1) !== this.#end;
  }

  /** What the decoder reads: nothing is written after an end token, nor without a place. */
  #readBy(ids: readonly number[]): readonly number[] {
    return [this.#start, ...(this.#canGoOn(ids) ? ids : ids.slice(0, -1))];
  }

  #pass(source: readonly Token[], ids: readonly number[]): Seen {
    const start = performance.now();
    const probe = this.#trainer.probe(
      {
        source: Int32Array.from(source, ({ id }) => id),
        tokens: Int32Array.from(this.#readBy(ids)),
        causal: true,
      },
      { logits: true },
    );
    const { logits, crossAttention: cross, encoderAttention: encoder } = probe;
    if (!logits || !cross || !encoder) {
      throw new MultiheadError('unsupported', 'a translator must be an encoder-decoder');
    }
    return { probe, logits, cross, encoder, milliseconds: performance.now() - start };
  }

  #describe(
    { tokens: source, over: sourceOver }: Framed,
    ids: readonly number[],
    writtenOver: Surplus | null,
    { probe, logits, cross, encoder, milliseconds }: Seen,
  ): Look {
    const { layers, heads, encoderLayers } = this.#trainer.network;
    const written = this.#tokenizer.fromIds(ids);
    const text = spell(written);
    const rows = Array.from({ length: probe.length }, (_, row) =>
      softmax(logits.subarray(row * this.#vocabulary, (row + 1) * this.#vocabulary)),
    );
    const plain = ids.filter((id) => id !== this.#end);
    const again = this.#tokenizer.encode(text);
    return {
      source,
      sourceOver,
      unknown: source.filter(({ id, special }) => !special && this.#name(id).special),
      written,
      writtenOver,
      text,
      respells: again.length === plain.length && again.every(({ id }, i) => id === plain[i]),
      ended: ids.at(-1) === this.#end,
      full: ids.length === this.positions,
      read: this.#tokenizer.fromIds(this.#readBy(ids)),
      heads,
      layers,
      encoderLayers,
      cross,
      encoder,
      decoder: probe.attention,
      candidates: rows.map((row) => this.#candidates(row)),
      probabilities: Float32Array.from(ids, (id, i) => rows[i]?.[id] ?? 0),
      milliseconds,
    };
  }

  #candidates(probabilities: Float32Array): readonly Candidate[] {
    return largest(probabilities, candidateCount).map((id) => ({
      ...this.#name(id),
      probability: probabilities[id] ?? 0,
    }));
  }

  #name(id: number): Omit<Candidate, 'probability'> {
    const known = this.#names.get(id);
    if (known) return known;
    // Whether a token begins a word shows behind another one.
    const before = this.#tokenizer.encode('a').map((token) => token.id);
    const token = this.#tokenizer.fromIds([...before, id]).at(-1);
    const name = {
      id,
      text: this.#tokenizer.label(id),
      special: token?.special ?? false,
      wordStart: token?.wordStart ?? true,
    };
    this.#names.set(id, name);
    return name;
  }
}

interface Framed {
  readonly tokens: readonly Token[];
  readonly over: Surplus | null;
}

interface Seen {
  readonly probe: Probe;
  readonly logits: Float32Array;
  readonly cross: Float32Array;
  readonly encoder: Float32Array;
  readonly milliseconds: number;
}

function surplus(tokens: readonly Token[]): Surplus | null {
  const start = tokens[0]?.start ?? 0;
  const moved = tokens.map((token) => ({ ...token, start: token.start - start, end: token.end - start }));
  return tokens.length === 0 ? null : { tokens: tokens.length, text: spell(moved) };
}

/** The text of tokens whose spans lie in it; special ones stand for none. */
function spell(tokens: readonly Token[]): string {
  let text = '';
  let reached = 0;
  for (const token of tokens.filter(({ special }) => !special)) {
    text += ' '.repeat(Math.max(0, token.start - reached));
    // Tokens that meet inside a character both cover it.
    if (token.end > reached) text += token.text.slice(Math.max(0, reached - token.start));
    reached = Math.max(reached, token.end);
  }
  return text;
}

function mostProbable(logits: Float32Array): number {
  return logits.reduce((best, logit, id) => (logit > (logits[best] ?? 0) ? id : best), 0);
}

function softmax(logits: Float32Array): Float32Array {
  const most = logits[mostProbable(logits)] ?? 0;
  const powers = logits.map((logit) => Math.exp(logit - most));
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
}

/** Places of the largest values, largest first. */
function largest(values: Float32Array, count: number): readonly number[] {
  const places: number[] = [];
  values.forEach((value, place) => {
    if (places.length === count && value <= (values[places.at(-1) ?? 0] ?? 0)) return;
    const before = places.findIndex((other) => value > (values[other] ?? 0));
    places.splice(before < 0 ? places.length : before, 0, place);
    places.length = Math.min(places.length, count);
  });
  return places;
}
