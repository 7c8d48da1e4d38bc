/** Heads made by hand for each pattern are called by its name; heads that do nothing are not. */
import { describe, expect, test } from 'vitest';
import { uniform } from '../../web/src/core/random.js';
import { headEntropies, headSimilarities, nameHeads, type PatternId } from '../../web/src/study/patterns.js';
import { type Batch, encode, makeSequences } from '../../web/src/study/task.js';
import { type TaskId, taskOf } from '../../web/src/study/tasks/index.js';

const COUNT = 12;

function batchOf(id: TaskId): Batch {
  const task = taskOf(id);
  return encode(task, makeSequences(task, 'held-out', 3, 0, COUNT));
}

/** Weights of one head that puts `strength` on one key of each row and the rest on all it sees alike. */
function headThat(batch: Batch, keyOf: (tokens: Int32Array, i: number) => number | undefined, strength = 0.8) {
  const { length, count } = batch;
  const attention = new Float32Array(count * length * length);
  for (let b = 0; b < count; b++) {
    const tokens = batch.tokens.subarray(b * length, (b + 1) * length);
    for (let i = 0; i < length; i++) {
      const row = (b * length + i) * length;
      const key = keyOf(tokens, i);
      const rest = key === undefined ? 1 : 1 - strength;
      for (let j = 0; j <= i; j++) attention[row + j] = rest / (i + 1);
      if (key !== undefined) attention[row + key] = (attention[row + key] as number) + strength;
    }
  }
  return attention;
}

const nameOf = (batch: Batch, attention: Float32Array) => nameHeads({ attention, layers: 1, heads: 1, batch })[0];

const afterCopy = (tokens: Int32Array, i: number): number | undefined => {
  for (let j = i; j > 1; j--) if (tokens[j - 1] === tokens[i]) return j;
  return undefined;
};

describe('a head is named for', () => {
  const cases: [PatternId, TaskId, (tokens: Int32Array, i: number) => number | undefined][] = [
    ['induction', 'induction', afterCopy],
    ['previous', 'induction', (_, i) => (i > 0 ? i - 1 : 0)],
    ['self', 'sort', (_, i) => i],
    ['first', 'world-en', () => 0],
    [
      'same',
      'induction',
      (tokens, i) => (tokens.indexOf(tokens[i] as number) < i ? tokens.indexOf(tokens[i] as number) : 0),
    ],
    ['back', 'copy', (_, i) => Math.max(0, i - 8)],
    ['mirror', 'reverse', (_, i) => (i > 8 ? 17 - i : 0)],
    ['even', 'recall', () => undefined],
  ];
  test.each(cases)('%s', (pattern, task, keyOf) => {
    const batch = batchOf(task);
    expect(nameOf(batch, headThat(batch, keyOf))).toMatchObject({ pattern });
  });

  test('the answer, where it is elsewhere than induction says', () => {
    const batch = batchOf('world-zh');
    const { length } = batch;
    let b = -1;
    const attention = headThat(batch, (tokens, i) => {
      if (i === 0) b++;
      const target = batch.targets[b * length + i] as number;
      return target >= 0 ? tokens.indexOf(target) : undefined;
    });
    expect(nameOf(batch, attention)).toMatchObject({ pattern: 'answer' });
  });

  test('and how many tokens back it looks', () => {
    const batch = batchOf('copy');
    expect(
      nameOf(
        batch,
        headThat(batch, (_, i) => Math.max(0, i - 8)),
      ),
    ).toMatchObject({ pattern: 'back', offset: 8 });
  });
});

test('a head that looks here and there has no name', () => {
  const batch = batchOf('induction');
  const random = uniform(5);
  const attention = headThat(batch, (_, i) => Math.floor(random() * (i + 1)));
  expect(nameOf(batch, attention)).toBeNull();
});

test('a weak pattern is none', () => {
  const batch = batchOf('induction');
  expect(nameOf(batch, headThat(batch, afterCopy, 0.2))).not.toMatchObject({ pattern: 'induction' });
});

test('entropy is 0 for one key, 1 for all alike', () => {
  const batch = batchOf('brackets');
  const at = (attention: Float32Array) => headEntropies({ attention, layers: 1, heads: 1, batch })[0];
  expect(at(headThat(batch, (_, i) => i, 1))).toBeCloseTo(0, 6);
  expect(at(headThat(batch, () => undefined))).toBeCloseTo(1, 6);
});

test('similarity is 1 for the same maps, 0 for maps that share no cell', () => {
  const batch = batchOf('sort');
  const two = (a: Float32Array, b: Float32Array) => {
    const cells = batch.length ** 2;
    const attention = new Float32Array(2 * a.length);
    for (let row = 0; row < batch.count; row++) {
      attention.set(a.subarray(row * cells, (row + 1) * cells), 2 * row * cells);
      attention.set(b.subarray(row * cells, (row + 1) * cells), (2 * row + 1) * cells);
    }
    return headSimilarities({ attention, layers: 1, heads: 2, batch })[0];
  };
  const self = headThat(batch, (_, i) => i, 1);
  const first = headThat(batch, () => 0, 1);
  expect(two(self, self)).toBeCloseTo(1, 6);
  // They share the one cell of the first row.
  expect(two(self, first)).toBeCloseTo(1 / batch.length, 6);
});
