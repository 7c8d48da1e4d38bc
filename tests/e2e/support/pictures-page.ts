/** A page with only the picture elements in it, built from source in memory: no server, no engine, no shell. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { build } from 'vite';

const ROOT = new URL('../../../', import.meta.url).pathname;

const ENTRY = `
  import { definePictures } from '${ROOT}web/src/view/pictures/define-pictures.ts';
  import * as colour from '${ROOT}web/src/view/pictures/colour.ts';
  import { mapImage, svgToPng } from '${ROOT}web/src/view/pictures/export-png.ts';
  import { mapSvg } from '${ROOT}web/src/view/pictures/export-svg.ts';
  definePictures();
  Object.assign(window, { pictures: { colour, mapImage, svgToPng, mapSvg } });
`;

/** The pictures as one script. */
export async function buildPictures(): Promise<string> {
  const output = await build({
    root: ROOT,
    configFile: false,
    logLevel: 'error',
    plugins: [
      {
        name: 'pictures-entry',
        resolveId: (id) => (id === 'pictures-entry' ? `${ROOT}pictures-entry.js` : null),
        load: (id) => (id === `${ROOT}pictures-entry.js` ? ENTRY : null),
      },
    ],
    build: { write: false, rollupOptions: { input: 'pictures-entry' } },
  });
  const chunks = (Array.isArray(output) ? output : [output]).flatMap((result) =>
    'output' in result ? result.output : [],
  );
  const chunk = chunks.find((part) => part.type === 'chunk');
  if (chunk?.type !== 'chunk') throw new Error('vite built no script of the pictures');
  return chunk.code;
}

/** Functions of the page, for `page.evaluate`. */
declare global {
  interface Window {
    softmaxMap: (T: number, S: number, causal: boolean) => { weights: Float32Array; visible: Uint8Array };
    /** Every event of the pictures: [name, detail]. */
    seen: [string, unknown][];
  }
}

/** Errors that a page threw, for the test to expect or to fail by. */
export const pageErrors = new WeakMap<Page, string[]>();

/** Opens a page with the pictures. */
export async function openPictures(
  browser: Browser,
  script: string,
  options: BrowserContextOptions = {},
): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 700, height: 700 }, ...options });
  const page = await context.newPage();
  const errors: string[] = [];
  pageErrors.set(page, errors);
  page.on('pageerror', (error) => errors.push(error.message));
  await page.setContent(`<!doctype html><html lang="en"><head><title>Pictures</title><style>
    :root { color-scheme: light dark; --mh-ink: #1b1f27; --mh-paper: #fff; --mh-accent: #b3321b; --mh-focus: #b3321b }
    @media (prefers-color-scheme: dark) { :root { --mh-ink: #e8eaee; --mh-paper: #14171c; --mh-accent: #ff8a5c; --mh-focus: #ff8a5c } }
    body { margin: 16px; background: var(--mh-paper) }
  </style></head><body><main><h1>Pictures</h1></main></body></html>`);
  await page.addScriptTag({ content: script, type: 'module' });
  await page.waitForFunction(() => customElements.get('mh-heatmap') !== undefined);
  await page.evaluate(() => {
    // Weights that differ from cell to cell and are the same in every run.
    window.softmaxMap = (T, S, causal) => {
      const weights = new Float32Array(T * S);
      const visible = new Uint8Array(T * S);
      for (let q = 0; q < T; q++) {
        let sum = 0;
        for (let k = 0; k < S; k++) {
          const at = q * S + k;
          visible[at] = causal && k > q ? 0 : 1;
          weights[at] = visible[at] ? Math.exp(3 * Math.sin(q * 12.9898 + k * 78.233)) : 0;
          sum += weights[at] as number;
        }
        for (let k = 0; k < S; k++) weights[q * S + k] = (weights[q * S + k] as number) / sum;
      }
      return { weights, visible };
    };
    window.seen = [];
    for (const name of ['mh-cell', 'mh-query', 'mh-paint', 'mh-head-step', 'mh-table', 'mh-head-select'] as const) {
      document.addEventListener(name, (event) => window.seen.push([name, (event as CustomEvent).detail]));
    }
  });
  return page;
}

/** Adds a heatmap of `count` tokens and returns when it is drawn. */
export async function addHeatmap(page: Page, count: number, properties: object = {}): Promise<void> {
  await page.evaluate(
    async ([size, more]) => {
      const heatmap = document.createElement('mh-heatmap');
      const tokens = Array.from({ length: size }, (_, i) => ({
        text: ['The', 'cat', 'sat', 'on', 'a', '垫子', '。'][i % 7] as string,
      }));
      const entropies = { values: new Float32Array(size).fill(1), max: 3, unit: 'bits' as const };
      const map = window.softmaxMap(size, size, true);
      Object.assign(
        heatmap,
        { queries: tokens, keys: tokens, ...map, rowValues: entropies, label: 'Layer 2, head 5' },
        more,
      );
      document.querySelector('main')?.append(heatmap);
      await heatmap.updateComplete;
    },
    [count, properties] as const,
  );
}
