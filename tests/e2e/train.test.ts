/** The Train room in Chromium: a small model trains for real, and everything around it works. No test waits for a time. */
import { readFile } from 'node:fs/promises';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { loadModelHere } from '../../web/src/core/model.js';
import { violationsOf } from './support/axe.js';
import { useRoomPage } from './support/room-page.js';

/** Small enough that a busy machine takes some hundred steps in seconds. */
const SMALL = '#room=train&layers=1&heads=2&width=16&batch=4&warmUp=5&steps=5000';

const { open: openRoom, requests } = useRoomPage();
let page: Page;

async function open(hash: string, options?: BrowserContextOptions): Promise<void> {
  page = await openRoom(hash, options);
}

/** Until the heads of a model are drawn. */
const ready = () => page.locator('multihead-train mh-heatmap').waitFor();

const button = (name: string) => page.locator('multihead-train').getByRole('button', { name, exact: true });

/** Steps taken by a run, as it is written. */
const step = async (run = 0): Promise<number> => {
  const facts = page.locator('multihead-train .facts').nth(run);
  return Number.parseInt((await facts.locator('dd:not([class])').first().textContent()) ?? '', 10);
};

/** Steps taken once the steps that were under way at the pause are in. */
async function pausedStep(): Promise<number> {
  let before = -1;
  for (let now = await step(); now !== before; now = await step()) {
    before = now;
    await page.waitForTimeout(500);
  }
  return before;
}

async function trainUntil(least: number): Promise<void> {
  await button('Play').click();
  await expect.poll(() => step(), { timeout: 60_000 }).toBeGreaterThanOrEqual(least);
  await button('Pause').click();
  await button('Play').waitFor();
}

/** Values of a curve by its chart's heading, the held-out one last. */
const curve = (heading: string) =>
  page.evaluate((wanted) => {
    const room = document.querySelector('multihead-train');
    const charts = [...(room?.renderRoot.querySelectorAll('mh-curves') ?? [])];
    const chart = charts.find((one) => one.heading === wanted);
    return (chart?.curves ?? []).map(({ points }) => points.map(([, value]) => value));
  }, heading);

test('trains: the loss falls, it pauses, steps, and begins anew', async () => {
  await open(`${SMALL}&task=world-en`);
  await ready();
  expect(await step()).toBe(0);
  await trainUntil(150);
  const [train = [], heldOut = []] = await curve('Loss (nats)');
  expect(train.length).toBeGreaterThanOrEqual(150);
  expect(heldOut.at(-1)).toBeLessThan((heldOut[0] ?? 0) - 0.3);
  const paused = await pausedStep();
  await button('Step').click();
  await expect.poll(() => step()).toBe(paused + 1);
  // Through time: the first picture is that of the untrained model, and "now" is another.
  const weights = () =>
    page.evaluate(() => [
      ...(document.querySelector('multihead-train')?.renderRoot.querySelector('mh-heatmap')?.weights ?? []),
    ]);
  const now = await weights();
  await page.locator('multihead-train .timeline input').focus();
  await page.keyboard.press('Home');
  await page.locator('multihead-train .timeline output', { hasText: 'step 0' }).waitFor();
  expect(await weights()).not.toEqual(now);
  await button('Back to now').click();
  await expect.poll(weights).toEqual(now);
  await button('Reset').click();
  await expect.poll(() => step()).toBe(0);
});

test('the keyboard alone is enough', async () => {
  await open(SMALL);
  await ready();
  await page.keyboard.press('Tab');
  const focused = () =>
    page.evaluate(() => {
      let element = document.activeElement;
      while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
      return element?.textContent?.replace(/\s+/g, ' ').trim() ?? '';
    });
  for (let tabs = 0; tabs < 20 && !(await focused()).endsWith('Play'); tabs++) await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await expect.poll(() => step(), { timeout: 60_000 }).toBeGreaterThan(3);
  await page.keyboard.press('Enter');
  await button('Play').waitFor();
  for (let tabs = 0; tabs < 20 && (await focused()) !== 'Step'; tabs++) await page.keyboard.press('Tab');
  const before = await pausedStep();
  await page.keyboard.press('Enter');
  await expect.poll(() => step()).toBe(before + 1);
});

test('a link restores every setting, a broken one is told', async () => {
  await open(`${SMALL}&task=sort&compare=1&b.scaled=0&rate=abc`);
  await ready();
  await page.locator('multihead-train [role=status]', { hasText: 'rate' }).waitFor();
  expect(await page.evaluate(() => document.querySelector('multihead-train')?.link)).toBe(
    'room=train&task=sort&layers=1&heads=2&width=16&warmUp=5&steps=5000&batch=4&compare=1&b.scaled=0',
  );
  await page.locator('multihead-train').getByRole('combobox', { name: 'layers' }).selectOption('3');
  // Where the runs agreed they go on to agree.
  await expect.poll(() => page.url()).toMatch(/[#&]layers=3&.*compare=1&b\.scaled=0$/);
  const kept = page.url();
  await page.goto('about:blank');
  await page.goto(kept);
  await ready();
  expect(await page.evaluate(() => document.querySelector('multihead-train')?.link)).toContain('layers=3');
});

test('two runs train side by side, in one chart', async () => {
  await open(`${SMALL}&compare=1&b.heads=1`);
  await ready();
  await button('Play').click();
  await expect.poll(async () => Math.min(await step(0), await step(1)), { timeout: 60_000 }).toBeGreaterThan(20);
  await button('Pause').click();
  const curves = await curve('Loss (nats)');
  expect(curves.length).toBe(4);
  expect(Math.min(...curves.map(({ length }) => length))).toBeGreaterThan(0);
  expect(await page.locator('multihead-train mh-heads').count()).toBe(2);
});

test('the optimiser’s numbers add up to the engine’s own', async () => {
  await open(SMALL);
  await ready();
  await page.locator('multihead-train summary', { hasText: 'Optimiser' }).click();
  for (let steps = 1; steps <= 3; steps++) {
    await button('Step').first().click();
    await expect.poll(() => step()).toBe(steps);
    const proof = page.locator('multihead-train .optimiser .note').last();
    await expect.poll(() => proof.textContent()).toMatch(/differ by \de-(\d+)/);
    expect(Number(/differ by \de-(\d+)/.exec((await proof.textContent()) ?? '')?.[1])).toBeGreaterThanOrEqual(7);
  }
});

test('what was trained opens in Explore, and its files load anywhere', async () => {
  await open(`${SMALL}&task=world-zh`);
  await ready();
  await trainUntil(20);
  const files = new Map<string, string>();
  page.on('download', async (download) => files.set(download.suggestedFilename(), await download.path()));
  await button('Download').click();
  await expect.poll(() => [...files.keys()].sort()).toEqual(['config.json', 'model.safetensors', 'tokenizer.json']);
  const read = async (name: string) => new Uint8Array(await readFile(files.get(name) ?? ''));
  const model = await loadModelHere({
    config: await read('config.json'),
    tokenizer: await read('tokenizer.json'),
    weights: await read('model.safetensors'),
  });
  const text = '苹果在桌子上，香蕉在椅子上，橘子在沙发上。苹果在哪里？';
  const here = await model.run(text, { mask: { causal: true } });
  expect(here.tokens.map((token) => token.text).join(' ')).toBe(
    '<s> 苹果 在 桌子 上 ， 香蕉 在 椅子 上 ， 橘子 在 沙发 上 。 苹果 在 哪里 ？',
  );
  await button('Open in Explore').click();
  await page.waitForFunction(() => document.querySelector('multihead-lens')?.modelInfo?.vocabulary === 30, undefined, {
    timeout: 30_000,
  });
  expect(await page.locator('multihead-train').isVisible()).toBe(false);
  expect(await page.locator('a[data-room=explore]').getAttribute('aria-current')).toBe('page');
  model.dispose();
});

test('Explore loads nothing of it until it is asked for', async () => {
  await open('#text=The+cat+sat.');
  await page.locator('multihead-lens mh-heatmap').waitFor();
  expect(requests.filter((url) => /train/.test(url))).toEqual([]);
  await page.locator('a[data-room=train]').click();
  await ready();
  expect(requests.filter((url) => /multihead-train.*wasm/.test(url)).length).toBe(1);
  await expect.poll(() => page.url()).toContain('room=train');
  await page.locator('a[data-room=explore]').click();
  await expect.poll(() => page.url()).toContain('text=The+cat+sat.');
});

describe('for everyone', () => {
  test.each([1440, 768, 390])('at %i pixels: nothing sticks out, axe finds nothing', async (width) => {
    for (const [language, colorScheme] of [
      ['en', 'light'],
      ['zh', 'dark'],
    ] as const) {
      await open(`${SMALL}&compare=1&b.heads=1&lang=${language}`, { viewport: { width, height: 900 }, colorScheme });
      await ready();
      await page.locator('multihead-train .optimiser summary').click();
      await page.locator('multihead-train .buttons button').nth(1).click();
      await page.locator('multihead-train .optimiser table').waitFor();
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
      const found = await violationsOf(page);
      expect({ width, language, colorScheme, found }).toMatchObject({ found: [] });
    }
  });
});
