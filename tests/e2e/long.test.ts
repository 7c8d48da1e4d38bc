/** Texts of thousands of tokens, with a model that takes them: what is seen is drawn, what is shown is asked for. */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser, type ServedFolder, serveFolder } from './support/browser.js';
import { builtSite, LensPage } from './support/lens-page.js';
import { writeLongModel } from './support/long-model.js';

const positions = 2048;
const sentence = 'The cat did not cross the street because it was too tired and the old man saw it sit in the rain . ';

let browser: Browser;
let server: ServedFolder;
let folder: string;
let lens: LensPage;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'multihead-long-'));
  await cp(builtSite(), folder, { recursive: true });
  await writeLongModel(join(folder, 'long'), positions);
  browser = await launchBrowser();
  server = await serveFolder(folder);
  const model = encodeURIComponent(`${server.url}long`);
  lens = await LensPage.open(browser, `${server.url}#text=Hello&mask=causal&model=${model}`);
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
  await rm(folder, { recursive: true, force: true });
});

/** Shows about `count` tokens, and says what the page then holds. */
async function show(count: number) {
  await lens.page.evaluate(
    (text) => {
      const element = document.querySelector('multihead-lens');
      if (element) element.text = text;
    },
    sentence.repeat(Math.ceil(count / 24)),
  );
  await lens.answered();
  return held();
}

const held = () =>
  lens.page.evaluate(() => {
    const result = window.heard.answer?.result;
    const map = document.querySelector('multihead-lens')?.heatmaps[0];
    const canvas = map?.renderRoot.querySelector('canvas');
    const size = result?.tokens.length ?? 0;
    const rows = Array.from({ length: size }, (_, row) =>
      (map?.weights ?? new Float32Array()).subarray(row * size, (row + 1) * size).reduce((sum, x) => sum + x, 0),
    );
    return {
      size,
      label: map?.label,
      numbers: (result?.attention.length ?? 0) + (result?.scores?.length ?? 0) + (result?.rawScores?.length ?? 0),
      maps: (map?.weights.length ?? 0) / (size * size),
      worstSum: Math.max(...rows.map((sum) => Math.abs(sum - 1))),
      canvasPixels: (canvas?.width ?? 0) * (canvas?.height ?? 0),
      chips: document.querySelector('multihead-lens')?.renderRoot.querySelectorAll('.chip').length ?? 0,
    };
  });

const heads = () =>
  lens.page.evaluate(() => {
    const element = document.querySelector('multihead-lens')?.renderRoot.querySelector('mh-heads');
    const strongest = element?.attention.reduce((most, weight) => Math.max(most, weight), 0);
    return { rows: element?.queryCount ?? 0, columns: element?.keyCount ?? 0, strongest };
  });

describe('a long text', () => {
  it.each([512, 1024, 2048])(
    'of %i tokens asks for the maps that are shown, and draws what is in view',
    async (count) => {
      const page = await show(count);
      expect(page.size).toBeGreaterThanOrEqual(count * 0.9);
      expect(page.size).toBeLessThanOrEqual(positions);
      // Weights and two kinds of scores of one head, not of all 32.
      expect(page.numbers).toBe(3 * page.size ** 2);
      expect(page.maps).toBe(1);
      expect(page.worstSum).toBeLessThan(1e-4);
      expect(page.canvasPixels).toBeLessThan(4e6);
      expect(page.chips).toBeLessThan(300);
    },
  );

  it('shows all heads in little once typing rests, and says how', async () => {
    await expect.poll(async () => (await heads()).rows, { timeout: 20_000 }).toBeGreaterThan(1);
    const { rows, columns, strongest } = await heads();
    expect(rows).toBeLessThanOrEqual(64);
    expect(columns).toBeLessThanOrEqual(64);
    expect(strongest).toBeGreaterThan(0.5);
    await lens.page.getByText('Long text: one row in').waitFor();
  });

  it('shows another head with its own map', async () => {
    const before = await held();
    await lens.page.evaluate(() => {
      const element = document.querySelector('multihead-lens');
      if (element) element.head = 4;
    });
    await lens.answered();
    await expect.poll(async () => (await held()).label, { timeout: 20_000 }).toBe('Layer 2, head 4');
    const after = await held();
    expect(after.size).toBe(before.size);
    expect(after.worstSum).toBeLessThan(1e-4);
  });

  it('walks by keyboard to the last row, and names and reads its cells', async () => {
    const { size } = await held();
    await lens.page.evaluate((last) => {
      document.querySelector('multihead-lens')?.heatmaps[0]?.focusCell(last, 5);
    }, size - 1);
    await lens.page.keyboard.press('ArrowRight');
    const active = lens.page.locator('multihead-lens mh-heatmap [data-active]');
    await expect.poll(() => active.textContent()).toContain('attends to');
    expect(await active.getAttribute('aria-colindex')).toBe('8');
    const facts = await lens.facts('reading');
    expect(Number.parseFloat(facts.q·k ?? '')).not.toBeNaN();
    const tip = lens.page.locator('multihead-lens mh-heatmap .tip');
    expect(await tip.textContent()).toContain('weight');
  });

  it('says what a pixel is when all of it is shown', async () => {
    await lens.page.getByRole('button', { name: 'Show all' }).click();
    await lens.page.getByText(/a pixel is the strongest of \d+ × \d+ cells/).waitFor();
  });

  it('leafs through its tokens', async () => {
    const first = () => lens.page.locator('multihead-lens .chips .chip').first().textContent();
    const before = await first();
    await lens.page.getByRole('button', { name: /Show the tokens after/ }).click();
    expect(await first()).not.toBe(before);
    await lens.page.getByRole('button', { name: /Show the tokens before/ }).waitFor();
    expect(lens.problems).toEqual([]);
  });
});
