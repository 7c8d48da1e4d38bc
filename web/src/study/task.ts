/**
 * What a small model can be asked to learn: sequences of words made from random numbers, in which some words follow
 * from those before. Each is told apart by its words alone, so that what is held out is never trained on.
 */
import { uniform } from '../core/random.js';

/** `Math.random` from a seed: numbers in [0, 1). */
export type Random = () => number;

/** One word of a sequence. `graded`: it follows from the words before it, and is what is learned. */
export interface Word {
  readonly text: string;
  readonly graded: boolean;
}

export interface Task {
  readonly id: string;
  /** All words that its sequences use. */
  readonly words: readonly string[];
  /** Most words in a sequence. */
  readonly longest: number;
  /** How words are written one after another. */
  readonly spelling: 'spaced' | 'sentence' | 'joined';
  /** Where looking back helps: so many tokens, for head 1 of the first layer, for head 2, … None where it is not a fixed number. */
  readonly lessons: readonly number[];
  make(random: Random): readonly Word[];
}

/** Tokens that are no words: padding after the end, a word that the task does not know, the start, the end. */
export const specials = ['<pad>', '<unk>', '<s>', '</s>'] as const;
const PAD = 0;
const START = 2;

/** The target of a place that does not count. */
export const UNGRADED = -1;

/** Of 8 sequences, one is held out. */
const PARTS = 8;

export type Part = 'train' | 'held-out';

/** Sequences as a model reads them, `[count, length]` each: tokens, and at each place the next one if it is graded. */
export interface Batch {
  readonly count: number;
  readonly length: number;
  readonly tokens: Int32Array;
  readonly targets: Int32Array;
}

/** The model's tokens, by id. */
export const vocabularyOf = (task: Task): readonly string[] => [...specials, ...task.words];

/** Tokens in a row of a batch: the start token and all words but the last, which nobody needs to read. */
export const lengthOf = (task: Task): number => task.longest;

/** FNV-1a, 32 bits, then mixed: its low bits alone are poor. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  return (value ^ (value >>> 13)) >>> 0;
}

/** Which part a sequence belongs to, by its words alone. */
export function partOf(words: readonly Word[]): Part {
  return hash(words.map(({ text }) => text).join(' ')) % PARTS === 0 ? 'held-out' : 'train';
}

/** A sequence of that part. */
function makeSequence(task: Task, part: Part, random: Random): readonly Word[] {
  for (;;) {
    const words = task.make(random);
    if (partOf(words) === part) return words;
  }
}

/**
 * The sequences with these numbers: the same seed, part and number give the same sequence, whenever it is made.
 * `first`… `first + count − 1`.
 */
export function makeSequences(
  task: Task,
  part: Part,
  seed: number,
  first: number,
  count: number,
): readonly (readonly Word[])[] {
  return Array.from({ length: count }, (_, i) =>
    makeSequence(task, part, uniform(hash(`${seed} ${part} ${first + i}`))),
  );
}

/** Rows of a batch; a place beyond the end of its sequence is padding, and does not count. */
export function encode(task: Task, sequences: readonly (readonly Word[])[]): Batch {
  const ids = new Map(vocabularyOf(task).map((word, id) => [word, id]));
  const length = lengthOf(task);
  const tokens = new Int32Array(sequences.length * length).fill(PAD);
  const targets = new Int32Array(sequences.length * length).fill(UNGRADED);
  sequences.forEach((words, row) => {
    const start = row * length;
    tokens[start] = START;
    words.forEach(({ text, graded }, i) => {
      const id = ids.get(text);
      if (id === undefined) throw new Error(`task ${task.id} made "${text}", which is not among its words`);
      if (i + 1 < length) tokens[start + i + 1] = id;
      if (graded) targets[start + i] = id;
    });
  });
  return { count: sequences.length, length, tokens, targets };
}

/** A sequence as people write it. */
export function spell(task: Task, words: readonly Word[]): string {
  const texts = words.map(({ text }) => text);
  if (task.spelling === 'joined') return texts.join('');
  const spaced = texts.join(' ');
  return task.spelling === 'sentence' ? spaced.replace(/ ([,.?])/g, '$1') : spaced;
}
