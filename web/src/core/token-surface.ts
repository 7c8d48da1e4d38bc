/** The characters that vocabulary entries stand for, in the notations of the common tokenizers. */
import type { SurfaceChar } from './token-spans.js';

/** How a tokenizer's vocabulary is written, read from the `decoder` of its tokenizer.json. */
export interface Notation {
  /** GPT-2's: one printable character for each byte. */
  readonly byteLevel: boolean;
  /** WordPiece's mark of a token that continues a word, as `##`; or ''. */
  readonly continuation: string;
  /** CLIP's mark of a token that ends a word, as `</w>`; or ''. */
  readonly wordEnd: string;
}

interface DecoderConfig {
  readonly type?: string;
  readonly prefix?: string;
  readonly suffix?: string;
  readonly decoders?: readonly DecoderConfig[];
}

export function readNotation(decoder: unknown): Notation {
  const steps = flatSteps((decoder ?? {}) as DecoderConfig);
  const step = (type: string) => steps.find((candidate) => candidate.type === type);
  return {
    byteLevel: step('ByteLevel') !== undefined,
    continuation: step('WordPiece')?.prefix ?? '',
    wordEnd: step('BPEDecoder')?.suffix ?? '',
  };
}

function flatSteps(decoder: DecoderConfig): DecoderConfig[] {
  return [decoder, ...(decoder.decoders ?? []).flatMap(flatSteps)];
}

/**
 * The characters of a sequence of entries; `undefined` stands for an unknown one. Bytes that make no character (a token
 * can end inside one) are unknown too.
 */
export function surfaceOf(entries: readonly (string | undefined)[], notation: Notation): SurfaceChar[] {
  const chars: SurfaceChar[] = [];
  let bytes: { readonly byte: number; readonly token: number }[] = [];
  const flush = (): void => {
    chars.push(...decodeUtf8(bytes));
    bytes = [];
  };
  entries.forEach((entry, token) => {
    if (entry === undefined) {
      flush();
      chars.push({ char: undefined, firstToken: token, lastToken: token });
    } else {
      for (const byte of bytesOf(entry, notation)) bytes.push({ byte, token });
    }
  });
  flush();
  return chars;
}

/** What to show for an entry on its own: its text without a leading space, spaces visible, stray bytes in hexadecimal. */
export function labelOf(entry: string, notation: Notation): string {
  const bytes = bytesOf(entry, notation);
  const text = decodeUtf8(Array.from(bytes, (byte, token) => ({ byte, token })))
    .map(({ char, firstToken }) => char ?? `<${hexadecimal(bytes[firstToken] ?? 0)}>`)
    .join('');
  return text.trim() === '' ? showSpaces(text) : text.replace(/^ /, '');
}

/** White space by the usual visible signs. */
function showSpaces(text: string): string {
  const signs: Record<string, string> = { '\n': '↵', '\t': '⇥' };
  return text.replace(/\s/gu, (space) => signs[space] ?? '␣');
}

function hexadecimal(byte: number): string {
  return byte.toString(16).toUpperCase().padStart(2, '0');
}

function bytesOf(entry: string, notation: Notation): Uint8Array {
  const single = /^<0x([0-9A-F]{2})>$/.exec(entry);
  if (single) return Uint8Array.of(Number.parseInt(single[1] ?? '', 16));
  if (notation.byteLevel) return byteLevelBytes(entry);
  return new TextEncoder().encode(plainText(entry, notation));
}

function plainText(entry: string, { continuation, wordEnd }: Notation): string {
  let text = entry;
  if (continuation !== '' && text.startsWith(continuation)) text = text.slice(continuation.length);
  if (wordEnd !== '' && text.endsWith(wordEnd)) text = `${text.slice(0, -wordEnd.length)} `;
  return text.replaceAll('▁', ' ');
}

/** GPT-2's table: printable bytes stand for themselves, the others for the code points from 256 on, in order. */
const BYTE_OF_CHAR: ReadonlyMap<string, number> = (() => {
  const isPrintable = (byte: number) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte !== 173);
  const table = new Map<string, number>();
  let next = 256;
  for (let byte = 0; byte < 256; byte++) table.set(String.fromCodePoint(isPrintable(byte) ? byte : next++), byte);
  return table;
})();

/** A character outside the table (in an added token) stands for itself. */
function byteLevelBytes(entry: string): Uint8Array {
  const encoder = new TextEncoder();
  return Uint8Array.from(
    Array.from(entry).flatMap((char) => {
      const byte = BYTE_OF_CHAR.get(char);
      return byte === undefined ? [...encoder.encode(char)] : [byte];
    }),
  );
}

/** Characters with the tokens that their bytes come from. A byte that fits no character is unknown by itself. */
function decodeUtf8(bytes: readonly { readonly byte: number; readonly token: number }[]): SurfaceChar[] {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const chars: SurfaceChar[] = [];
  for (let at = 0; at < bytes.length; ) {
    const sequence = bytes.slice(at, at + sequenceLength(bytes[at]?.byte ?? 0));
    const char = tryDecode(decoder, sequence);
    const used = char === undefined ? sequence.slice(0, 1) : sequence;
    chars.push({ char, firstToken: used[0]?.token ?? 0, lastToken: used.at(-1)?.token ?? 0 });
    at += used.length;
  }
  return chars;
}

function sequenceLength(lead: number): number {
  if (lead >= 0xf0) return 4;
  if (lead >= 0xe0) return 3;
  return lead >= 0xc0 ? 2 : 1;
}

function tryDecode(decoder: TextDecoder, sequence: readonly { readonly byte: number }[]): string | undefined {
  const [first] = sequence;
  if (first && first.byte < 0x80) return String.fromCharCode(first.byte);
  try {
    return decoder.decode(Uint8Array.from(sequence, ({ byte }) => byte));
  } catch {
    return undefined;
  }
}
