/** Every task of the Train room: its answers against solvers of their own, and that nothing held out is trained on. */
import { describe, expect, test } from 'vitest';
import {
  encode,
  lengthOf,
  makeSequences,
  partOf,
  specials,
  spell,
  UNGRADED,
  vocabularyOf,
  type Word,
} from '../../web/src/study/task.js';
import { type TaskId, taskIds, taskOf } from '../../web/src/study/tasks/index.js';

const MANY = 3000;

const textOf = (words: readonly Word[]): string => words.map(({ text }) => text).join(' ');

/** What follows the words before `at`, worked out from these alone. */
const solvers: Record<TaskId, (before: readonly string[]) => string> = {
  induction: (before) => before[before.indexOf(before.at(-1) as string) + 1] as string,
  copy: (before) => before[before.length - 1 - before.indexOf('→')] as string,
  reverse: (before) => before[2 * before.indexOf('→') - before.length] as string,
  sort: (before) => {
    const arrow = before.indexOf('→');
    return before.slice(0, arrow).sort((a, b) => a.charCodeAt(0) - b.charCodeAt(0))[
      before.length - arrow - 1
    ] as string;
  },
  recall: (before) => before[before.indexOf(before.at(-1) as string) + 1] as string,
  majority: (before) => (before.filter((sign) => sign === '●').length >= 8 ? '●' : '○'),
  brackets: (before) => {
    let rest = before.filter((sign) => sign !== '→').join('');
    while (/\(\)|\[\]|\{\}/.test(rest)) rest = rest.replaceAll(/\(\)|\[\]|\{\}/g, '');
    const inner = rest.at(-1);
    return inner === undefined ? '.' : ({ '(': ')', '[': ']', '{': '}' }[inner] as string);
  },
  'world-en': (before) => {
    const thing = before.at(-2) as string;
    return before[before.indexOf(thing) + 4] as string;
  },
  'world-zh': (before) => {
    const thing = before.at(-4) as string;
    return before[before.indexOf(thing) + 2] as string;
  },
};

describe.each(taskIds)('%s', (id) => {
  const task = taskOf(id);
  const train = makeSequences(task, 'train', 7, 0, MANY);
  const heldOut = makeSequences(task, 'held-out', 7, 0, MANY);

  test('has exact answers: each graded word follows from those before it', () => {
    const wrong = [...train, ...heldOut].filter((words) => {
      const texts = words.map(({ text }) => text);
      return (
        !words.some(({ graded }) => graded) ||
        words.some(({ graded }, at) => graded && solvers[id](texts.slice(0, at)) !== texts[at])
      );
    });
    expect(wrong.map(textOf)).toEqual([]);
  });

  test('never trains on what is held out', () => {
    const trained = new Set(train.map(textOf));
    expect(heldOut.filter((words) => trained.has(textOf(words)))).toEqual([]);
    // Not by luck: the part is a property of the words.
    expect(new Set(train.map(partOf))).toEqual(new Set(['train']));
    expect(new Set(heldOut.map(partOf))).toEqual(new Set(['held-out']));
  });

  test('is the same for the same seed, part and number, and another for another', () => {
    const again = makeSequences(task, 'train', 7, 100, 50);
    expect(again).toEqual(train.slice(100, 150));
    expect(makeSequences(task, 'train', 8, 100, 50)).not.toEqual(again);
    expect(new Set(train.map(textOf)).size).toBeGreaterThan(MANY / 2);
  });

  test('fits its vocabulary and its length', () => {
    const vocabulary = vocabularyOf(task);
    expect(new Set(vocabulary).size).toBe(vocabulary.length);
    expect(vocabulary.slice(0, specials.length)).toEqual(specials);
    const used = new Set(train.flat().map(({ text }) => text));
    expect([...task.words].sort()).toEqual([...used].sort());
    expect(Math.max(...train.map((words) => words.length))).toBe(lengthOf(task));
  });

  test('is encoded so that a place’s target is the word after it', () => {
    const batch = encode(task, train.slice(0, 64));
    const vocabulary = vocabularyOf(task);
    expect(batch).toMatchObject({ count: 64, length: lengthOf(task) });
    train.slice(0, 64).forEach((words, row) => {
      const tokens = batch.tokens.subarray(row * batch.length, (row + 1) * batch.length);
      const targets = batch.targets.subarray(row * batch.length, (row + 1) * batch.length);
      const read = [...tokens].map((token) => vocabulary[token]);
      const expected = ['<s>', ...words.map(({ text }) => text), ...Array(batch.length).fill('<pad>')];
      expect(read).toEqual(expected.slice(0, batch.length));
      const answers = [...targets].map((target) => (target === UNGRADED ? null : vocabulary[target]));
      const wanted = words.map(({ text, graded }) => (graded ? text : null));
      expect(answers).toEqual([...wanted, ...Array(batch.length).fill(null)].slice(0, batch.length));
    });
  });
});

test('sentences are spelled as people write them', () => {
  const [english] = makeSequences(taskOf('world-en'), 'train', 1, 0, 1);
  const [chinese] = makeSequences(taskOf('world-zh'), 'train', 1, 0, 1);
  expect(spell(taskOf('world-en'), english ?? [])).toMatch(
    /^the \w+ is on the \w+, the \w+ is on the \w+, the \w+ is on the \w+\. where is the \w+\? \w+\. where is the \w+\? \w+\.$/,
  );
  expect(spell(taskOf('world-zh'), chinese ?? [])).toMatch(/^[^ ]+在[^ ]+上，[^ ]+在哪里？[^ ]+。$/);
});
