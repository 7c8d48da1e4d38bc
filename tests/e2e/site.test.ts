/** The site: what is typed, what the page then says, and whether the engine says the same. */
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { bilingual } from '../../web/models/bilingual/index.js';
import { loadModel, type Model, type RunOptions, type RunResult } from '../../web/src/index.js';
import { en } from '../../web/src/view/i18n/en.js';
import { formatNumber, formatWeight } from '../../web/src/view/pictures/format.js';
import { launchBrowser, type ServedFolder, serveFolder } from './support/browser.js';
import { builtSite, LensPage, rowOf, sum } from './support/lens-page.js';

/** Two builds of the engine, on two hosts. */
const TOLERANCE = 1e-4;
const SENTENCE = 'The dog chased the ball because it was happy.';

let browser: Browser;
let site: ServedFolder;
let model: Model;
let lens: LensPage;

beforeAll(async () => {
  [browser, site, model] = await Promise.all([
    launchBrowser(),
    serveFolder(builtSite()),
    loadModel(bilingual, { build: 'simd128' }),
  ]);
});
afterAll(async () => {
  await browser?.close();
  await site?.close();
  model?.dispose();
});
afterEach(async () => {
  await lens?.close();
  expect(lens?.problems).toEqual([]);
});

const open = async (hash = '') => {
  lens = await LensPage.open(browser, `${site.url}${hash}`);
};

/** Largest difference of two lists of equal length. */
function distance(a: readonly number[], b: ArrayLike<number>): number {
  expect(a.length).toBe(b.length);
  return a.reduce((worst, value, i) => Math.max(worst, Math.abs(value - (b[i] ?? Number.NaN))), 0);
}

/** Is `text` how a number within the tolerance of `value` is written? */
function expectWritten(text: string | undefined, value: number, format: (value: number) => string): void {
  expect([value - TOLERANCE, value, value + TOLERANCE].map(format)).toContain(text);
}

function headMap(run: RunResult, layer: number, head: number): Float32Array {
  const cells = run.tokens.length ** 2;
  const start = (layer * run.heads + head) * cells;
  return run.attention.subarray(start, start + cells);
}

function column(names: readonly string[], name: string): number {
  const at = names.indexOf(name);
  if (at < 0) throw new Error(`the engine has no statistic ${name}, but ${names}`);
  return at;
}

function headMean(run: RunResult, layer: number, head: number, name: string): number {
  const names = run.statisticNames.head;
  return run.headStatistics[(layer * run.heads + head) * names.length + column(names, name)] as number;
}

function rowValue(run: RunResult, layer: number, head: number, row: number, name: string): number {
  const names = run.statisticNames.row;
  const at = (layer * run.heads + head) * run.tokens.length + row;
  return run.rowStatistics[at * names.length + column(names, name)] as number;
}

/** The page's answer is the engine's, number by number. */
async function expectEngine(text: string, options: RunOptions): Promise<RunResult> {
  await lens.answered();
  const run = await model.run(text, { stages: true, ...options });
  const page = await lens.answer();
  expect(page.texts).toEqual(run.tokens.map((token) => token.text));
  expect(distance(page.attention, run.attention)).toBeLessThan(TOLERANCE);
  expect(distance(page.headStatistics, run.headStatistics)).toBeLessThan(2e-3);
  if (run.logits) expect(distance(page.logits, run.logits)).toBeLessThan(2e-3);
  return run;
}

const CAUSAL: RunOptions = { mask: { causal: true }, logits: 'last', endToken: false };

describe('numbers', () => {
  test.each([SENTENCE, '今天天气真好，我们去公园吧。'])('of “%s” are those of the engine', async (text) => {
    await open('#heads=2.1&mask=causal');
    await lens.type(text);
    const run = await expectEngine(text, CAUSAL);
    const size = run.tokens.length;

    // The picture, and its table: every cell and every row's entropy.
    const [map] = await lens.maps();
    const expected = headMap(run, 1, 0);
    expect(distance(map?.weights ?? [], expected)).toBeLessThan(TOLERANCE);
    await lens.page.getByLabel('table', { exact: true }).check();
    await lens.drawn();
    const table = await lens.table();
    expect(table).toHaveLength(size);
    for (const [q, row] of table.entries()) {
      expect(row).toHaveLength(size + 1);
      for (const [k, cell] of row.slice(0, size).entries()) {
        if (k > q) expect(cell).toBe('masked');
        else expectWritten(cell, expected[q * size + k] as number, formatWeight);
      }
      expectWritten(row[size], rowValue(run, 1, 0, q, 'entropyNats'), formatNumber);
    }

    // Next token: names, order, probabilities.
    const predictions = await lens.predictions();
    const top = run.topK[0]?.predictions ?? [];
    expect(predictions.map(([name]) => name)).toEqual(
      top.map(({ text }) => (text === '</s>' ? en['output.end'] : text)),
    );
    for (const [i, [, shown]] of predictions.entries())
      expectWritten(shown, top[i]?.probability ?? Number.NaN, formatWeight);

    // Every head's entropy, as the grid of heads says it.
    const names = await lens.page
      .getByRole('grid', { name: /Heads/ })
      .getByRole('gridcell')
      .evaluateAll((cells) => cells.map((cell) => cell.getAttribute('aria-label') ?? ''));
    expect(names).toHaveLength(32);
    for (const [i, name] of names.entries()) {
      const [layer, head] = [Math.floor(i / 8), i % 8];
      const shown = /^Layer (\d), head (\d), entropy (\S+) nats/.exec(name);
      expect(shown?.slice(1, 3)).toEqual([`${layer + 1}`, `${head + 1}`]);
      expectWritten(shown?.[3], headMean(run, layer, head, 'entropyNats'), formatNumber);
    }

    const proof = await lens.facts('proof');
    expect(proof.tokens).toBe(`${size} / 64`);
    expect(proof[en['proof.heads']]).toBe('4 × 8');
    expect(proof.engine).toBe('wasm, relaxed SIMD, in a worker, 1 thread');
    expect(Number(proof[en['proof.sums']]?.replace('± ', ''))).toBeLessThan(1e-6);
    expect(proof.compute).toMatch(/^[\d.]+ ms$/);
    expect(proof[en['proof.pixels']]).toMatch(/^[\d.]+ ms$/);
  });

  test('of one cell are said under the pointer, in the reading and to the keyboard', async () => {
    await open(`#text=${encodeURIComponent(SENTENCE)}&heads=2.1&mask=causal`);
    const run = await expectEngine(SENTENCE, CAUSAL);
    const size = run.tokens.length;
    const [query, key] = [7, 2];
    const at = query * size + key;
    const weight = headMap(run, 1, 0)[at] as number;
    const raw = (run.rawScores as Float32Array)[8 * size * size + at] as number;

    const point = await lens.cell(query, key);
    await lens.page.mouse.move(point.x, point.y);
    await lens.drawn();
    const reading = await lens.facts('reading');
    expectWritten(reading.weight, weight, formatWeight);
    expectWritten(reading[en['reading.raw']], raw, formatNumber);
    expectWritten(reading['q·k × 0.25'], raw / 4, formatNumber);
    expectWritten(
      reading['row entropy']?.replace(' nats', ''),
      rowValue(run, 1, 0, query, 'entropyNats'),
      formatNumber,
    );

    await lens.page.mouse.click(point.x, point.y);
    await lens.page.mouse.move(0, 0);
    expect((await lens.state()).query).toBe(query);
    await lens.page.keyboard.press('ArrowLeft');
    const said = await lens.focused();
    const match = /^query 8 .*attends to key 2 .*: (\S+), rank (\d+) of 8$/.exec(said);
    expectWritten(match?.[1], headMap(run, 1, 0)[at - 1] as number, formatWeight);

    // The pinned row stands as bars over the tokens.
    const bars = await lens.page.evaluate(() =>
      [...(document.querySelector('multihead-lens')?.renderRoot.querySelectorAll('button.chip') ?? [])].map((chip) => ({
        title: (chip as HTMLElement).title,
        pressed: chip.getAttribute('aria-pressed'),
        height: chip.querySelector<HTMLElement>('.bar i')?.getBoundingClientRect().height ?? 0,
      })),
    );
    const row = rowOf([...headMap(run, 1, 0)], query, size);
    expect(bars).toHaveLength(size);
    expect(bars.map((bar) => bar.pressed === 'true')).toEqual(row.map((_, k) => k === query));
    const highest = Math.max(...bars.map((bar) => bar.height)) / Math.max(...row);
    for (const [k, bar] of bars.entries()) {
      expectWritten(/gets (\S+)/m.exec(bar.title)?.[1], row[k] as number, formatWeight);
      expect(Math.abs(bar.height - (row[k] as number) * highest)).toBeLessThan(1.5);
    }
  });

  test('follow every keystroke', async () => {
    await open();
    await lens.type('A bird');
    const one = await expectEngine('A bird', CAUSAL);
    await lens.page.keyboard.type(' sings');
    const two = await expectEngine('A bird sings', CAUSAL);
    expect(two.tokens.length).toBeGreaterThan(one.tokens.length);
    for (let i = 0; i < 6; i++) await lens.page.keyboard.press('Backspace');
    await expectEngine('A bird', CAUSAL);
  });
});

describe('the mask token', () => {
  test('in place of a word shows the five most probable, and can be taken back', async () => {
    await open(`#text=${encodeURIComponent(SENTENCE)}&mask=none`);
    await lens.choose('token-tool', 'replace');
    await lens.token('ball').click();
    const run = await expectEngine(SENTENCE, { mask: {}, maskTokens: [6], logits: [6], endToken: true });
    const shown = await lens.predictions();
    expect(shown.map(([name]) => name)).toEqual(
      run.topK[0]?.predictions.map(({ text }) => (text === '</s>' ? en['output.end'] : text)),
    );
    expect(shown).toHaveLength(5);
    for (const [i, [, probability]] of shown.entries())
      expectWritten(probability, run.topK[0]?.predictions[i]?.probability ?? Number.NaN, formatWeight);
    expect(await lens.page.getByRole('heading', { name: 'In place of “ball”' }).count()).toBe(1);

    await lens.button('Put “ball” back').click();
    await expectEngine(SENTENCE, { mask: {}, endToken: true });
    expect(await lens.predictions()).toEqual([]);
  });
});

describe('heads', () => {
  const cell = (layer: number, head: number) =>
    lens.page.getByRole('gridcell', { name: new RegExp(`^Layer ${layer}, head ${head},`) });
  const chosen = async () => (await lens.state()).heads.map(({ layer, head }) => `${layer + 1}.${head + 1}`);

  test('are chosen by click, added by shift-click, walked by keyboard; several average or stand side by side', async () => {
    await open(`#text=${encodeURIComponent(SENTENCE)}&mask=causal&heads=2.1`);
    const run = await expectEngine(SENTENCE, CAUSAL);
    await cell(3, 7).click();
    expect(await chosen()).toEqual(['3.7']);
    await lens.drawn();
    expect(distance((await lens.maps())[0]?.weights ?? [], headMap(run, 2, 6))).toBeLessThan(TOLERANCE);

    await cell(1, 2).click({ modifiers: ['Shift'] });
    expect(await chosen()).toEqual(['3.7', '1.2']);
    await lens.drawn();
    const [average, ...rest] = await lens.maps();
    expect(rest).toEqual([]);
    expect(average?.label).toBe('Average of L3·H7, L1·H2');
    const [a, b] = [headMap(run, 2, 6), headMap(run, 0, 1)];
    const mean = a.map((weight, i) => (weight + (b[i] as number)) / 2);
    expect(distance(average?.weights ?? [], mean)).toBeLessThan(TOLERANCE);
    // The entropy of an average row is that of the row, not the average of two.
    const size = run.tokens.length;
    const entropy = -sum(rowOf([...mean], size - 1, size).map((w) => (w > 0 ? w * Math.log(w) : 0)));
    expect(average?.entropies[size - 1]).toBeCloseTo(entropy, 3);

    await lens.choose('combine', 'side');
    await lens.drawn();
    const both = await lens.maps();
    expect(both.map((map) => map.label)).toEqual(['Layer 3, head 7', 'Layer 1, head 2']);
    expect(distance(both[1]?.weights ?? [], b)).toBeLessThan(TOLERANCE);

    await cell(3, 7).click({ modifiers: ['Shift'] });
    expect(await chosen()).toEqual(['1.2']);
    await lens.page.keyboard.press('ArrowRight');
    await lens.page.keyboard.press('ArrowDown');
    await lens.page.keyboard.press('Enter');
    await lens.drawn();
    const walked = await chosen();
    expect(walked).toHaveLength(1);
    expect(walked[0]).toBe('4.8');
  });

  test('change by page keys on the map', async () => {
    await open('#heads=2.1&mask=causal');
    const point = await lens.cell(2, 1);
    await lens.page.mouse.click(point.x, point.y);
    const press = async (key: string) => {
      await lens.page.keyboard.press(key);
      await lens.drawn();
      return chosen();
    };
    expect(await press('PageDown')).toEqual(['2.2']);
    expect(await press(']')).toEqual(['3.2']);
    expect(await press('PageUp')).toEqual(['3.1']);
    expect(await press('[')).toEqual(['2.1']);
  });
});

describe('ablation', () => {
  test('changes what follows and the prediction; giving all back brings the same bits', async () => {
    await open(`#text=${encodeURIComponent(SENTENCE)}&mask=causal&heads=1.4`);
    const before = await lens.answer();
    const perLayer = before.attention.length / 4;
    let last = before;
    for (const kind of ['zero', 'mean', 'uniform'] as const) {
      await lens.choose('ablate', kind);
      await expectEngine(SENTENCE, { ...CAUSAL, ablate: [{ layer: 0, head: 3, kind }] });
      const after = await lens.answer();
      expect(distance(after.attention.slice(perLayer), last.attention.slice(perLayer))).toBeGreaterThan(1e-3);
      expect(distance(after.logits, last.logits)).toBeGreaterThan(1e-3);
      expect(after.baseline).toEqual(before.attention);
      last = after;
    }
    // Before and after stand side by side.
    expect((await lens.predictions())[0]).toHaveLength(3);
    await lens.button(en['ablate.clear']).click();
    await lens.answered();
    const back = await lens.answer();
    expect(back.attention).toEqual(before.attention);
    expect(back.logits).toEqual(before.logits);
    expect(back.baseline).toBeNull();
  });
});

describe('scale and temperature', () => {
  test('are those of the engine, and undone together', async () => {
    await open(`#text=${encodeURIComponent(SENTENCE)}&mask=causal`);
    const before = await lens.answer();
    await lens.choose('scale', 'none');
    await expectEngine(SENTENCE, { ...CAUSAL, scale: 'none' });
    await lens.choose('scale', 'value');
    await lens.page.getByLabel('Factor on q·k').fill('0.1');
    await lens.page.keyboard.press('Tab');
    await expectEngine(SENTENCE, { ...CAUSAL, scale: 0.1 });
    await lens.page.getByRole('slider', { name: /^Temperature/ }).press('PageUp');
    await lens.answered();
    const { temperature } = await lens.state();
    expect(temperature).toBeGreaterThan(1);
    await expectEngine(SENTENCE, { ...CAUSAL, scale: 0.1, temperature });
    await lens.button(en['output.reset']).click();
    await lens.answered();
    expect((await lens.answer()).attention).toEqual(before.attention);
  });
});

describe('views', () => {
  test('the difference is now minus before', async () => {
    await open(`#text=${encodeURIComponent(SENTENCE)}&mask=causal&heads=3.7`);
    await lens.choose('view', 'difference');
    expect(await lens.page.getByText('Nothing to compare yet.').count()).toBe(1);
    await lens.choose('scale', 'none');
    await lens.answered();
    const [before, after] = await Promise.all([
      model.run(SENTENCE, CAUSAL),
      model.run(SENTENCE, { ...CAUSAL, scale: 'none' }),
    ]);
    const [map] = await lens.maps();
    expect(distance(map?.baseline ?? [], headMap(before, 2, 6))).toBeLessThan(TOLERANCE);
    expect(distance(map?.weights ?? [], headMap(after, 2, 6))).toBeLessThan(TOLERANCE);
    await lens.page.getByLabel('table', { exact: true }).check();
    await lens.drawn();
    const size = after.tokens.length;
    const numbers = (await lens.table()).map((row) => row.slice(0, size));
    for (const [q, row] of numbers.entries())
      for (const [k, text] of row.slice(0, q + 1).entries()) {
        const change = (headMap(after, 2, 6)[q * size + k] ?? 0) - (headMap(before, 2, 6)[q * size + k] ?? 0);
        const number = Number(text.replace('−', '-').replace('±0', '0'));
        expect(Math.abs(number - change)).toBeLessThan(0.0052);
      }
  });

  test('the steps end in the weights', async () => {
    await open(`#text=${encodeURIComponent(SENTENCE)}&mask=causal&heads=2.1&query=6&view=steps`);
    const run = await expectEngine(SENTENCE, CAUSAL);
    const size = run.tokens.length;
    const rows = await lens.page.evaluate(() =>
      [
        ...(document
          .querySelector('multihead-lens')
          ?.renderRoot.querySelectorAll<HTMLTableRowElement>('.steps tbody tr') ?? []),
      ].map((row) => [...row.cells].slice(1).map((cell) => cell.textContent?.trim() ?? '')),
    );
    expect(rows).toHaveLength(4);
    const row = headMap(run, 1, 0).subarray(6 * size, 7 * size);
    for (const [k, text] of (rows[3] ?? []).entries()) expectWritten(text, row[k] as number, formatWeight);
    expect(rows[1]?.slice(7)).toEqual(Array(size - 7).fill('−∞'));
  });

  test('entropy has three units', async () => {
    await open(`#text=${encodeURIComponent(SENTENCE)}&mask=causal&heads=2.1`);
    const run = await expectEngine(SENTENCE, CAUSAL);
    const column = { nats: 'entropyNats', bits: 'entropyBits', normalised: 'entropyNormalised' } as const;
    for (const [unit, name] of Object.entries(column)) {
      await lens.choose('unit', unit);
      await lens.drawn();
      const [map] = await lens.maps();
      const expected = run.tokens.map((_, row) => rowValue(run, 1, 0, row, name));
      expect(distance(map?.entropies ?? [], expected)).toBeLessThan(2e-3);
    }
  });
});

describe('language', () => {
  /** Every text of the page but those that are said to be in `not`, and the button that leads to the other language. */
  const words = async (not: string) =>
    (await lens.words()).filter(({ language }) => !language.startsWith(not)).map(({ text }) => text);

  /** Names that are the same in both languages. */
  const NAMES =
    /multihead|\[MASK\]|COOP|COEP|int8|WebAssembly|NaN|cividis|viridis|wasm|SIMD|relaxed|worker|SVG|PNG|CSV|JSON|Ctrl|Shift|Enter|Esc|Tab|PgUp|PgDn|Page Up|Page Down|\bL\d·H\d|√d_k|d_k|q·k|QKᵀ|MB|ln\(|max|Z\b|\bT\b|L\d/g;

  test('changes every word, and nothing of the other is left', async () => {
    await open(`#text=${encodeURIComponent('苹果在桌子上。')}&mask=causal&heads=1.1,2.1&ablate=1.1.zero&padding=2`);
    // Tokens and what they are predicted to be are in the language of the text.
    const tokens = new Set([...(await lens.answer()).texts, ...(await lens.predictions()).map(([name]) => name ?? '')]);
    // The longest first: some are parts of others.
    const longestFirst = [...tokens].sort((a, b) => b.length - a.length);
    const withoutTokens = (text: string) => longestFirst.reduce((rest, token) => rest.replaceAll(token, ''), text);

    const english = (await words('zh')).map(withoutTokens).filter((text) => /\p{Script=Han}/u.test(text));
    expect(english).toEqual([]);
    expect(await lens.page.evaluate(() => document.documentElement.lang)).toBe('en');

    await lens.page.locator('#language').click();
    await lens.drawn();
    expect(await lens.page.evaluate(() => document.documentElement.lang)).toBe('zh-Hans');
    expect(await lens.page.title()).toContain('注意力');
    for (const view of ['heatmap', 'difference', 'steps']) {
      await lens.choose('view', view);
      await lens.drawn();
      const left = (await words('en'))
        .map((text) => text.replace(NAMES, ''))
        .filter((text) => /[A-Za-z]{2}/.test(text));
      expect(left).toEqual([]);
    }
    // It is kept for the next visit.
    await lens.page.goto(site.url);
    await lens.answered();
    expect(await lens.page.evaluate(() => document.documentElement.lang)).toBe('zh-Hans');
    expect((await lens.answer()).texts.join('')).toContain('小明喜欢打球');
  });

  test('is the browser’s at first', async () => {
    lens = await LensPage.open(browser, site.url, { locale: 'zh-CN' });
    expect(await lens.page.getByRole('heading', { name: '掩码', exact: true }).count()).toBe(1);
    expect((await lens.answer()).texts.join('')).toContain('小明喜欢打球');
  });
});
