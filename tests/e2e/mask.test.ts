/** The mask in the site: presets, tokens switched off, painted cells, undo; and that all that follows is computed anew. */
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { bilingual } from '../../web/models/bilingual/index.js';
import { loadModel, type Model, type RunOptions } from '../../web/src/index.js';
import { en } from '../../web/src/view/i18n/en.js';
import { launchBrowser, type ServedFolder, serveFolder } from './support/browser.js';
import { builtSite, LensPage, rowOf, sum } from './support/lens-page.js';

const SENTENCE = 'The dog chased the ball because it was happy.';
const HASH = `#text=${encodeURIComponent(SENTENCE)}&heads=2.1&mask=causal`;

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

const open = async (hash = HASH) => {
  lens = await LensPage.open(browser, `${site.url}${hash}`);
};

type Said = Awaited<ReturnType<LensPage['answer']>>;

/** A row of one head. */
function row({ attention, texts }: Said, layer: number, head: number, query: number): readonly number[] {
  const size = texts.length;
  const start = (layer * 8 + head) * size * size;
  return rowOf(attention.slice(start, start + size * size), query, size);
}

/** Layers, from 0, in which any weight of two answers differs by more than rounding. */
function changedLayers(before: Said, after: Said): number[] {
  const layer = before.attention.length / 4;
  return [0, 1, 2, 3].filter((l) =>
    before.attention.slice(l * layer, (l + 1) * layer).some((weight, i) => {
      return Math.abs(weight - (after.attention[l * layer + i] as number)) > 1e-6;
    }),
  );
}

async function expectEngine(options: RunOptions): Promise<Said> {
  await lens.answered();
  const said = await lens.answer();
  const run = await model.run(SENTENCE, options);
  expect(said.texts).toEqual(run.tokens.map(({ text }) => text));
  const worst = said.attention.reduce(
    (max, weight, i) => Math.max(max, Math.abs(weight - (run.attention[i] as number))),
    0,
  );
  expect(worst).toBeLessThan(1e-4);
  return said;
}

/** Keys that the rows of the first head see, by the weights themselves. */
const seen = (said: Said): number[][] =>
  said.texts.map((_, query) => row(said, 0, 0, query).flatMap((weight, key) => (weight > 0 ? [key] : [])));

describe('presets', () => {
  test('causal, bidirectional, window and prefix let each row see what they say', async () => {
    await open();
    const keys = (size: number, allows: (query: number, key: number) => boolean) =>
      Array.from({ length: size }, (_, query) =>
        Array.from({ length: size }, (_, key) => key).filter((key) => allows(query, key)),
      );
    const causal = await expectEngine({ mask: { causal: true } });
    expect(seen(causal)).toEqual(keys(causal.texts.length, (q, k) => k <= q));

    await lens.choose('mask', 'none');
    const none = await expectEngine({ mask: {}, endToken: true });
    expect(none.texts.length).toBe(causal.texts.length + 1);
    expect(seen(none)).toEqual(keys(none.texts.length, () => true));

    await lens.choose('mask', 'window');
    const slider = lens.page.getByRole('slider', { name: /^Tokens on each side/ });
    await slider.press('Home');
    for (let i = 0; i < 3; i++) await slider.press('ArrowRight');
    const window = await expectEngine({ mask: { window: 3 }, endToken: true });
    expect(seen(window)).toEqual(keys(window.texts.length, (q, k) => Math.abs(q - k) <= 3));

    await lens.choose('mask', 'prefix');
    await lens.page.getByRole('slider', { name: /^Tokens in the prefix/ }).press('ArrowRight');
    const prefix = await expectEngine({ mask: { causal: true, prefix: 4 } });
    expect(seen(prefix)).toEqual(keys(prefix.texts.length, (q, k) => k <= q || k < 4));

    await lens.choose('mask', 'causal');
    await lens.answered();
    expect((await lens.answer()).attention).toEqual(causal.attention);
  });

  test('a token switched off gets no weight in any layer or head, and comes back bit by bit', async () => {
    await open();
    const before = await lens.answer();
    await lens.choose('token-tool', 'pad');
    await lens.token('dog').click();
    const off = await expectEngine({ mask: { causal: true, padding: [2] } });
    const size = off.texts.length;
    for (let i = 0; i < off.attention.length; i += size) expect(off.attention[i + 2]).toBe(0);
    expect(await lens.page.getByText('1 token off').count()).toBe(1);
    await lens.token('dog').click();
    await lens.answered();
    expect((await lens.answer()).attention).toEqual(before.attention);
  });
});

describe('painting', () => {
  const paint = (tool: string) => lens.choose('paint', tool);
  const query = 8; // "it"

  test('a cell by mouse hides it: weight 0, the row still sums to 1, later layers follow; undo, redo, reset', async () => {
    await open();
    const before = await lens.answer();
    await paint('hide');
    const point = await lens.cell(query, 2);
    await lens.page.mouse.click(point.x, point.y);
    await lens.answered();
    const after = await lens.answer();
    for (const layer of [0, 1, 2, 3])
      for (let head = 0; head < 8; head++) {
        expect(row(after, layer, head, query)[2]).toBe(0);
        expect(sum(row(after, layer, head, query))).toBeCloseTo(1, 5);
      }
    // In the first layer the rest of the row only grows to fill the gap.
    const old = row(before, 0, 0, query);
    for (const [key, weight] of row(after, 0, 0, query).entries())
      if (key !== 2) expect(weight).toBeCloseTo((old[key] as number) / (1 - (old[2] as number)), 5);
    // Other rows of the first layer have not changed, and all layers after it have.
    expect(row(after, 0, 0, query - 1)).toEqual(row(before, 0, 0, query - 1));
    expect(changedLayers(before, after)).toEqual([0, 1, 2, 3]);
    expect(after.logits).not.toEqual(before.logits);
    expect(await lens.page.getByText('1 cell painted').count()).toBe(1);

    const button = (name: string) => lens.button(name).click();
    await button('Undo');
    await lens.answered();
    expect((await lens.answer()).attention).toEqual(before.attention);
    await button('Redo');
    await lens.answered();
    expect((await lens.answer()).attention).toEqual(after.attention);
    await button('Reset the mask');
    await lens.answered();
    expect((await lens.answer()).attention).toEqual(before.attention);
    await lens.page.mouse.click(5, 5);
    await lens.page.keyboard.press('Control+z');
    // The focus is outside the lens; inside it the keys work.
    expect((await lens.state()).mask.painted).toEqual([]);
    await lens.button('Undo').focus();
    await lens.page.keyboard.press('Control+z');
    await lens.answered();
    expect((await lens.answer()).attention).toEqual(after.attention);
    await lens.page.keyboard.press('Control+Shift+z');
    await lens.answered();
    expect((await lens.answer()).attention).toEqual(before.attention);
  });

  test('a cell by keyboard does the same', async () => {
    await open();
    await paint('hide');
    const point = await lens.cell(query, 1);
    await lens.page.mouse.move(0, 0);
    await lens.page.evaluate(() => document.querySelector('multihead-lens')?.heatmaps[0]?.focusCell(7, 1));
    await lens.page.keyboard.press('ArrowDown');
    await lens.page.keyboard.press('Enter');
    await lens.answered();
    const byKeyboard = await lens.answer();
    expect(row(byKeyboard, 3, 7, query)[1]).toBe(0);
    expect(await lens.focused()).toMatch(/^query 9 “it” attends to key 2 “The”: masked$/);
    await lens.page.keyboard.press('Control+z');
    await lens.answered();
    await lens.page.mouse.click(point.x, point.y);
    await lens.answered();
    expect((await lens.answer()).attention).toEqual(byKeyboard.attention);
  });

  test('in the selected head alone changes that head, and what follows it', async () => {
    await open(`${HASH}&heads=2.3`);
    const before = await lens.answer();
    await lens.page.getByRole('combobox', { name: 'in', exact: true }).selectOption('selected');
    await paint('hide');
    const point = await lens.cell(query, 0);
    await lens.page.mouse.click(point.x, point.y);
    await lens.answered();
    const after = await lens.answer();
    expect(row(after, 1, 2, query)[0]).toBe(0);
    for (let head = 0; head < 8; head++)
      if (head !== 2) expect(row(after, 1, head, query)).toEqual(row(before, 1, head, query));
    expect(changedLayers(before, after)).toEqual([1, 2, 3]);
  });

  test('shows what causal hides', async () => {
    await open();
    await paint('show');
    const point = await lens.cell(2, 9);
    await lens.page.mouse.click(point.x, point.y);
    await lens.answered();
    const after = await lens.answer();
    expect(row(after, 0, 0, 2)[9]).toBeGreaterThan(0);
    expect(row(after, 0, 0, 2)[8]).toBe(0);
    expect(sum(row(after, 0, 0, 2))).toBeCloseTo(1, 5);
  });

  test('a drag is one step, undone at once', async () => {
    await open();
    const before = await lens.answer();
    await paint('hide');
    const [from, to] = [await lens.cell(9, 1), await lens.cell(9, 6)];
    await lens.page.mouse.move(from.x, from.y);
    await lens.page.mouse.down();
    await lens.page.mouse.move(to.x, to.y, { steps: 12 });
    await lens.page.mouse.up();
    await lens.answered();
    expect(row(await lens.answer(), 2, 0, 9).slice(1, 7)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(await lens.page.getByText('6 cells painted').count()).toBe(1);
    await lens.button('Undo').click();
    await lens.answered();
    expect((await lens.answer()).attention).toEqual(before.attention);
  });

  test('a whole row leaves nothing to see: zeros, said so, and never a NaN', async () => {
    await open();
    await paint('hide');
    await lens.page.evaluate(() => document.querySelector('multihead-lens')?.heatmaps[0]?.focusCell(8, 0));
    await lens.page.keyboard.press('ArrowLeft');
    await lens.page.keyboard.press('Enter');
    await lens.answered();
    const after = await lens.answer();
    for (const layer of [0, 1, 2, 3])
      for (let head = 0; head < 8; head++) expect(sum(row(after, layer, head, query).map(Math.abs))).toBe(0);
    expect(after.attention.every(Number.isFinite)).toBe(true);
    expect(after.logits.every(Number.isFinite)).toBe(true);
    expect(after.maskedRows).toBe(32);
    const proof = await lens.facts('proof');
    expect(proof[en['proof.masked']]).toBe('32');
    const notNumbers = async () => (await lens.words()).filter(({ text }) => /NaN(?! or)|^–$/.test(text));
    expect(await notNumbers()).toEqual([]);
    await lens.choose('view', 'steps');
    await lens.page.evaluate(() => {
      const element = document.querySelector('multihead-lens');
      if (element) element.query = 8;
    });
    await lens.drawn();
    expect(await notNumbers()).toEqual([]);
  });

  test('edits follow their tokens when the text changes before them', async () => {
    await open();
    await paint('hide');
    const point = await lens.cell(query, 2);
    await lens.page.mouse.click(point.x, point.y);
    await lens.answered();
    await lens.field.click();
    await lens.page.keyboard.press('Home');
    await lens.page.keyboard.type('Well, ');
    await lens.answered();
    const after = await lens.answer();
    const [it, dog] = [after.texts.indexOf('it'), after.texts.indexOf('dog')];
    expect(it).toBeGreaterThan(query);
    expect(row(after, 0, 0, it)[dog]).toBe(0);
    expect((await lens.state()).mask.painted[0]?.[1]).toHaveLength(1);
  });
});
