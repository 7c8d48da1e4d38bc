/** Chinese as it is typed: the letters of a composition are not the sentence until it ends. */
import type { Browser, CDPSession } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { launchBrowser, type ServedFolder, serveFolder } from './support/browser.js';
import { builtSite, LensPage } from './support/lens-page.js';

let browser: Browser;
let site: ServedFolder;
let lens: LensPage;
let devtools: CDPSession;

beforeAll(async () => {
  [browser, site] = await Promise.all([launchBrowser(), serveFolder(builtSite())]);
});
afterAll(async () => {
  await browser?.close();
  await site?.close();
});
beforeEach(async () => {
  lens = await LensPage.open(browser, `${site.url}#text=${encodeURIComponent('今天')}&mask=causal`);
  devtools = await lens.devtools();
  await lens.field.click();
  await lens.page.keyboard.press('End');
});
afterEach(async () => {
  await lens?.close();
  expect(lens?.problems).toEqual([]);
});

const compose = (text: string) =>
  devtools.send('Input.imeSetComposition', { text, selectionStart: text.length, selectionEnd: text.length });

const counts = () => lens.page.evaluate(() => ({ answers: window.heard.answers, changes: window.heard.changes }));

test('nothing is computed until the composition ends, and then what was chosen', async () => {
  const before = await counts();
  for (const letters of ['t', 'ti', 'tian', "tian'qi"]) await compose(letters);
  await lens.page.getByText('Waiting for your input method …').waitFor();
  expect(await lens.field.inputValue()).toBe("今天tian'qi");
  expect(await counts()).toEqual(before);
  await devtools.send('Input.insertText', { text: '天气' });
  await lens.answered();
  expect(await lens.field.inputValue()).toBe('今天天气');
  expect((await lens.answer()).texts.join('')).toBe('<s>今天天气');
  expect(await counts()).toEqual({ answers: before.answers + 1, changes: before.changes + 1 });
  // And once more, in the middle of the text.
  await lens.page.keyboard.press('Home');
  await compose('wo');
  await devtools.send('Input.insertText', { text: '我' });
  await lens.answered();
  expect((await lens.answer()).texts.join('')).toBe('<s>我今天天气');
});

test('Enter during a composition belongs to the input method, and outside of one changes nothing', async () => {
  const before = await counts();
  await compose('hao');
  // What the page is told while an input method handles the key.
  const enter = { key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 229 };
  await devtools.send('Input.dispatchKeyEvent', { type: 'rawKeyDown', ...enter });
  await devtools.send('Input.dispatchKeyEvent', { type: 'keyUp', ...enter });
  expect(await lens.field.inputValue()).toBe('今天hao');
  expect(await counts()).toEqual(before);
  await devtools.send('Input.insertText', { text: '好' });
  await lens.answered();
  expect(await lens.field.inputValue()).toBe('今天好');
  await lens.page.keyboard.press('Enter');
  expect(await lens.field.inputValue()).toBe('今天好');
  expect((await counts()).changes).toBe(before.changes + 1);
});

test('a composition that is given up leaves the sentence as it was', async () => {
  const before = await lens.answer();
  await compose('bu');
  await compose('');
  await lens.page.keyboard.press('Tab');
  await lens.answered();
  expect(await lens.field.inputValue()).toBe('今天');
  expect((await lens.answer()).attention).toEqual(before.attention);
});
