/** From what a caller gives to `run`, to the tokens that the model runs. */
import { MultiheadError } from './errors.js';
import type { ModelTokenizer } from './tokenizer.js';
import type { RunOptions, Token } from './types.js';

export interface ModelInput {
  readonly tokens: readonly Token[];
  readonly overflow: readonly Token[];
}

/** What the model allows. */
export interface InputLimits {
  /** Most tokens. */
  readonly positions: number;
  readonly vocabulary: number;
  readonly maskToken: number | undefined;
}

/**
 * Tokens of a text in their frame of start and end tokens, or of ids as they are.
 *
 * @throws {MultiheadError} `too-long` unless `tooLong` is `truncate`; `argument` for an id or position outside its range,
 * or an option that does not go with ids; `unsupported` for an end or mask token that the model does not have.
 */
export function readInput(
  input: string | readonly number[],
  options: RunOptions,
  tokenizer: ModelTokenizer,
  limits: InputLimits,
): ModelInput {
  const whole =
    typeof input === 'string' ? fromText(input, options, tokenizer) : fromIds(input, options, tokenizer, limits);
  const { tokens, overflow } = fitInto(whole, options.tooLong ?? 'error', limits.positions);
  if (tokens.length === 0) throw new MultiheadError('argument', 'there are no tokens to run: the input is empty');
  return { tokens: hideTokens(tokens, options.maskTokens ?? [], tokenizer, limits), overflow };
}

/** All tokens of a text. `endToken` undefined: as the model's tokenizer does. */
export function frameText(text: string, endToken: boolean | undefined, tokenizer: ModelTokenizer): Framed {
  if (endToken && tokenizer.endTokens.length === 0) {
    throw new MultiheadError('unsupported', 'endToken is true, and the tokenizer of this model adds no end token');
  }
  const end = endToken === false ? [] : tokenizer.endTokens;
  return {
    start: tokenizer.startTokens,
    content: tokenizer.encode(text),
    end: end.map((token) => ({ ...token, start: text.length, end: text.length })),
  };
}

/** Tokens that the text is made of, between those that the model's format adds. */
export interface Framed {
  readonly start: readonly Token[];
  readonly content: readonly Token[];
  readonly end: readonly Token[];
}

function fromText(text: string, options: RunOptions, tokenizer: ModelTokenizer): Framed {
  const closed = options.endToken ?? (options.mask?.causal ? false : undefined);
  return frameText(text, closed, tokenizer);
}

/** Ids as they are, without a frame. Throws as `readInput`. */
export function fromIds(
  ids: readonly number[],
  options: Pick<RunOptions, 'endToken' | 'maskTokens'>,
  tokenizer: ModelTokenizer,
  { vocabulary }: InputLimits,
): Framed {
  for (const option of ['endToken', 'maskTokens'] as const) {
    if (options[option] === undefined) continue;
    throw new MultiheadError('argument', `${option} is for text input: put the token's id among the ids instead`);
  }
  ids.forEach((id, i) => {
    requireIndex(`token id ${i}`, id, vocabulary);
  });
  return { start: [], content: tokenizer.fromIds(ids), end: [] };
}

function fitInto({ start, content, end }: Framed, tooLong: 'error' | 'truncate', positions: number): ModelInput {
  const room = positions - start.length - end.length;
  const over = content.length - room;
  if (over > 0 && tooLong === 'error') {
    throw new MultiheadError(
      'too-long',
      `the input is ${positions + over} tokens and the model takes ${positions}: shorten it by ${over}, or use tooLong: 'truncate'`,
      { details: { tokens: positions + over, limit: positions } },
    );
  }
  return { tokens: [...start, ...content.slice(0, room), ...end], overflow: content.slice(room) };
}

function hideTokens(
  tokens: readonly Token[],
  positions: readonly number[],
  tokenizer: ModelTokenizer,
  { maskToken }: InputLimits,
): readonly Token[] {
  if (positions.length === 0) return tokens;
  if (maskToken === undefined) {
    throw new MultiheadError('unsupported', 'maskTokens: this model has no mask token');
  }
  for (const position of positions) requireIndex('a position of maskTokens', position, tokens.length);
  return tokens.map((token, i) =>
    positions.includes(i)
      ? { ...tokenizer.specialToken(maskToken, token.start, token.end), wordStart: token.wordStart }
      : token,
  );
}

/** Throws code `argument` unless `value` is a whole number from 0 and below `end`. */
export function requireIndex(name: string, value: number, end: number): void {
  if (Number.isInteger(value) && value >= 0 && value < end) return;
  throw new MultiheadError('argument', `${name} is ${value}: it must be a whole number from 0 to ${end - 1}`, {
    details: { value, end },
  });
}
