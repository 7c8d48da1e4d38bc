/** Rows of signs: which is there more often, and what closes what is open. */
import type { Task } from '../task.js';
import { between, given, graded, oneOf } from './draw.js';

const two = ['○', '●'] as const;
/** Odd, so that one is always ahead. */
const ROW = 15;
const EQUALS = '=';

/** ○ ● ● = ●: the sign that is there more often. */
export const majority: Task = {
  id: 'majority',
  words: [...two, EQUALS],
  longest: ROW + 2,
  spelling: 'spaced',
  lessons: [],
  make(random) {
    const signs = Array.from({ length: ROW }, () => oneOf(random, two));
    const black = signs.filter((sign) => sign === '●').length;
    return [...signs.map(given), given(EQUALS), graded(black > ROW / 2 ? '●' : '○')];
  },
};

const kinds = ['()', '[]', '{}'] as const;
const OPENED = 12;
const ARROW = '→';
const END = '.';

/** ( [ ] { → } ) . : what closes all that is still open, from the inside out, then a full stop. */
export const brackets: Task = {
  id: 'brackets',
  words: [...kinds.flatMap((kind) => [...kind]), ARROW, END],
  longest: OPENED + 1 + OPENED + 1,
  spelling: 'spaced',
  lessons: [],
  make(random) {
    const open: string[] = [];
    const signs = Array.from({ length: OPENED }, () => {
      // As likely to close as to open, so that some nest deep and some are flat.
      if (open.length === 0 || between(random, 0, 1) === 0) {
        const kind = oneOf(random, kinds);
        open.push(kind.slice(1));
        return kind.slice(0, 1);
      }
      return open.pop() as string;
    });
    return [...signs.map(given), given(ARROW), ...open.toReversed().map(graded), graded(END)];
  },
};
