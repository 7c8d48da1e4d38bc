/** The words of the Digits room, with those of the pictures in it. They come with the room, not with the page. */
import { type DigitsKey, digitsEn } from '../i18n/digits.en.js';
import { digitsZh } from '../i18n/digits.zh.js';
import type { Language } from '../i18n/index.js';
import { type PictureWord, picturesEn, picturesZh, wordsFrom } from '../pictures/words.js';

export type Say = (key: DigitsKey | PictureWord, values?: Readonly<Record<string, string | number>>) => string;

const tables: Readonly<Record<Language, Say>> = {
  en: wordsFrom({ ...picturesEn, ...digitsEn }),
  zh: wordsFrom({ ...picturesZh, ...digitsZh }),
};

export const sayIn = (language: Language): Say => tables[language];
