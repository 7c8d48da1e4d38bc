/** The attributes that every room beside the lens has. */
import { LitElement } from 'lit';
import { type Language, matchLanguage } from './i18n/index.js';

/**
 * @attr theme - auto (default), light or dark
 * @attr lang - en or zh
 */
export class RoomElement extends LitElement {
  static override readonly properties = { theme: { reflect: true }, ownLanguage: { attribute: 'lang' } };

  declare theme: 'auto' | 'light' | 'dark';
  declare ownLanguage: string | null;

  constructor() {
    super();
    this.theme = 'auto';
    this.ownLanguage = null;
  }

  get language(): Language {
    return matchLanguage(this.ownLanguage) ?? 'en';
  }
}
