/** Sentences to begin with, in both languages. */
import type { Language } from '../i18n/index.js';

export interface Example {
  readonly language: Language;
  readonly text: string;
}

export const examples: readonly Example[] = [
  { language: 'en', text: 'He went to school yesterday.' },
  { language: 'en', text: 'The cat is on the chair.' },
  { language: 'en', text: 'I like red apples.' },
  { language: 'en', text: 'Where is the station?' },
  { language: 'en', text: 'Tom gave the book to Mary.' },
  { language: 'zh', text: '他昨天没有去学校。' },
  { language: 'zh', text: '我喜欢喝茶。' },
  { language: 'zh', text: '苹果在桌子上。' },
  { language: 'zh', text: '你叫什么名字？' },
  { language: 'zh', text: '我想买一本书。' },
];

/** What a page in this language begins with. */
export const firstText = (language: Language): string =>
  examples.find((example) => example.language === language)?.text ?? '';

/** The language that a sentence is in: the model knows two, and reads from the sentence which one it is. */
export const languageOf = (text: string): Language => (/\p{Script=Han}/u.test(text) ? 'zh' : 'en');
