/** The words of the Translate room, with those of the pictures in it. They come with the room, not with the page. */
import type { Language } from '../i18n/index.js';
import { type TranslateKey, translateEn } from '../i18n/translate.en.js';
import { translateZh } from '../i18n/translate.zh.js';
import { type PictureWord, picturesEn, picturesZh, wordsFrom } from '../pictures/words.js';

export type Say = (key: TranslateKey | PictureWord, values?: Readonly<Record<string, string | number>>) => string;

const tables: Readonly<Record<Language, Say>> = {
  en: wordsFrom({ ...picturesEn, ...translateEn }),
  zh: wordsFrom({ ...picturesZh, ...translateZh }),
};

export const sayIn = (language: Language): Say => tables[language];
