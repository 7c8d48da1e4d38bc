/** The site for everyone: axe, widths from a phone to a projector, the keyboard alone. */
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { violationsOf } from './support/axe.js';
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

const EDITED = '#text=The+cat+sat.&mask=causal&heads=2.1,3.7&combine=side&ablate=2.1.zero&padding=2&paint=all:h3.1';

const violations = () => violationsOf(lens.page);

const overflow = () => lens.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

describe('axe finds nothing', () => {
  test.each([1440, 768, 390])('at %i pixels, light and dark, in both languages', async (width) => {
    lens = await LensPage.open(browser, `${site.url}${EDITED}`, {
      viewport: { width, height: 900 },
      colorScheme: 'light',
    });
    for (const language of ['en', 'zh-Hans']) {
      expect(await lens.page.evaluate(() => document.documentElement.lang)).toBe(language);
      for (const colorScheme of ['light', 'dark'] as const) {
        await lens.turn(colorScheme);
        expect({ width, language, colorScheme, found: await violations() }).toMatchObject({ found: [] });
      }
      await lens.page.locator('#language').click();
      await lens.drawn();
    }
  });

  test('in any view, nor while there is nothing to see', async () => {
    lens = await LensPage.open(browser, `${site.url}${EDITED}`);
    for (const view of ['difference', 'steps']) {
      await lens.choose('view', view);
      await lens.drawn();
      expect({ view, found: await violations() }).toMatchObject({ found: [] });
    }
    await lens.choose('view', 'heatmap');
    await lens.page.getByLabel('table', { exact: true }).check();
    await lens.drawn();
    expect({ view: 'table', found: await violations() }).toMatchObject({ found: [] });
    await lens.page.keyboard.press('?');
    await lens.page.locator('#help').click();
    expect({ view: 'help', found: await violations() }).toMatchObject({ found: [] });
    await lens.page.keyboard.press('Escape');
    await lens.field.fill('');
    await lens.page.locator('multihead-lens .picture .hint').waitFor();
    expect({ view: 'empty', found: await violations() }).toMatchObject({ found: [] });
  });
});

test('nothing is wider than the screen, from a phone to a projector, in both languages', async () => {
  const long =
    'The apple is on the table, the banana is on the chair, and Donaudampfschifffahrtsgesellschaft is a word.';
  lens = await LensPage.open(browser, `${site.url}#text=${encodeURIComponent(long)}&mask=none&heads=1.1`);
  for (const _language of ['en', 'zh-Hans']) {
    for (const view of ['heatmap', 'steps']) {
      await lens.choose('view', view);
      for (const width of [390, 768, 1024, 1440, 1920]) {
        await lens.page.setViewportSize({ width, height: 900 });
        await lens.drawn();
        expect({ view, width, over: await overflow() }).toEqual({ view, width, over: 0 });
      }
    }
    await lens.page.locator('#language').click();
    await lens.drawn();
  }
});

test('Tab reaches every part in the order of the page, shows where it is, and leads out again', async () => {
  lens = await LensPage.open(browser, `${site.url}#text=The+cat+sat.&mask=none&heads=2.1&query=2`);
  await lens.page.evaluate(() => {
    (document.activeElement as HTMLElement | null)?.blur();
  });
  const stops: { name: string; part: string; seen: boolean }[] = [];
  for (let i = 0; i < 80; i++) {
    await lens.page.keyboard.press('Tab');
    const stop = await lens.page.evaluate(() => {
      let active = document.activeElement;
      let part = active?.closest('header') ? 'header' : '';
      while (active?.shadowRoot?.activeElement) {
        active = active.shadowRoot.activeElement;
        part = active.closest('section')?.getAttribute('part') ?? part;
      }
      if (!active || active === document.body || active === document.documentElement) return null;
      const marked = (element: Element | null) => {
        if (!element) return false;
        const { outlineStyle, outlineWidth, boxShadow, stroke, strokeWidth } = getComputedStyle(element);
        if (element instanceof SVGElement) return stroke !== 'none' && Number.parseFloat(strokeWidth) >= 2;
        return (outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 1) || boxShadow !== 'none';
      };
      // A ring is around the element, or where it stands for another, around that one.
      const around = [active, active.nextElementSibling, active.parentElement];
      const root = active.getRootNode() as ShadowRoot | Document;
      const spot = root.querySelector('.spot, .focus, [data-active]');
      const box = active.getBoundingClientRect();
      return {
        name: active.getAttribute('aria-label') ?? active.textContent?.trim().slice(0, 40) ?? active.tagName,
        part,
        seen: [...around, spot].some(marked) && box.bottom > 0 && box.top < innerHeight,
      };
    });
    if (stop === null) break;
    stops.push(stop);
  }
  expect(stops.length).toBeGreaterThan(20);
  expect(stops.length).toBeLessThan(80);
  expect(stops.filter(({ seen }) => !seen)).toEqual([]);
  const parts = stops.map(({ part }) => part).filter((part, i, all) => part !== all[i - 1]);
  expect(parts).toEqual(['header', 'sentence', 'heads', 'stage', 'mask', 'arithmetic', 'reading', 'output', 'entropy']);
});
