/**
 * Text of tokens in a picture: what is invisible made visible, what is too long cut at whole characters, and which
 * scripts stand upright when a label is turned. Pure; the width of text comes in as a function.
 */
import type { PictureToken } from './types.js';

/** Width of a text in CSS pixels. */
export type Measure = (text: string) => number;

const ELLIPSIS = '…';
const INVISIBLE: Readonly<Record<string, string>> = { ' ': '␣', '\u00a0': '␣', '\n': '⏎', '\r': '⏎', '\t': '⇥' };

/** A token's text for display; white space and the empty token get a visible sign. */
export function tokenText(token: PictureToken | undefined): string {
  const text = token?.text ?? '';
  if (text === '') return '∅';
  if (text.trim() === '') return [...text].map((sign) => INVISIBLE[sign] ?? '␣').join('');
  return text.replace(/[\n\r\t]/g, (sign) => INVISIBLE[sign] as string).trim();
}

const segmenter = typeof Intl.Segmenter === 'function' ? new Intl.Segmenter(undefined) : undefined;

/** Text in which every code unit is a character, and none stands upright; and the same of common Chinese. */
const PLAIN = /^[ -~]*$/;
const PLAIN_UPRIGHT = /^[\u3001-\u3029\u4e00-\u9fff\uff01-\uff5e]+$/;

/** User-perceived characters: a combined emoji or an accented letter is one. */
export function characters(text: string): string[] {
  // The segmenter is slow, and nearly every token is plain.
  if (!segmenter || PLAIN.test(text) || PLAIN_UPRIGHT.test(text)) return [...text];
  return Array.from(segmenter.segment(text), (part) => part.segment);
}

/** The longest beginning of a text that fits with an ellipsis, or the text itself where it fits. */
export function ellipsise(text: string, width: number, measure: Measure): string {
  if (measure(text) <= width) return text;
  const signs = characters(text);
  let fits = 0;
  let tooLong = signs.length;
  while (tooLong - fits > 1) {
    const middle = (fits + tooLong) >> 1;
    if (measure(signs.slice(0, middle).join('') + ELLIPSIS) <= width) fits = middle;
    else tooLong = middle;
  }
  return signs.slice(0, Math.max(1, fits)).join('') + ELLIPSIS;
}

const UPRIGHT_SCRIPTS =
  /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}|\p{Script=Bopomofo}|[\u3000-\u303f\uff00-\uffef“”‘’…—·]/u;
const EMOJI = /\p{Extended_Pictographic}|\p{Regional_Indicator}/u;

/** True for text whose characters stay upright when a line is set vertically: Chinese, Japanese, Korean, emoji. */
export function isUpright(text: string): boolean {
  if (PLAIN.test(text)) return false;
  return PLAIN_UPRIGHT.test(text) || characters(text).every((sign) => UPRIGHT_SCRIPTS.test(sign) || EMOJI.test(sign));
}

/**
 * A rough width without a canvas, for exports made outside a browser: a full em for upright scripts, else 0.58 em,
 * the mean advance of system sans-serif fonts.
 */
export function estimateWidth(fontSize: number): Measure {
  return (text) => characters(text).reduce((sum, sign) => sum + (isUpright(sign) ? 1 : 0.58) * fontSize, 0);
}
