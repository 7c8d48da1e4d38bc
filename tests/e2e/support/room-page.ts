/** A room of the site beside the lens, in Chromium. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { launchBrowser, type ServedFolder, serveFolder } from './browser.js';
import { builtSite } from './lens-page.js';

export interface RoomPage {
  /** Opens the site at a hash, in a fresh context; the one before is closed. */
  open(hash: string, options?: BrowserContextOptions): Promise<Page>;
  /** Every address that was asked for since the last `open`. */
  readonly requests: string[];
}

/** For the tests of a file: one browser and one site; after each test, nothing may have been complained about. */
export function useRoomPage(): RoomPage {
  let browser: Browser;
  let site: ServedFolder;
  let page: Page | undefined;
  const problems: string[] = [];
  const requests: string[] = [];
  beforeAll(async () => {
    [browser, site] = await Promise.all([launchBrowser(), serveFolder(builtSite())]);
  });
  afterAll(async () => {
    await browser?.close();
    await site?.close();
  });
  afterEach(async () => {
    await page?.context().close();
    page = undefined;
    expect(problems.splice(0)).toEqual([]);
  });
  return {
    requests,
    async open(hash, options = {}) {
      await page?.context().close();
      const context = await browser.newContext({ locale: 'en-US', viewport: { width: 1440, height: 900 }, ...options });
      requests.length = 0;
      context.on('request', (request) => requests.push(request.url()));
      context.on('console', (message) => {
        if (message.type() === 'error' || message.type() === 'warning') problems.push(message.text());
      });
      context.on('weberror', (error) => problems.push(error.error().message));
      page = await context.newPage();
      await page.goto(site.url + hash);
      return page;
    },
  };
}
