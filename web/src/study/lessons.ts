/**
 * Heads that are taught where to look: in the first steps of a training, a KL term pulls rows of their attention to the
 * token so many places back. What is built upon such heads then forms soon, which by itself it may never do.
 */
import type { Supervision } from '../train/batch.js';

/** Steps that are taught. */
export const LESSON_STEPS = 300;

/** Of the KL term, against the loss of an answer. */
const WEIGHT = 1;

/**
 * Head `i` of the first layer is to look `lessons[i]` tokens back, in `count` sequences of `length` tokens; rows that
 * have no such token are left alone. Of heads that the model has not, nothing is asked.
 */
export function supervisionOf(
  lessons: readonly number[],
  heads: number,
  count: number,
  length: number,
): readonly Supervision[] {
  return lessons
    .slice(0, heads)
    .map((back, head) => ({ layer: 0, head, weight: WEIGHT, target: lookingBack(back, count, length) }));
}

/** `[count, length, length]` */
function lookingBack(back: number, count: number, length: number): Float32Array {
  const target = new Float32Array(count * length * length);
  for (let sequence = 0; sequence < count; sequence++) {
    for (let query = back; query < length; query++) target[(sequence * length + query) * length + query - back] = 1;
  }
  return target;
}
