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
const arrowTask = (id: string, become: (letters: readonly string[]) => readonly string[]): Task => ({
  id,
  words: [...few, ARROW],
  longest: 2 * ROW + 1,
  spelling: 'spaced',
  make(random) {
    const letters = Array.from({ length: ROW }, () => oneOf(random, few));
    return [...letters.map(given), given(ARROW), ...become(letters).map(graded)];
  },
});

export const copy = arrowTask('copy', (letters) => letters);
export const reverse = arrowTask('reverse', (letters) => letters.toReversed());
export const sort = arrowTask('sort', (letters) => letters.toSorted());

const PERIOD = { from: 4, to: 12 } as const;
const INDUCTION_LENGTH = 24;

/**
 * A B C D A B C → D: letters in random order, none twice, then the same again and again. Once a letter comes the second
 * time, what followed it then is what follows it now. Where the second round begins differs, so position does not tell.
 */
export const induction: Task = {
  id: 'induction',
  words: alphabet,
  longest: INDUCTION_LENGTH,
  spelling: 'spaced',
  make(random) {
    const period = between(random, PERIOD.from, PERIOD.to);
    const round = several(random, alphabet, period);
    return Array.from({ length: INDUCTION_LENGTH }, (_, i) => {
      const letter = round[i % period] as string;
      return i > period ? graded(letter) : given(letter);
    });
  },
};
