/** The page "How it is fast": a recorded roofline, and one measured on the reader's machine. */
import { languageTag } from '../../src/view/i18n/index.js';
import { find } from '../find.js';
import { keepPreference, keptLanguage, keptTheme, nextTheme, otherLanguage, themeSigns } from '../preferences.js';
import { intensity, kernels, type Point, type Roofline } from './kernels.js';
import recorded from './recorded.json' with { type: 'json' };
import { drawRoofline } from './roofline.js';
import { words } from './words.js';

interface Shown {
  readonly roofline: Roofline;
  /** Where it was recorded, or when it was measured here. */
  readonly source:
    | { readonly processor: string; readonly browser: string; readonly date: string }
    | { readonly date: Date };
}

const picture = find('#roofline', SVGSVGElement);
const measureButton = find('#measure', HTMLButtonElement);
const languageButton = find('#language', HTMLButtonElement);
const themeButton = find('#theme', HTMLButtonElement);
const progress = find('#progress', HTMLElement);

let language = keptLanguage();
let theme = keptTheme();
let shown: Shown = { roofline: recorded.roofline as Roofline, source: recorded };

/* -------------------------------------------------------------------------------------------------------- Words */

function speak(): void {
  const say = words[language];
  document.documentElement.lang = languageTag(language);
  document.title = say.title;
  languageButton.textContent = say.language;
  languageButton.lang = languageTag(otherLanguage(language));
  themeButton.setAttribute('aria-label', say.theme);
  themeButton.title = say.theme;
  measureButton.textContent = say.measure;
  show();
}

/* ------------------------------------------------------------------------------------------------------ Picture */

/** Share of the lowest roof above a point, if its bytes lie where all of them fit. */
function shareOfRoof(point: Point, { gigaflops, roofs }: Roofline): number {
  const fits = { L1: 32e3, L3: 32e6, memory: Number.POSITIVE_INFINITY };
  const roof = roofs.find(({ place }) => point.bytes <= fits[place]);
  const slope = roof ? roof.gigabytesPerSecond * intensity(point) : gigaflops;
  return point.gigaflops / Math.min(gigaflops, slope);
}

function show(): void {
  const { roofline } = shown;
  const say = words[language];
  drawRoofline(picture, roofline, {
    intensity: say.intensity,
    gigaflops: say.gigaflops,
    peak: say.peak,
    roof: (place, gigabytes) => `${say.places[place as keyof typeof say.places]} ${gigabytes} GB/s`,
    kernel: say.kernel,
  });
  const best = Math.max(...roofline.points.map(({ gigaflops }) => gigaflops));
  picture.setAttribute('aria-label', say.summary(roofline.gigaflops.toFixed(0), best.toFixed(0)));
  find('#source', HTMLElement).textContent = `${sourceText()} · ${say.build(roofline.build)}`;
  fillTable(roofline);
}

function sourceText(): string {
  const say = words[language];
  const { source } = shown;
  if (source.date instanceof Date) return say.here(source.date.toLocaleTimeString(languageTag(language)));
  const { date, processor, browser } = source as typeof recorded;
  return say.recorded(date, processor, browser);
}

function fillTable(roofline: Roofline): void {
  const say = words[language];
  const head = document.createElement('tr');
  head.append(...say.columns.map((text) => cell('th', text)));
  find('#points thead', HTMLElement).replaceChildren(head);
  const rows = roofline.points.map((point, index) => {
    const row = document.createElement('tr');
    const milliseconds = point.flops / point.gigaflops / 1e6;
    const texts = [
      String(index + 1),
      say.kernel(point),
      milliseconds.toPrecision(3),
      point.gigaflops.toFixed(1),
      `${Math.round(100 * shareOfRoof(point, roofline))} %`,
    ];
    row.append(...texts.map((text) => cell('td', text)));
    return row;
  });
  find('#points tbody', HTMLElement).replaceChildren(...rows);
}

function cell(kind: 'th' | 'td', text: string): HTMLTableCellElement {
  const made = document.createElement(kind);
  made.textContent = text;
  return made;
}

/* ----------------------------------------------------------------------------------------------------- Measuring */

/** Resolves to the roofline of this machine. Rejects with what the worker says, or with why it could not start. */
function measureHere(onPoint: () => void): Promise<Roofline> {
  const worker = new Worker(new URL('./measure.ts', import.meta.url), { type: 'module' });
  const result = new Promise<Roofline>((resolve, reject) => {
    worker.addEventListener('message', ({ data }) => {
      if (data.point) onPoint();
      if (data.roofline) resolve(data.roofline);
      if (data.failure) reject(new Error(data.failure));
    });
    worker.addEventListener('error', ({ message }) => reject(new Error(message || 'the worker did not start')));
  });
  worker.postMessage('measure');
  return result.finally(() => worker.terminate());
}

measureButton.addEventListener('click', async () => {
  measureButton.disabled = true;
  let done = 0;
  const tell = () => {
    progress.textContent = words[language].measuring(done++, kernels.length);
  };
  tell();
  try {
    shown = { roofline: await measureHere(tell), source: { date: new Date() } };
    progress.textContent = '';
    show();
  } catch (thrown) {
    progress.textContent = words[language].failed(thrown instanceof Error ? thrown.message : String(thrown));
  } finally {
    measureButton.disabled = false;
    // For record.mjs.
    dispatchEvent(new CustomEvent('measured', { detail: shown }));
  }
});

/* ---------------------------------------------------------------------------------------------------------- Start */

function paint(): void {
  document.documentElement.dataset.theme = theme;
  themeButton.textContent = themeSigns[theme];
}

themeButton.addEventListener('click', () => {
  theme = nextTheme(theme);
  keepPreference('theme', theme);
  paint();
});

languageButton.addEventListener('click', () => {
  language = otherLanguage(language);
  keepPreference('language', language);
  speak();
});

addEventListener('resize', show);
paint();
speak();
