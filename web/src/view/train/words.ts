/** The words of the Train room, with those of the pictures in it. They come with the room, not with the page. */
import type { Language } from '../i18n/index.js';
import { type TrainKey, trainEn } from '../i18n/train.en.js';
import { trainZh } from '../i18n/train.zh.js';
import { type PictureWord, picturesEn, picturesZh, wordsFrom } from '../pictures/words.js';

export type Say = (key: TrainKey | PictureWord, values?: Readonly<Record<string, string | number>>) => string;

const tables: Readonly<Record<Language, Say>> = {
  en: wordsFrom({ ...picturesEn, ...trainEn }),
  zh: wordsFrom({ ...picturesZh, ...trainZh }),
};

export const sayIn = (language: Language): Say => tables[language];
