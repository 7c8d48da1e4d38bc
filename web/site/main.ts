/** The site around the lens: language, colours, the link in the address bar, sharing, export and help. */
import '../src/view/define.js';
import { copyText } from '../src/view/clipboard.js';
import { type Language, languageTag, type MessageKey, matchLanguage, translator } from '../src/view/i18n/index.js';
import { sharedModels } from '../src/view/models.js';
import { hashPairs, hashToState, stateToHash } from '../src/view/url.js';
import { exportMaps, formats, lensMaps } from './export.js';
import { find } from './find.js';
import {
  keepPreference,
  keptLanguage,
  keptTheme,
  nextTheme,
  otherLanguage,
  type Theme,
  themeSigns,
} from './preferences.js';
import { type Room, Rooms, roomOf } from './rooms.js';

/** The words of the page around the lens. */
type SiteWord = MessageKey extends infer Key ? (Key extends `site.${infer Word}` ? Word : never) : never;

const say = (word: SiteWord, values?: Readonly<Record<string, string>>): string =>
  translator(language)(`site.${word}`, values);

/** Browsers limit how often the address may change (Safari: 100 times in 30 s). */
const addressDelay = 400;

const lens = find('multihead-lens', HTMLElement) as HTMLElementTagNameMap['multihead-lens'];
const languageButton = find('#language', HTMLButtonElement);
const themeButton = find('#theme', HTMLButtonElement);
const keysDialog = find('#keys', HTMLDialogElement);
const exportMenu = find('#export', HTMLDetailsElement);

/* ---------------------------------------------------------------------------------------------------- Language */

/** The rooms beside Explore, which are loaded when they are first asked for. */
const rooms = new Rooms(find('main', HTMLElement), {
  shown: (room) => showRoom(room),
  changed: () => writeAddress(),
  explore: (state) => {
    lens.state = state(lens.state);
    void rooms.show('explore');
    writeAddress();
  },
  failed: (reason) => say('roomFailed', { reason }),
});

let language: Language = 'en';
let languageChosen = false;
let theme: Theme = 'auto';

function speak(chosen: Language): void {
  language = chosen;
  document.documentElement.lang = languageTag(language);
  lens.lang = languageTag(language);
  rooms.speak(languageTag(language));
  document.title = say('title');
  find('meta[name=description]', HTMLMetaElement).content = say('description');
  for (const element of document.querySelectorAll<HTMLElement>('[data-word]'))
    element.textContent = say(element.dataset.word as SiteWord);
  for (const element of document.querySelectorAll<HTMLElement>('[data-label]')) {
    const label = say(element.dataset.label as SiteWord, { theme: say(theme) });
    element.setAttribute('aria-label', label);
    element.title = label;
  }
  languageButton.textContent = language === 'zh' ? 'English' : '中文';
  languageButton.lang = languageTag(otherLanguage(language));
  listKeys();
}

languageButton.addEventListener('click', () => {
  languageChosen = true;
  speak(otherLanguage(language));
  keepPreference('language', language);
  writeAddress();
});

/* ------------------------------------------------------------------------------------------------------- Theme */

function paint(chosen: Theme): void {
  theme = chosen;
  document.documentElement.dataset.theme = theme;
  lens.theme = theme;
  rooms.paint(theme);
  themeButton.textContent = themeSigns[theme];
}

themeButton.addEventListener('click', () => {
  paint(nextTheme(theme));
  keepPreference('theme', theme);
  speak(language);
});

/* ----------------------------------------------------------------------------------------------------- Address */

let writing: ReturnType<typeof setTimeout> | undefined;

/** The link that shows this very view. The language is in it only if it was chosen: a reader may prefer another. */
function link(): string {
  return `#${rooms.link() ?? stateToHash(lens.state)}${languageChosen ? `&lang=${language}` : ''}`;
}

function writeAddress(): void {
  clearTimeout(writing);
  writing = setTimeout(() => {
    try {
      history.replaceState(null, '', link());
    } catch {
      // A page without an origin may not touch its address; sharing still copies the link.
    }
  }, addressDelay);
}

function readAddress(): void {
  if (location.hash.length < 2) return;
  const room = roomOf(location.hash);
  void rooms.show(room, location.hash);
  const problems = room === 'explore' ? readLens() : [];
  const asked = matchLanguage(hashPairs(location.hash).find(([name]) => name === 'lang')?.[1]);
  if (asked) {
    languageChosen = true;
    speak(asked);
  }
  if (problems.length > 0) lens.say(say('link', { parts: problems.join(', ') }));
}

function readLens(): readonly string[] {
  const { state, problems } = hashToState(location.hash);
  lens.state = state;
  return problems;
}

lens.addEventListener('multihead-change', () => {
  if (rooms.current === 'explore') writeAddress();
});
addEventListener('hashchange', readAddress);

find('#share', HTMLButtonElement).addEventListener('click', async () => {
  clearTimeout(writing);
  const copied = await copyText(new URL(link(), location.href).href);
  tell(say(copied ? 'shared' : 'notShared'));
});

/** Says something where the reader is. */
function tell(message: string): void {
  if (!rooms.say(message)) lens.say(message);
}

/* ------------------------------------------------------------------------------------------------------- Rooms */

function showRoom(room: Room): void {
  document.body.dataset.room = room;
  lens.hidden = room !== 'explore';
  // The other rooms have no maps to save.
  exportMenu.hidden = room !== 'explore' && room !== 'translate';
  for (const link of document.querySelectorAll<HTMLElement>('[data-room]:is(a)')) {
    if (link.dataset.room === room) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
}

for (const link of document.querySelectorAll<HTMLAnchorElement>('a[data-room]'))
  link.addEventListener('click', (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    void rooms.show(link.dataset.room as Room).then(writeAddress);
  });

/* -------------------------------------------------------------------------------------------------------- Help */

const keys: readonly (readonly [string, SiteWord])[] = [
  ['Tab', 'keyTab'],
  ['← ↑ → ↓', 'keyArrows'],
  ['Enter', 'keyEnter'],
  ['Esc', 'keyEscape'],
  ['PgUp PgDn', 'keyPage'],
  ['[ ]', 'keyBrackets'],
  ['T', 'keyTable'],
  ['Ctrl Z, Ctrl Shift Z', 'keyUndo'],
  ['?', 'keyHelp'],
];

function listKeys(): void {
  const entries = keys.flatMap(([key, word]) => {
    const term = document.createElement('dt');
    const meaning = document.createElement('dd');
    term.textContent = key;
    meaning.textContent = say(word);
    return [term, meaning];
  });
  find('#keys dl', HTMLDListElement).replaceChildren(...entries);
}

find('#help', HTMLButtonElement).addEventListener('click', () => keysDialog.showModal());
addEventListener('keydown', (event) => {
  const target = event.composedPath()[0];
  const typing = target instanceof HTMLTextAreaElement || target instanceof HTMLInputElement;
  if (event.key === '?' && !typing && !event.isComposing && !keysDialog.open) keysDialog.showModal();
});

/* ------------------------------------------------------------------------------------------------------- Menus */

for (const format of formats)
  find(`[data-format=${format}]`, HTMLButtonElement).addEventListener('click', async () => {
    exportMenu.open = false;
    try {
      if ((await exportMaps(rooms.mapExport ?? lensMaps(lens), format)) === 0) tell(say('nothingToExport'));
    } catch (error) {
      tell(error instanceof Error ? error.message : String(error));
    }
  });

addEventListener('click', (event) => {
  if (event.target instanceof Node && !exportMenu.contains(event.target)) exportMenu.open = false;
});
exportMenu.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape') return;
  exportMenu.open = false;
  exportMenu.querySelector('summary')?.focus();
});

/* ------------------------------------------------------------------------------------------------------- Start */

paint(keptTheme());
speak(keptLanguage());
readAddress();
// The lens asks for its model once it is laid out; by then it can be under way. What goes wrong, the lens will meet.
if (rooms.current === 'explore' && !document.hidden) {
  const { model, precision } = lens.state;
  sharedModels.acquire(model, precision, () => {}).catch(() => {});
}
