/** Rows of letters: said again, said backwards, put in order, or going round and round. */
import type { Task } from '../task.js';
import { between, given, graded, oneOf, several } from './draw.js';

const alphabet = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
const ARROW = '→';

/** Letters in a row, before and after the arrow. */
const ROW = 8;
/** The fewer letters, the more often each is seen. */
const few = alphabet.slice(0, 16);

/** Letters, an arrow, and what becomes of the letters. */
const arrowTask = (
  id: string,
  become: (letters: readonly string[]) => readonly string[],
  lessons: readonly number[] = [],
): Task => ({
  id,
  words: [...few, ARROW],
  longest: 2 * ROW + 1,
  spelling: 'spaced',
  lessons,
  make(random) {
    const letters = Array.from({ length: ROW }, () => oneOf(random, few));
    return [...letters.map(given), given(ARROW), ...become(letters).map(graded)];
  },
});

export const copy = arrowTask('copy', (letters) => letters, [ROW]);
export const reverse = arrowTask('reverse', (letters) => letters.toReversed());
export const sort = arrowTask('sort', (letters) => letters.toSorted());

const ROUND = { from: 6, to: 8 } as const;
const PIECE = { from: 3, to: 6 } as const;
const INDUCTION_LENGTH = 24;

/**
 * A B C D E F, C D E F, B C D, … : letters in random order, none twice, then pieces of that row. Within a piece, what
 * followed a letter then is what follows it now. Were it the whole row round and round, the letter that was not seen for
 * the longest would be the answer, and nobody would need to look.
 */
export const induction: Task = {
  id: 'induction',
  words: alphabet,
  longest: INDUCTION_LENGTH,
  spelling: 'spaced',
  lessons: [1],
  make(random) {
    const row = several(random, alphabet, between(random, ROUND.from, ROUND.to));
    const words = row.map(given);
    while (words.length < INDUCTION_LENGTH) {
      const length = Math.min(between(random, PIECE.from, PIECE.to), row.length);
      const start = between(random, 0, row.length - length);
      words.push(...row.slice(start, start + length).map((letter, i) => (i > 0 ? graded(letter) : given(letter))));
    }
    return words.slice(0, INDUCTION_LENGTH);
  },
};
