/** Drawing things at random. */
import type { Random, Word } from '../task.js';

/** A whole number, `from` ≤ n ≤ `to`. */
export const between = (random: Random, from: number, to: number): number =>
  from + Math.floor(random() * (to - from + 1));

/** One of a list that is not empty. */
export const oneOf = <T>(random: Random, list: readonly T[]): T => list[between(random, 0, list.length - 1)] as T;

/** `count` of a list, none twice, in random order (Fisher and Yates). */
export function several<T>(random: Random, list: readonly T[], count: number): T[] {
  const left = [...list];
  for (let i = 0; i < count; i++) {
    const j = between(random, i, left.length - 1);
    [left[i], left[j]] = [left[j] as T, left[i] as T];
  }
  return left.slice(0, count);
}

export const given = (text: string): Word => ({ text, graded: false });
export const graded = (text: string): Word => ({ text, graded: true });
