/** The Translate room in Chromium: written token by token, steered, taken back, looked at, shared, saved. */
import { readFile } from 'node:fs/promises';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { violationsOf } from './support/axe.js';
import { useRoomPage } from './support/room-page.js';

const { open: openRoom } = useRoomPage();
let page: Page;

async function open(rest = '', options?: BrowserContextOptions): Promise<void> {
  page = await openRoom(`#room=translate${rest}`, options);
  await room().locator('mh-heatmap').waitFor();
}

const room = () => page.locator('multihead-translate');
const button = (name: string) => room().getByRole('button', { name, exact: true });
const sentence = () => room().locator('textarea').first();
const written = () => room().locator('textarea').last();
const line = (which: 'keys' | 'queries') => room().locator(`mh-alignment .${which} .token`).allTextContents();
const candidates = () => room().locator('.candidate .name').allTextContents();
const links = (kind = '') => room().locator(`mh-alignment path${kind}`).count();
const facts = () => room().locator('.facts').textContent();
const encoded = (text: string) => encodeURIComponent(text);

test('shows a whole translation at first, and writes it anew token by token', async () => {
  await open();
  const whole = await written().inputValue();
  const tokens = await line('queries');
  expect(tokens.at(-1)).toBe('</s>');
  expect(await line('keys')).toEqual(['<s>', 'He', 'went', 'to', 'school', 'yesterday', '.', '</s>']);
  await button('Translate').click();
  await button('Pause').click();
  await expect.poll(() => button('Translate').count()).toBe(1);
  const some = await line('queries');
  expect(some.length).toBeLessThan(tokens.length);
  expect(some.slice(0, -1)).toEqual(tokens.slice(0, some.length - 1));
  await button('To the end').click();
  await expect.poll(() => written().inputValue()).toBe(whole);
  await button('Clear').click();
  await expect.poll(() => line('queries')).toEqual(['…']);
  // Until the end, a token at a time; each was the first of the candidates before.
  for (const token of tokens) {
    const [best] = await candidates();
    expect(best).toBe(token === '</s>' ? 'the end' : token);
    const { length } = await line('queries');
    await button('One token').click();
    await expect.poll(async () => (await line('queries'))[length - 1]).toBe(token);
    if (token === '</s>') continue;
    expect(await facts()).toContain(`Writing “${token}”: most to `);
    expect(await links('.lit')).toBeGreaterThan(0);
  }
  expect(await written().inputValue()).toBe(whole);
  await button('One back').click();
  await expect.poll(async () => (await line('queries')).at(-1)).toBe('…');
});

test('another candidate is written in its place, and what follows anew', async () => {
  const atOnce = { reducedMotion: 'reduce' } as const;
  await open('', atOnce);
  const [first, ...others] = await line('queries');
  await room().locator('mh-alignment .queries .token').first().click();
  await expect.poll(() => room().locator('.candidates h2').textContent()).toBe(`In place of “${first}”`);
  const other = (await candidates()).find((name) => name !== first && name !== 'the end') as string;
  await room().locator('.candidate', { hasText: other }).first().click();
  await expect.poll(async () => (await line('queries'))[0]).toBe(other);
  await expect.poll(async () => (await line('queries')).at(-1)).toBe('</s>');
  expect([first, ...others]).not.toEqual(await line('queries'));
  // The link says what the model would not have written.
  await expect.poll(() => page.evaluate(() => location.hash)).toMatch(/&tokens=[\d.]+\.3$/);
  const shared = await page.evaluate(() => location.hash);
  const tokens = await line('queries');
  await open(shared.replace('#room=translate', ''), atOnce);
  expect(await line('queries')).toEqual(tokens);
  // From here: what is before the chosen token stays.
  await room().locator('mh-alignment .queries .token').nth(1).click();
  await button('From here').click();
  await expect.poll(() => line('queries')).toEqual([other, '…']);
});

test('the reader writes, and translates it back', async () => {
  await open(`&text=${encoded('我很好。')}&target=i`, { reducedMotion: 'reduce' });
  await written().fill("I'm very");
  await expect.poll(() => line('queries')).toEqual(['i', "'", 'm', 'very', '…']);
  expect(await written().inputValue()).toBe("I'm very");
  await expect.poll(() => page.evaluate(() => location.hash)).toContain("&target=i'm+very");
  await button('Translate it back').click();
  await expect.poll(() => sentence().inputValue()).toBe("I'm very");
  await expect.poll(async () => (await line('queries')).at(-1)).toBe('</s>');
  // By the keyboard: a sentence, Enter.
  await sentence().fill('我');
  await expect.poll(() => line('queries')).toEqual(['…']);
  await sentence().press('Enter');
  await expect.poll(async () => (await line('queries')).at(-1)).toBe('</s>');
});

test('every kind of attention, every head and the mean are shown and kept in the link', async () => {
  await open('&text=I+am+here.&show=encoder&head=1.2&at=2');
  expect(await room().locator('h2#stage-title').textContent()).toBe('Layer 1, head 2');
  expect(await facts()).toContain('From “am”');
  expect(await line('queries')).toEqual(await line('keys'));
  await room().getByText('in the translation').click();
  await expect.poll(async () => (await line('keys'))[0]).toBe('<s>');
  const heatmap = room().locator('mh-heatmap');
  await heatmap.locator('[role=gridcell]').first().focus();
  await page.keyboard.press('PageDown');
  await expect.poll(() => room().locator('h2#stage-title').textContent()).toBe('Layer 1, head 3');
  await page.keyboard.press(']');
  await expect.poll(() => room().locator('h2#stage-title').textContent()).toBe('Layer 2, head 3');
  await expect.poll(() => page.evaluate(() => location.hash)).toContain('&show=decoder&head=2.3');
  await room().getByLabel('mean of the layer').check();
  expect(await room().locator('h2#stage-title').textContent()).toBe('Layer 2, mean of its heads');
  expect(await room().locator('mh-heads [aria-selected=true]').count()).toBe(4);
  await page.keyboard.press('Tab');
  await room().getByLabel('as a table').check();
  expect(await heatmap.locator('table').count()).toBe(1);
});

test('the map on screen is saved, with both texts', async () => {
  await open('&text=I+am+here.');
  const saved = page.waitForEvent('download');
  await page.locator('#export summary').click();
  await page.locator('[data-format=svg]').click();
  const svg = await readFile(await (await saved).path(), 'utf8');
  expect(svg).toContain('Layer 2, mean of its heads, cross-attention');
  expect(svg).toContain(`I am here. → ${await written().inputValue()}`);
});

test('an empty, a long and a strange text: nothing is lost, and it is said what is left out', async () => {
  await open();
  await sentence().fill('');
  await room().getByText('Type a sentence, or choose an example.').waitFor();
  expect(await button('Translate').isDisabled()).toBe(true);
  const long = Array.from({ length: 60 }, (_, i) => `go ${i}`).join(' ');
  await sentence().fill(long);
  await room().getByText('Longer than the 48 tokens that the model takes.').waitFor();
  expect(await sentence().inputValue()).toBe(long);
  expect(await line('keys')).toHaveLength(48);
  const over = (await room().locator('.warning').textContent())?.match(/“(.*?)( …)?”$/)?.[1] as string;
  expect(long).toContain(over);
  await sentence().fill('I like 🍉!');
  await room().getByText('The model has no token for “🍉”').waitFor();
  expect(await line('keys')).toEqual(['<s>', 'I', 'like', '␣', '🍉', '!', '</s>']);
  // A link that cannot be read.
  await open('&text=Hi&tokens=1.x&at=9');
  await room().getByText('This link’s tokens could not be read').waitFor();
});

test('waits for the input method', async () => {
  await open(`&text=${encoded('今天')}`);
  const devtools = await page.context().newCDPSession(page);
  const before = await line('keys');
  await sentence().click();
  await page.keyboard.press('End');
  for (const text of ['t', 'ti', 'tian'])
    await devtools.send('Input.imeSetComposition', { text, selectionStart: text.length, selectionEnd: text.length });
  await room().getByText('Waiting for your input method …').waitFor();
  expect(await line('keys')).toEqual(before);
  await devtools.send('Input.insertText', { text: '天' });
  await expect.poll(async () => (await line('keys')).join('')).toBe('<s>今天天</s>');
});

test('arrow keys walk the tokens; less motion writes all at once', async () => {
  await open('&text=I+am+here.', { reducedMotion: 'reduce' });
  const tokens = await line('queries');
  await room().locator('mh-alignment .queries [tabindex="0"]').focus();
  await page.keyboard.press('Home');
  await expect.poll(facts).toContain(`Writing “${tokens[0]}”`);
  await page.keyboard.press('Enter');
  await expect.poll(() => page.evaluate(() => location.hash)).toContain('&at=0');
  await button('Clear').click();
  await expect.poll(() => line('queries')).toEqual(['…']);
  await button('Translate').click();
  await expect.poll(() => line('queries')).toEqual(tokens);
});

test('speaks Chinese, fits a phone, and axe finds nothing, light and dark', async () => {
  for (const colorScheme of ['light', 'dark'] as const) {
    await open('', { locale: 'zh-CN', viewport: { width: 390, height: 844 }, colorScheme });
    expect(await room().getByRole('button', { name: '翻译' }).count()).toBeGreaterThan(0);
    await room().locator('mh-alignment .queries .token').first().click();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    expect(await violationsOf(page)).toEqual([]);
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  expect(await violationsOf(page)).toEqual([]);
});

test('works in a sandboxed frame of one file, without an origin', async () => {
  await open();
  const { origin } = new URL(page.url());
  await page.setContent(
    `<iframe sandbox="allow-scripts" width="1000" height="900" src="${origin}/standalone.html#room=translate"></iframe>`,
    { waitUntil: 'commit' },
  );
  const frame = page.frameLocator('iframe');
  await frame.locator('multihead-translate mh-heatmap').waitFor({ timeout: 60_000 });
  expect((await frame.locator('mh-alignment .queries .token').allTextContents()).at(-1)).toBe('</s>');
}, 90_000);
