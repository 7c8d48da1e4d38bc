/** A page that is cross-origin isolated computes with several threads, to the same numbers; any other does with one. */
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { ISOLATED } from '../../web/static-server.mjs';
import { launchBrowser, type ServedFolder, serveFolder } from './support/browser.js';
import { builtSite, LensPage } from './support/lens-page.js';

const TEXT = 'The apple is on the table. The banana is on the chair. The apple is on the';

let browser: Browser;
let plain: ServedFolder;
let isolated: ServedFolder;
let lens: LensPage;

beforeAll(async () => {
  browser = await launchBrowser();
  [plain, isolated] = await Promise.all([serveFolder(builtSite()), serveFolder(builtSite(), ISOLATED)]);
});
afterAll(async () => {
  await browser?.close();
  await plain?.close();
  await isolated?.close();
});
afterEach(() => lens?.close());

async function answerAt(site: ServedFolder): Promise<{ engine: string | undefined; attention: number[] }> {
  lens = await LensPage.open(browser, site.url);
  await lens.type(TEXT);
  await lens.answered();
  const engine = (await lens.facts('proof')).engine;
  const attention = await lens.page.evaluate(() => Array.from(window.heard.answer?.result.attention ?? []));
  expect(await lens.page.evaluate(() => window.heard.errors)).toEqual([]);
  return { engine, attention };
}

test('the proof says how many threads there are, and the numbers do not depend on it', async () => {
  const one = await answerAt(plain);
  expect(one.engine).toBe('wasm, relaxed SIMD, in a worker, 1 thread');
  await lens.close();
  const several = await answerAt(isolated);
  const cores = await lens.page.evaluate(() => navigator.hardwareConcurrency);
  const threads = Math.min(cores, 4);
  expect(several.engine).toBe(`wasm, relaxed SIMD, in a worker, ${threads} thread${threads === 1 ? '' : 's'}`);
  expect(several.attention.length).toBeGreaterThan(1000);
  expect(several.attention).toEqual(one.attention);
});

test('a policy that forbids workers from a Blob leaves one thread', async () => {
  const policy = "worker-src 'self'; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'";
  const strict = await serveFolder(builtSite(), { ...ISOLATED, 'content-security-policy': policy });
  const { engine } = await answerAt(strict);
  expect(engine).toBe('wasm, relaxed SIMD, in a worker, 1 thread');
  await lens.close();
  await strict.close();
});
