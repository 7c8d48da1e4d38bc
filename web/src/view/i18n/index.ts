/** Which language a page is read in, and its words. One i18next instance a language, shared, made when first asked for. */
import { createInstance } from 'i18next';
import { type PictureWord, picturesEn, picturesZh } from '../pictures/words.js';
import { en, type MessageKey } from './en.js';
import { zh } from './zh.js';

export type { MessageKey } from './en.js';

export const languages = ['en', 'zh'] as const;
export type Language = (typeof languages)[number];

export type Translate = (key: MessageKey | PictureWord, values?: Readonly<Record<string, string | number>>) => string;

/** The language of ours that a BCP 47 tag asks for (`zh-Hant-TW` → zh), or null. */
export function matchLanguage(tag: string | null | undefined): Language | null {
  const primary = tag?.toLowerCase().split(/[-_]/)[0];
  return languages.find((language) => language === primary) ?? null;
}

/** The first language of ours in the user's list; English if there is none. */
export const preferredLanguage = (tags: readonly string[]): Language =>
  tags.map(matchLanguage).find((language) => language !== null) ?? 'en';

/** For `lang` attributes. */
export const languageTag = (language: Language): string => (language === 'zh' ? 'zh-Hans' : 'en');

const mostRemembered = 4000;

/** The same few messages are asked for at every keystroke, and making one takes i18next some microseconds. */
function remember(translate: Translate): Translate {
  const known = new Map<string, string>();
  return (key, values) => {
    const name = values ? `${key}\u0000${Object.values(values).join('\u0000')}` : key;
    const text = known.get(name) ?? translate(key, values);
    if (known.size > mostRemembered) known.clear();
    known.set(name, text);
    return text;
  };
}

const instances = new Map<Language, Translate>();

/** The words of a language. The function for a language is always the same one. */
export function translator(language: Language): Translate {
  const known = instances.get(language);
  if (known) return known;
  const instance = createInstance({
    lng: language,
    fallbackLng: false,
    resources: { en: { translation: { ...picturesEn, ...en } }, zh: { translation: { ...picturesZh, ...zh } } },
    keySeparator: false,
    nsSeparator: false,
    // lit escapes what it inserts.
    interpolation: { escapeValue: false },
    initAsync: false,
    showSupportNotice: false,
  });
  void instance.init();
  const translate: Translate = (key, values) => instance.t(key, values ?? {});
  const remembered = remember(translate);
  instances.set(language, remembered);
  return remembered;
}
