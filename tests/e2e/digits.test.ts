/** The Digits room in Chromium: a digit is drawn by mouse and by keys, read, and looked at. */
import type { BrowserContextOptions, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { violationsOf } from './support/axe.js';
import { useRoomPage } from './support/room-page.js';

const { open: openRoom } = useRoomPage();
let page: Page;

async function open(options?: BrowserContextOptions): Promise<void> {
  page = await openRoom('#room=digits', options);
  await room().locator('mh-heads').waitFor();
}

const room = () => page.locator('multihead-digits');
const button = (name: string) => room().getByRole('button', { name, exact: true });
const best = () => room().locator('.classes .best span').first().textContent();

/** Draws a one with the mouse, in a corner: it is moved to the middle before it is read. */
async function drawOne(): Promise<void> {
  const box = await room().locator('mh-drawing-pad canvas').boundingBox();
  if (!box) throw new Error('there is no drawing pad');
  const at = (x: number, y: number) => [box.x + (box.width * x) / 28, box.y + (box.height * y) / 28] as const;
  await page.mouse.move(...at(9, 4));
  await page.mouse.down();
  for (let y = 5; y <= 22; y++) await page.mouse.move(...at(9, y));
  await page.mouse.up();
}

test('reads the samples and what is drawn, in both models', async () => {
  await open();
  for (const model of ['all patches (ViT)', 'its window (Swin)']) {
    await room().getByRole('radio', { name: model }).check();
    await button('A written 3').click();
    await expect.poll(best).toBe('3');
    await button('Clear').click();
    await expect.poll(() => room().locator('.classes').textContent()).toContain('Nothing is drawn yet.');
    await drawOne();
    await expect.poll(best).toBe('1');
  }
});

test('a patch is chosen by click and by keys; what is outside its window is hatched and says so', async () => {
  await open();
  await room().getByRole('radio', { name: 'its window (Swin)' }).check();
  await room().locator('.hidden-patch').first().waitFor();
  // Layer 3 has windows of 4 x 4: 16 of the 64 patches are seen.
  expect(await room().locator('.hidden-patch').count()).toBe(48);
  await room().locator('[data-patch="0"]').click();
  await expect.poll(() => room().locator('.stage .note').first().textContent()).toContain('row 1, column 1');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await expect
    .poll(() => room().locator('.stage .note').first().textContent())
    .toContain('Looking from: row 2, column 2');
  expect(await room().locator('[data-patch="63"]').getAttribute('aria-label')).toBe(
    'Row 8, column 8: outside the window',
  );
});

test('draws by the keyboard alone', async () => {
  await open();
  await button('Clear').click();
  await room().locator('mh-drawing-pad canvas').focus();
  await page.keyboard.press('Space');
  for (let i = 0; i < 15; i++) await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Space');
  await expect.poll(best).toBe('1');
});

test('speaks Chinese, fits a phone, and axe finds nothing, light and dark', async () => {
  for (const colorScheme of ['light', 'dark'] as const) {
    await open({ locale: 'zh-CN', viewport: { width: 390, height: 844 }, colorScheme });
    expect(await room().getByRole('button', { name: '清空' }).count()).toBe(1);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    expect(await violationsOf(page)).toEqual([]);
  }
});
