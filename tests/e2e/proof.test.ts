/** The times in the proof: of what they say they are, however the page was used before. */
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { launchBrowser, type ServedFolder, serveFolder } from './support/browser.js';
import { builtSite, LensPage } from './support/lens-page.js';

let browser: Browser;
let site: ServedFolder;
let lens: LensPage;

beforeAll(async () => {
  browser = await launchBrowser();
  site = await serveFolder(builtSite());
});
afterAll(async () => {
  await browser?.close();
  await site?.close();
});
afterEach(() => lens?.close());

const keyToPixels = async (): Promise<number> => Number.parseFloat((await lens.facts('proof'))['key to pixels'] ?? '');

test('key to pixels begins with the change that needs an answer, not with one before it that needs none', async () => {
  lens = await LensPage.open(browser, site.url);
  await lens.choose('unit', 'bits');
  await lens.choose('view', 'difference');
  const pause = 3000;
  await lens.page.waitForTimeout(pause);
  // Not by emptying the field first: a picture after an empty text is not timed.
  await lens.field.press('End');
  await lens.page.keyboard.type(' cats');
  await lens.answered();
  await expect.poll(keyToPixels).toBeGreaterThan(0);
  expect(await keyToPixels()).toBeLessThan(pause * 0.8);
});

test('an emptied text has no picture to wait for', async () => {
  lens = await LensPage.open(browser, site.url);
  await lens.field.fill('');
  await lens.page.getByText('Type a sentence, or choose an example.').first().waitFor();
  const pause = 3000;
  await lens.page.waitForTimeout(pause);
  // The first picture after it is not timed, as the first of a page is not.
  await lens.type('a');
  await lens.answered();
  await lens.page.keyboard.type('b');
  await lens.answered();
  await expect.poll(keyToPixels).toBeGreaterThan(0);
  expect(await keyToPixels()).toBeLessThan(pause * 0.8);
});

test('compute is the median of the last runs, and every item says what it is', async () => {
  lens = await LensPage.open(browser, site.url);
  const times = () =>
    lens.page
      .locator('[part~=proof] dl > div')
      .evaluateAll((all) => all.map((item) => item.getAttribute('title') ?? ''));
  expect((await lens.facts('proof')).compute).toMatch(/^[\d.]+ ms$/);
  expect((await times()).every((title) => title.length > 20)).toBe(true);
  await lens.type('The cats');
  await lens.answered();
  expect((await times()).join(' ')).toMatch(/median of the last [3-9] runs/);
});
