/** The example of thousands of words: a map whose weights are never all there, only the rows that are looked at. */
import type { Browser, CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type * as api from '../../web/src/index.js';
import { formatWeight } from '../../web/src/view/pictures/format.js';
import { launchBrowser, type ServedFolder, serveFolder } from './support/browser.js';
import { builtSite } from './support/lens-page.js';

const SIZE = 4096;
/** Bytes of all weights of one head. */
const MAP = SIZE * SIZE * 4;

declare global {
  var multihead: typeof api;
  /** What the example leaves for the console. */
  var engine: api.Engine;
  var inputs: () => { query: Float32Array; key: Float32Array };
}

let browser: Browser;
let site: ServedFolder;
let page: Page;
let memory: CDPSession;
const problems: string[] = [];

beforeAll(async () => {
  [browser, site] = await Promise.all([launchBrowser(), serveFolder(builtSite())]);
  page = await browser.newPage({ viewport: { width: 1000, height: 900 } });
  memory = await page.context().newCDPSession(page);
  page.on('pageerror', (error) => problems.push(error.message));
  await page.goto(`${site.url}examples/long.html`);
  await page.locator('#pass', { hasText: `${SIZE} words: ` }).waitFor();
  const script = "import * as multihead from './multihead-lens.js'; Object.assign(globalThis, { multihead });";
  await page.addScriptTag({ type: 'module', content: script });
  await page.waitForFunction(() => globalThis.multihead !== undefined);
});
afterAll(async () => {
  await browser?.close();
  await site?.close();
});

/** Waits until all rows in view have come. */
async function drawn(): Promise<void> {
  const note = page.locator('mh-heatmap .binned');
  await expect.poll(() => note.textContent(), { timeout: 30_000 }).not.toContain('rows to come');
}

/** A row of head 3's weights, out of a pass over all queries with the engine's own causal mask. */
const engineRow = (row: number) =>
  page.evaluate(
    ({ row, size }) => {
      const { multihead } = globalThis;
      const { query, key } = globalThis.inputs();
      const width = query.length / 4 / size;
      const head = (data: Float32Array): api.Tensor =>
        multihead.tensor(data.slice(3 * size * width, 4 * size * width), [1, size, width]);
      const { weights } = multihead.scaledDotProductAttention(globalThis.engine, {
        query: head(query),
        key: head(key),
        value: head(key),
        causal: true,
        scale: 1,
        weightsRows: { rows: [row] },
      });
      return Array.from(weights?.data ?? []);
    },
    { row, size: SIZE },
  );

/** Bytes that scripts hold, arrays too, and the engine's linear memory. */
async function held() {
  await memory.send('HeapProfiler.collectGarbage');
  const { usedSize, backingStorageSize } = (await memory.send('Runtime.getHeapUsage')) as Record<string, number>;
  const engine = await page.evaluate(() => globalThis.engine.memory.bytes);
  return { scripts: (usedSize ?? Number.NaN) + (backingStorageSize ?? Number.NaN), engine };
}

const press = (...keys: string[]) =>
  keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve());
const focusCell = (query: number, key: number) =>
  page.evaluate(([q, k]) => document.querySelector('mh-heatmap')?.focusCell(q as number, k as number), [query, key]);

/** The tooltip tells the weight of a cell as the engine's own row has it. */
async function expectTip(query: number, key: number): Promise<void> {
  const row = await engineRow(query);
  expect(row).toHaveLength(SIZE);
  const tip = page.locator('mh-heatmap .tip');
  await expect.poll(() => tip.locator('dt').first().textContent(), { timeout: 20_000 }).toBe('weight');
  const weight = row[key] as number;
  const [shown] = await tip.locator('dd').allTextContents();
  // Another order of sums moves a weight in its last digits.
  expect([weight - 1e-6, weight, weight + 1e-6].map(formatWeight)).toContain(shown);
  const rank = row.slice(0, query + 1).filter((other) => other > weight).length + 1;
  const ranked = /rank (\d+) of (\d+)/.exec((await tip.textContent()) ?? '');
  expect(Number(ranked?.[2])).toBe(query + 1);
  if (weight > 1e-3) expect(Number(ranked?.[1])).toBe(rank);
}

describe(`a map of ${SIZE} × ${SIZE} that is never all there`, () => {
  it('shows all of it by a row for each line of pixels, and says so', async () => {
    await page.getByRole('button', { name: 'Show all' }).click();
    await page.getByText(/one query in \d+ is drawn; a pixel is the strongest of \d+ keys/).waitFor();
    await drawn();
    const colours = await page.evaluate(() => {
      const canvas = document.querySelector('mh-heatmap')?.renderRoot.querySelector('canvas');
      const pixels = canvas?.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height).data ?? [];
      return new Set(new Uint32Array(Uint8Array.from(pixels).buffer)).size;
    });
    expect(colours).toBeGreaterThan(20);
  });

  it('asks for exactly the rows in view from near', async () => {
    const asked = await page.evaluate(() => {
      const map = document.querySelector('mh-heatmap');
      const source = map?.source;
      const rows: number[] = [];
      if (map && source)
        map.source = {
          ...source,
          rows: (queries) => {
            rows.push(...queries);
            return source.rows(queries);
          },
        };
      Object.assign(window, { asked: rows });
      return rows.length;
    });
    expect(asked).toBe(0);
    for (let i = 0; i < 24; i++) await page.getByRole('button', { name: 'Zoom in' }).click();
    await drawn();
    await page.evaluate(() => ((window as unknown as { asked: number[] }).asked.length = 0));
    await focusCell(3503, 3490);
    await drawn();
    const rows = await page.evaluate(() => (window as unknown as { asked: number[] }).asked);
    expect(rows).toContain(3503);
    expect(new Set(rows).size).toBe(rows.length);
    expect(rows.length).toBeLessThan(200);
    expect(Math.max(...rows) - Math.min(...rows)).toBeLessThan(200);
  });

  it('tells any cell as the engine has it', async () => {
    const row = await engineRow(2000);
    const strongest = row.indexOf(Math.max(...row));
    expect(row[strongest]).toBeGreaterThan(0.01);
    for (const key of [strongest, 0, 2000]) {
      await focusCell(2000, key);
      await expectTip(2000, key);
    }
    await focusCell(2000, 2001);
    await expect.poll(() => page.locator('mh-heatmap .tip').textContent()).toContain('masked');
  });

  it('walks by keyboard to the last cell, names it and speaks of its row', async () => {
    await press('Control+End');
    const active = page.locator('mh-heatmap [data-active]');
    await expect.poll(() => active.getAttribute('aria-colindex')).toBe(String(SIZE + 1));
    await expect.poll(() => active.textContent(), { timeout: 20_000 }).toContain(`rank `);
    expect(await active.textContent()).toContain(`query ${SIZE} `);
    await expectTip(SIZE - 1, SIZE - 1);
    await expect
      .poll(() => page.locator('mh-heatmap [role=status]').textContent(), { timeout: 20_000 })
      .toMatch(new RegExp(`query ${SIZE} .*strongest key \\d+ `));
    await press('ArrowUp');
    await expect.poll(() => page.locator('mh-heatmap .tip').textContent()).toContain('masked');
  });

  it('holds less than one map of one head, wherever it was scrolled', async () => {
    for (let row = 0; row < SIZE; row += 512) {
      await focusCell(row, row);
      await drawn();
    }
    const { scripts, engine } = await held();
    expect(scripts).toBeLessThan(MAP);
    expect(engine).toBeLessThan(MAP);
    expect(problems).toEqual([]);
  });

  it('shows another head, another mask and another size', async () => {
    await page.locator('[name=mask]').selectOption('both');
    await page.locator('[name=size]').selectOption('1024');
    await page.locator('#pass', { hasText: '1024 words: ' }).waitFor();
    await focusCell(1000, 1000 - 257);
    await expect.poll(() => page.locator('mh-heatmap .tip').textContent(), { timeout: 20_000 }).toContain('masked');
    await focusCell(1000, 1000 - 256);
    await expect.poll(() => page.locator('mh-heatmap .tip').textContent(), { timeout: 20_000 }).toContain('rank');
    expect(problems).toEqual([]);
  });

  it('says what went wrong where rows cannot be computed, and asks again', async () => {
    await page.evaluate(() => {
      const map = document.querySelector('mh-heatmap');
      const source = map?.source;
      let broken = true;
      Object.assign(window, { mend: () => (broken = false) });
      if (map && source)
        map.source = {
          ...source,
          rows: (queries) => (broken ? Promise.reject(new Error('the machine is tired')) : source.rows(queries)),
        };
    });
    const note = page.locator('mh-heatmap .binned');
    await expect.poll(() => note.textContent()).toContain('Some rows could not be computed: the machine is tired');
    await page.evaluate(() => (window as unknown as { mend(): void }).mend());
    await focusCell(10, 3);
    await expect.poll(() => page.locator('mh-heatmap .tip').textContent()).toContain('rank');
    expect(await note.textContent()).not.toContain('tired');
    expect(new Set(problems)).toEqual(new Set(['the machine is tired']));
  });
});
