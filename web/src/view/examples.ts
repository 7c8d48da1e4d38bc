/** Sentences to begin with, each with a head and a row that show something in the model that comes with the page. */
import type { Language } from './i18n/index.js';
import type { Preset } from './mask.js';
import type { HeadRef } from './pictures/types.js';
import { defaultState, type LensState } from './state.js';

export interface Example {
  readonly language: Language;
  readonly text: string;
  readonly preset: Preset;
  readonly head: HeadRef;
  /** Token whose row is pinned. */
  readonly query: number;
}

export const examples: readonly Example[] = [
  {
    language: 'en',
    text: defaultState.text,
    preset: 'causal',
    head: { layer: 3, head: 7 }, // "it" looks at "cat"
    query: 10,
  },
  {
    language: 'en',
    text: 'Tom gave the book to Mary. Now Mary has the',
    preset: 'causal',
    head: { layer: 1, head: 0 }, // the last "the" looks at "to", which has read "book" before it; "book" is predicted
    query: 11,
  },
  {
    language: 'en',
    text: 'The apple is on the table, the banana is on the chair.',
    preset: 'window', // eight tokens on each side: the full stop does not see "apple", and looks at "banana"
    head: { layer: 1, head: 3 },
    query: 14,
  },
  {
    language: 'zh',
    text: '小明喜欢打球，他放学后去了操场。',
    preset: 'causal',
    head: { layer: 2, head: 6 }, // 他 looks at 小明
    query: 5,
  },
  {
    language: 'zh',
    text: '苹果在桌子上，香蕉在椅子上，橘子在沙发上。苹果在',
    preset: 'causal',
    head: { layer: 1, head: 4 }, // the last 在 looks at the end of 桌子上, and 桌子 is predicted
    query: 17,
  },
  {
    language: 'zh',
    text: '今天天气真好，我们去公园吧。',
    preset: 'none',
    head: { layer: 1, head: 0 }, // 我们 looks at 公园
    query: 6,
  },
];

/** The state with an example in it; edits, view and colours stay as they are. */
export const withExample = (state: LensState, { text, preset, head, query }: Example): LensState => ({
  ...state,
  text,
  heads: [head],
  query,
  replaced: null,
  mask: { ...state.mask, preset },
});

/** What a page in this language begins with. */
export const firstExample = (language: Language): Example =>
  examples.find((example) => example.language === language) ?? (examples[0] as Example);
