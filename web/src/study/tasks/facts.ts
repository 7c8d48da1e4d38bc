/** Facts are told, then asked for: pairs of a letter and a digit, and the small world of the example sentences. */
import type { Task, Word } from '../task.js';
import { given, graded, oneOf, several } from './draw.js';

const keys = [...'ABCDEFGHIJKL'];
const values = [...'0123456789'];
const PAIRS = 6;
const ARROW = '→';

/** C 4 A 7 F 1 → A 7 F 1 C 4: the digit that came with each letter. */
export const recall: Task = {
  id: 'recall',
  words: [...keys, ...values, ARROW],
  longest: 4 * PAIRS + 1,
  spelling: 'spaced',
  lessons: [1], // at a digit: its letter
  make(random) {
    const pairs = several(random, keys, PAIRS).map((key) => [key, oneOf(random, values)] as const);
    return [
      ...pairs.flatMap(([key, value]) => [given(key), given(value)]),
      given(ARROW),
      ...several(random, pairs, PAIRS).flatMap(([key, value]) => [given(key), graded(value)]),
    ];
  },
};

interface World {
  readonly id: string;
  readonly spelling: Task['spelling'];
  readonly things: readonly string[];
  readonly places: readonly string[];
  /** Words of a fact and of a question, where `thing` and `place` stand for one. */
  readonly fact: readonly string[];
  readonly question: readonly string[];
  readonly comma: string;
  readonly stop: string;
  /** From a place back to its thing, and from the end of a question back to the thing. */
  readonly lessons: readonly number[];
}

const FACTS = 3;
const QUESTIONS = 2;

/** "The apple is on the table, the banana is on the chair … where is the banana? chair." */
function worldTask({ id, spelling, things, places, fact, question, comma, stop, lessons }: World): Task {
  const fixed = new Set([...fact, ...question, comma, stop].filter((word) => word !== 'thing' && word !== 'place'));
  return {
    id,
    words: [...things, ...places, ...fixed],
    longest: FACTS * (fact.length + 1) + QUESTIONS * (question.length + 2),
    spelling,
    lessons,
    make(random) {
      const where = several(random, things, FACTS);
      const facts = several(random, places, FACTS).map((place, i) => ({ thing: where[i] as string, place }));
      const fill = (words: readonly string[], { thing, place }: { thing: string; place: string }): Word[] =>
        words.map((word) => given(word === 'thing' ? thing : word === 'place' ? place : word));
      return [
        ...facts.flatMap((each, i) => [...fill(fact, each), given(i < FACTS - 1 ? comma : stop)]),
        ...several(random, facts, QUESTIONS).flatMap((each) => [
          ...fill(question, each),
          graded(each.place),
          given(stop),
        ]),
      ];
    },
  };
}

export const worldEn = worldTask({
  id: 'world-en',
  spelling: 'sentence',
  things: ['apple', 'banana', 'orange', 'cup', 'book', 'key', 'phone', 'hat', 'pen', 'bag'],
  places: ['table', 'chair', 'sofa', 'bed', 'shelf', 'floor', 'desk', 'box', 'bench', 'stairs'],
  fact: ['the', 'thing', 'is', 'on', 'the', 'place'],
  question: ['where', 'is', 'the', 'thing', '?'],
  comma: ',',
  stop: '.',
  lessons: [4, 1],
});

export const worldZh = worldTask({
  id: 'world-zh',
  spelling: 'joined',
  things: ['苹果', '香蕉', '橘子', '杯子', '书', '钥匙', '手机', '帽子', '铅笔', '书包'],
  places: ['桌子', '椅子', '沙发', '床', '书架', '地板', '柜子', '箱子', '长凳', '楼梯'],
  fact: ['thing', '在', 'place', '上'],
  question: ['thing', '在', '哪里', '？'],
  comma: '，',
  stop: '。',
  lessons: [2, 3],
});
