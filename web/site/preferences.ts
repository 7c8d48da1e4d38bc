/** What a reader chose once is kept, where the browser allows it: a sandboxed frame has no storage. */
import { type Language, matchLanguage, preferredLanguage } from '../src/view/i18n/index.js';

const themes = ['auto', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

export const themeSigns: Readonly<Record<Theme, string>> = { auto: '◐', light: '☀', dark: '☾' };

/** What comes after this one when the reader presses the button. */
export const nextTheme = (theme: Theme): Theme => themes[(themes.indexOf(theme) + 1) % themes.length] ?? 'auto';

export const keptTheme = (): Theme => themes.find((known) => known === readPreference('theme')) ?? 'auto';

export const otherLanguage = (language: Language): Language => (language === 'zh' ? 'en' : 'zh');

/** The language that was chosen here before, else the browser's. */
export const keptLanguage = (): Language =>
  matchLanguage(readPreference('language')) ?? preferredLanguage(navigator.languages);

function readPreference(name: string): string | null {
  try {
    return localStorage.getItem(`multihead-${name}`);
  } catch {
    return null;
  }
}

export function keepPreference(name: string, value: string): void {
  try {
    localStorage.setItem(`multihead-${name}`, value);
  } catch {
    // It holds for this visit.
  }
}
