/** Nothing is computed or drawn that nobody can see. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser, type ServedFolder, serveFolder } from './support/browser.js';
import { builtSite, LensPage } from './support/lens-page.js';

let browser: Browser;
let server: ServedFolder;
let lens: LensPage;

beforeAll(async () => {
  browser = await launchBrowser();
  server = await serveFolder(builtSite());
  lens = await LensPage.open(browser, server.url);
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
});

/** Tells the page that it is hidden, or shown again, as the browser would. */
const hide = (hidden: boolean) =>
  lens.page.evaluate((value) => {
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => value });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);

const setTexts = (texts: readonly string[]) =>
  lens.page.evaluate(async (values) => {
    for (const text of values) {
      const element = document.querySelector('multihead-lens');
      if (element) element.text = text;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }, texts);

describe('no work', () => {
  it('while the page is hidden; then one run, for the newest state', async () => {
    const before = (await lens.answer()).answers;
    await hide(true);
    await setTexts(['One apple.', 'Two apples.', 'Three apples fell.']);
    expect((await lens.answer()).answers).toBe(before);
    await hide(false);
    await lens.answered();
    const after = await lens.answer();
    expect(after.answers).toBe(before + 1);
    expect(after.texts.join('')).toContain('Three');
  });

  it('when the page comes back and nothing has changed', async () => {
    const before = (await lens.answer()).answers;
    await hide(true);
    await hide(false);
    await lens.page.waitForTimeout(300);
    expect((await lens.answer()).answers).toBe(before);
  });

  it('in a lens that is scrolled away', async () => {
    await lens.page.evaluate(() => {
      document.body.append(Object.assign(document.createElement('div'), { style: 'flex: none; block-size: 6000px' }));
      scrollTo(0, 6000);
    });
    await lens.page.waitForTimeout(200);
    const before = (await lens.answer()).answers;
    await setTexts(['Four pears.', 'Five pears fell.']);
    expect((await lens.answer()).answers).toBe(before);
    await lens.page.evaluate(() => scrollTo(0, 0));
    await lens.answered();
    const after = await lens.answer();
    expect(after.answers).toBe(before + 1);
    expect(after.texts.join('')).toContain('Five');
    expect(lens.problems).toEqual([]);
  });
});
