/** The address: it holds what is on screen, and gives it back. */
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { launchBrowser, type ServedFolder, serveFolder } from './support/browser.js';
import { builtSite, LensPage } from './support/lens-page.js';

let browser: Browser;
let site: ServedFolder;
let lens: LensPage;

beforeAll(async () => {
  [browser, site] = await Promise.all([launchBrowser(), serveFolder(builtSite())]);
});
afterAll(async () => {
  await browser?.close();
  await site?.close();
});
afterEach(async () => {
  await lens?.close();
  expect(lens?.problems).toEqual([]);
});

const open = async (hash = '') => {
  lens = await LensPage.open(browser, `${site.url}${hash}`);
};

/** Everything that a link is to keep; tools and history are not part of what is shown. */
async function shown() {
  const { tool, tokenTool, paintScope, ...state } = await lens.state();
  const { attention, texts, predictions } = await lens.answer();
  return { state, attention, texts, predictions };
}

/** The address once it says what is on screen: it is written a little later. */
async function address(part: string): Promise<string> {
  await lens.page.waitForFunction((wanted) => location.hash.includes(wanted), part);
  return lens.page.url();
}

test('opens on the very same view in another browser: emoji, Chinese, edits, heads', async () => {
  await open('#text=x&mask=none');
  await lens.type('猫 👩‍👩‍👧 & cats = 100% #1 + déjà vu');
  await lens.answered();
  await lens.page.getByRole('gridcell', { name: /^Layer 3, head 7,/ }).click();
  await lens.page.getByRole('gridcell', { name: /^Layer 1, head 2,/ }).click({ modifiers: ['Shift'] });
  await lens.choose('combine', 'side');
  await lens.choose('paint', 'hide');
  const [from, to] = [await lens.cell(3, 1), await lens.cell(3, 4)];
  await lens.page.mouse.move(from.x, from.y);
  await lens.page.mouse.down();
  await lens.page.mouse.move(to.x, to.y, { steps: 8 });
  await lens.page.mouse.up();
  await lens.choose('paint', 'inspect');
  await lens.choose('token-tool', 'pad');
  await lens.token('cat').click();
  await lens.choose('token-tool', 'replace');
  await lens.token('猫').click();
  await lens.choose('ablate', 'mean');
  await lens.choose('scale', 'none');
  await lens.page.getByRole('slider', { name: /^Temperature/ }).press('PageUp');
  await lens.choose('unit', 'bits');
  await lens.page.getByRole('combobox', { name: 'Colours', exact: true }).selectOption('viridis');
  await lens.answered();
  const before = await shown();
  const link = await address('palette=viridis');
  await lens.close();

  lens = await LensPage.open(browser, link);
  expect(await shown()).toEqual(before);
});

test('is followed back and forth', async () => {
  await open('#text=One+cat.&heads=1.1&mask=causal');
  await lens.page.evaluate(() => {
    location.hash = '#text=Two+dogs.&heads=2.2&mask=none';
  });
  await lens.answered();
  expect((await lens.answer()).texts.join(' ')).toContain('dog');
  await lens.page.goBack();
  await lens.page.waitForFunction(() => document.querySelector('multihead-lens')?.text === 'One cat.');
  await lens.answered();
  expect(await lens.state()).toMatchObject({ heads: [{ layer: 0, head: 0 }], mask: { preset: 'causal' } });
  await lens.page.goForward();
  await lens.page.waitForFunction(() => document.querySelector('multihead-lens')?.text === 'Two dogs.');
  await lens.answered();
  expect(await lens.state()).toMatchObject({ heads: [{ layer: 1, head: 1 }], mask: { preset: 'none' } });
});

test('is copied by the share button', async () => {
  await open();
  await lens.context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await lens.type('Share 分享 🙂');
  await lens.answered();
  await lens.button('share').click();
  await lens.page.getByText('Link copied.').waitFor();
  const link = await lens.page.evaluate(() => navigator.clipboard.readText());
  const before = await shown();
  await lens.close();
  lens = await LensPage.open(browser, link);
  expect(await shown()).toEqual(before);
});

describe('a link that cannot be read', () => {
  const BROKEN = [
    ['#text=%E7%8C&mask=causal', 'text'],
    ['#text=A+cat&heads=0.1', 'heads'],
    ['#text=A+cat&heads=9e9.1&temperature=NaN', 'heads, temperature'],
    ['#text=A+cat&mask=sideways&window=-1&prefix=1e999', 'mask, window, prefix'],
    ['#text=A+cat&paint=all:h1.1-99999;x&padding=a', 'paint, padding'],
    ['#text=A+cat&scale=Infinity&ablate=1.1.burn&query=-3', 'scale, ablate, query'],
    ['#text=A+cat&model=javascript:alert(1)&view=__proto__&unit=constructor', 'model, view, unit'],
  ] as const;
  const notice = (parts: string) => lens.page.getByText(`This link’s ${parts} could not be read; the default is used.`);

  test('says which part, and shows the rest', async () => {
    const [[first, parts], ...others] = BROKEN;
    await open(first);
    await notice(parts).waitFor();
    for (const [hash, wrong] of others) {
      await lens.page.evaluate((to) => location.assign(to), hash);
      await notice(wrong).waitFor();
      await lens.answered();
      expect((await lens.answer()).texts).toEqual(['<s>', 'A', 'cat']);
    }
    await lens.type('It works.');
    await lens.answered();
    expect((await lens.answer()).texts.join('')).toContain('works');
  });

  test('or that says nothing shows the example', async () => {
    await open('#&&==&');
    for (const hash of ['#nothing', '#=1&text', `#junk=${'x'.repeat(5000)}`, '#']) {
      await lens.page.evaluate((to) => location.assign(to), hash);
      await lens.answered();
      expect((await lens.answer()).texts).toContain('cat');
    }
  });

  test('a head that the model does not have is left out, and said', async () => {
    await open('#text=A+cat&heads=99.1,2.1');
    expect((await lens.state()).heads).toEqual([{ layer: 1, head: 0 }]);
    await lens.page.getByText('This model does not have all of the chosen heads.').waitFor();
  });
});

test('markup in a link is text', async () => {
  await open(`#text=${encodeURIComponent('<img src=x onerror=alert(1)><script>alert(2)</script>')}`);
  expect(await lens.field.inputValue()).toContain('<img');
  expect(
    await lens.page.evaluate(() => document.querySelector('multihead-lens')?.renderRoot.querySelector('img')),
  ).toBeNull();
});
