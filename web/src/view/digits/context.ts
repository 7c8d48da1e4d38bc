/** What the parts of the Digits room are given. */
import type { HeadRef } from '../pictures/types.js';
import type { DigitReader, Reading } from './reader.js';
import type { Say } from './words.js';

export interface Desk {
  readonly t: Say;
  readonly dark: boolean;
  readonly reader: DigitReader;
  readonly reading: Reading;
  readonly head: HeadRef;
  /** The place that is looked from: a patch, after the class token if there is one. */
  readonly query: number;
  select(head: HeadRef): void;
  look(query: number): void;
}

/** The row of weights that is looked at: [T] */
export function shownRow({ reader, reading, head, query }: Desk): Float32Array {
  const size = reader.places;
  const start = ((head.layer * reader.heads + head.head) * size + query) * size;
  return reading.attention.subarray(start, start + size);
}
