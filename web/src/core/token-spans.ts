/**
 * Which part of the text each token covers.
 *
 * The tokenizer library gives no offsets, and a token's own string is not the text: lower-cased, normalised, with a mark
 * for a space, as bytes, or unknown. So the characters of the tokens are laid along those of the text.
 */

/** A stretch of UTF-16 units. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** One character that tokens stand for; with byte-level tokens, several tokens can share one. */
export interface SurfaceChar {
  /** A code point; `undefined` where it is not known which, and how many. */
  readonly char: string | undefined;
  readonly firstToken: number;
  readonly lastToken: number;
}

interface TextChar {
  readonly char: string;
  readonly grapheme: number;
}

/** How far to look for a character after some that no token stands for. */
const LOOK_AHEAD = 16;
/** Characters that must agree where an unknown token ends. */
const ANCHOR_LENGTH = 4;

/**
 * The span of each of `tokenCount` tokens, made of whole graphemes, without leading white space unless there is nothing
 * else. Tokens that meet inside a grapheme both cover it. A token of which nothing is in the text (a space put in before
 * it, say) has an empty span where it stands.
 *
 * `normalise` is what the tokenizer does to text; it is applied to one grapheme at a time.
 */
export function findSpans(
  text: string,
  surface: readonly SurfaceChar[],
  tokenCount: number,
  normalise: (text: string) => string,
): Span[] {
  const graphemes = splitGraphemes(text);
  const chars = graphemes.flatMap((span, grapheme) =>
    Array.from(wellFormed(normalise(text.slice(span.start, span.end))), (char) => ({ char, grapheme })),
  );
  const covered = align(surface, chars, tokenCount);
  let position = 0;
  return covered.map((range) => {
    if (!range) return { start: position, end: position };
    const inside = graphemes.slice(range.first, range.last + 1);
    const span = withoutLeadingSpace(text, inside);
    position = span.end;
    return span;
  });
}

/** Half of a surrogate pair by itself is no character, and becomes U+FFFD, as UTF-8 encoders make it. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\ufffd');
}

/** What a reader takes for one character: letters with their accents, emoji with their parts. */
export function splitGraphemes(text: string): Span[] {
  return Array.from(segments(text), ({ index, segment }) => ({ start: index, end: index + segment.length }));
}

/** By the host where it can (Firefox before 125 cannot), else by the rules that matter most. */
function segments(text: string): Iterable<{ readonly index: number; readonly segment: string }> {
  if ('Segmenter' in Intl) return new Intl.Segmenter(undefined, { granularity: 'grapheme' }).segment(text);
  return Array.from(text.matchAll(GRAPHEME), (match) => ({ index: match.index, segment: match[0] }));
}

/** A line end, a flag, or a character with its marks, skin tone, and what a joiner joins to it. */
const GRAPHEME = /\r\n|\p{RI}\p{RI}|.(?:[\p{M}\p{Emoji_Modifier}\u200d]|(?<=\u200d).)*/gsu;

function withoutLeadingSpace(text: string, graphemes: readonly Span[]): Span {
  const visible = graphemes.find((span) => !isSpace(text.slice(span.start, span.end)));
  const start = visible ?? graphemes[0];
  return { start: start?.start ?? 0, end: graphemes.at(-1)?.end ?? 0 };
}

interface Range {
  first: number;
  last: number;
}

/** The graphemes of each token, first to last. */
function align(surface: readonly SurfaceChar[], text: readonly TextChar[], tokenCount: number): (Range | undefined)[] {
  const ranges = new Array<Range | undefined>(tokenCount).fill(undefined);
  const cover = (token: number, grapheme: number): void => {
    const range = ranges[token];
    if (range) range.last = grapheme;
    else ranges[token] = { first: grapheme, last: grapheme };
  };
  let at = 0;
  for (let i = 0; i < surface.length; i++) {
    const item = surface[i] as SurfaceChar;
    if (item.char === undefined) {
      const after = surface.findIndex((next, k) => k > i && next.char !== undefined);
      const unknown = surface.slice(i, after < 0 ? undefined : after);
      const end = after < 0 ? text.length : findAnchor(surface, after, text, at + unknown.length);
      share(unknown, text.slice(at, end), cover);
      at = end;
      i += unknown.length - 1;
      continue;
    }
    const found = findChar(item.char, text, at);
    const grapheme = text[found]?.grapheme;
    if (grapheme === undefined) continue;
    for (let token = item.firstToken; token <= item.lastToken; token++) cover(token, grapheme);
    at = found + 1;
  }
  return ranges;
}

/** Where `char` is at or after `at`, or -1. White space in the text may have been dropped, and a space put in. */
function findChar(char: string, text: readonly TextChar[], at: number): number {
  if (same(text[at]?.char, char)) return at;
  if (isSpace(char)) return -1;
  let from = at;
  while (from < text.length && isSpace(text[from]?.char ?? '')) from++;
  const near = text.slice(from, from + LOOK_AHEAD).findIndex((other) => same(other.char, char));
  return near < 0 ? -1 : from + near;
}

/** Where the known characters from `surface[known]` on are next seen in the text, at or after `from`. */
function findAnchor(surface: readonly SurfaceChar[], known: number, text: readonly TextChar[], from: number): number {
  const anchor: string[] = [];
  for (const item of surface.slice(known, known + ANCHOR_LENGTH)) {
    if (item.char === undefined) break;
    anchor.push(item.char);
  }
  for (let at = from; at < text.length; at++) {
    if (startsWith(text, at, anchor)) return at;
  }
  return text.length;
}

function startsWith(text: readonly TextChar[], at: number, anchor: readonly string[]): boolean {
  let position = at;
  for (const char of anchor) {
    if (same(text[position]?.char, char)) position++;
    else if (!isSpace(char)) return false;
  }
  return position > at;
}

/** Gives each unknown token a word or a character of the stretch if their numbers agree, else all of it to all. */
function share(
  unknown: readonly SurfaceChar[],
  stretch: readonly TextChar[],
  cover: (token: number, grapheme: number) => void,
): void {
  const words = splitWords(stretch);
  const visible = words.flat();
  const parts = words.length === unknown.length ? words : visible.map((char) => [char]);
  unknown.forEach((item, i) => {
    const part = parts.length === unknown.length ? parts[i] : visible;
    for (const char of part ?? []) cover(item.firstToken, char.grapheme);
  });
}

function splitWords(chars: readonly TextChar[]): TextChar[][] {
  const words: TextChar[][] = [];
  let inWord = false;
  for (const char of chars) {
    if (isSpace(char.char)) {
      inWord = false;
      continue;
    }
    if (!inWord) words.push([]);
    words.at(-1)?.push(char);
    inWord = true;
  }
  return words;
}

/** Equal up to case, which normalisers change by context (Σ at the end of a word), and up to the kind of space. */
function same(a: string | undefined, b: string): boolean {
  if (a === undefined) return false;
  return a === b || (isSpace(a) && isSpace(b)) || a.toUpperCase() === b.toUpperCase();
}

/** White space only, or the mark ▁ that some tokenizers write for it. */
export function isSpace(text: string): boolean {
  return /^[\s\u2581]+$/u.test(text);
}

/** Scripts written without spaces, where any token begins a word; with their punctuation, and emoji. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Bopomofo}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Extended_Pictographic}\u3000-\u303f\uff00-\uffef]/u;

/** Whether a word begins at `start`: at the start of the text, after white space, or next to an unspaced script. */
export function beginsWord(text: string, start: number): boolean {
  const before = Array.from(text.slice(Math.max(0, start - 2), start)).at(-1);
  const first = String.fromCodePoint(text.codePointAt(start) ?? 0x20);
  if (isSpace(first)) return false;
  return before === undefined || isSpace(before) || UNSPACED.test(before) || UNSPACED.test(first);
}
