/** Where a page may be put: a sub-path of a plain server, one file on a disk, a frame without an origin, an article. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, BrowserContext, Frame, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { launchBrowser, type ServedFolder, serveFolder } from './support/browser.js';
import { builtSite } from './support/lens-page.js';

const STANDALONE = 'build/site/standalone.html';

let browser: Browser;
let served: ServedFolder;
let context: BrowserContext;
let page: Page;
let requests: string[];

beforeAll(async () => {
  builtSite();
  [browser, served] = await Promise.all([launchBrowser(), serveFolder('build')]);
});

afterAll(async () => {
  await browser?.close();
  await served?.close();
});

beforeEach(async () => {
  context = await browser.newContext();
  page = await context.newPage();
  requests = [];
  page.on('request', (request) => requests.push(request.url()));
  // What each lens said, in this page and its frames.
  await context.addInitScript(() => {
    const heard = { answers: [] as { text: string; rowSum: number }[], errors: [] as string[] };
    Object.assign(globalThis, { heard });
    addEventListener('multihead-answer', (event) => {
      const { result } = (event as CustomEvent).detail.answer;
      const size = result.tokens.length;
      const rowSum = result.attention.slice(-size).reduce((sum: number, weight: number) => sum + weight, 0);
      heard.answers.push({
        text: result.tokens.map(({ text }: { text: string }) => text).join(''),
        rowSum,
      });
    });
    addEventListener('error', ({ message }) => heard.errors.push(message));
    addEventListener('multihead-error', (event) => {
      heard.errors.push(String((event as CustomEvent).detail.error));
    });
  });
});

afterEach(() => context.close());

interface Heard {
  readonly answers: readonly { readonly text: string; readonly rowSum: number }[];
  readonly errors: readonly string[];
}

/** Waits for `count` answers of the lenses in a page or frame; errors end the wait. */
async function hear(frame: Page | Frame, count: number): Promise<Heard> {
  await frame.waitForFunction(
    (wanted) => {
      const { answers, errors } = (globalThis as unknown as { heard: Heard }).heard;
      return answers.length >= wanted || errors.length > 0;
    },
    count,
    { timeout: 30_000 },
  );
  return frame.evaluate(() => (globalThis as unknown as { heard: Heard }).heard);
}

function expectAnswer(heard: Heard): void {
  expect(heard.errors).toEqual([]);
  for (const { rowSum } of heard.answers) expect(rowSum).toBeCloseTo(1, 5);
  expect(page.workers().length).toBeGreaterThan(0);
}

describe('the site', () => {
  test('works from a sub-path of a plain server, and asks nobody else for anything', async () => {
    await page.goto(`${served.url}site/`);
    expectAnswer(await hear(page, 1));
    const strangers = requests.filter((url) => !/^(data|blob):/.test(url) && !url.startsWith(`${served.url}site/`));
    expect(strangers).toEqual([]);
  });

  test('goes on with the network cut after it has loaded', async () => {
    await page.goto(`${served.url}site/`);
    const before = await hear(page, 1);
    await context.setOffline(true);
    await page.evaluate(() => document.querySelector('multihead-lens')?.setAttribute('text', '猫喝牛奶。'));
    const after = await hear(page, before.answers.length + 1);
    expectAnswer(after);
    expect(after.answers.at(-1)?.text).toContain('猫');
  });
});

describe('the site on a server of its own', () => {
  test('works two folders deep, and goes on when the server has gone', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'multihead-e2e-'));
    mkdirSync(join(folder, 'a'));
    symlinkSync(resolve(builtSite()), join(folder, 'a', 'b'));
    const server = await serveFolder(folder);
    await page.goto(`${server.url}a/b/`);
    expectAnswer(await hear(page, 1));
    await server.close();
    rmSync(folder, { recursive: true });

    // Text, mask and language need nobody.
    await page.locator('multihead-lens textarea').fill('The server is gone.');
    await page.waitForFunction(() =>
      (globalThis as unknown as { heard: Heard }).heard.answers.some(({ text }) => text.includes('gone')),
    );
    const { answers } = await hear(page, 2);
    await page.locator('multihead-lens label:has(input[name="mask"][value="none"]) span').click();
    const after = await hear(page, answers.length + 1);
    expect(after.answers.at(-1)?.text).toContain('</s>');
    expectAnswer(after);
    const language = () => page.evaluate(() => document.documentElement.lang);
    const before = await language();
    await page.locator('#language').click();
    expect(await language()).not.toBe(before);
    expect(requests.filter((url) => !/^(data|blob):/.test(url) && !url.startsWith(`${server.url}a/b/`))).toEqual([]);
  });

  test('works in a sandboxed frame that keeps its origin', async () => {
    const outer = await servePage(
      `<iframe sandbox="allow-scripts allow-same-origin" width="900" height="900" src="${served.url}site/"></iframe>`,
    );
    await page.goto(outer.url);
    const frame = page.frames().find((candidate) => candidate !== page.mainFrame());
    if (!frame) throw new Error('there is no frame');
    await frame.waitForLoadState();
    expectAnswer(await hear(frame, 1));
    await outer.close();
  });
});

describe('the site as one file', () => {
  test('works from a disk, by a double click', async () => {
    await page.goto(pathToFileURL(STANDALONE).href);
    expectAnswer(await hear(page, 1));
    expect(requests.filter((url) => !/^(data|blob|file):/.test(url))).toEqual([]);
  });

  test('works in a sandboxed frame without an origin', async () => {
    const outer = await servePage(`<iframe sandbox="allow-scripts" src="${served.url}site/standalone.html"></iframe>`);
    await page.goto(outer.url);
    const frame = page.frames().find((candidate) => candidate !== page.mainFrame());
    if (!frame) throw new Error('there is no frame');
    await frame.waitForLoadState();
    expect(await frame.evaluate(() => origin)).toBe('null');
    expectAnswer(await hear(frame, 1));
    await outer.close();
  });
});

describe('the element in a bare page', () => {
  test('the article shows two lenses, by one script and the files beside it', async () => {
    await page.goto(`${served.url}site/examples/blog.html`);
    const lenses = await page.locator('multihead-lens').count();
    expect(lenses).toBe(2);
    // A lens far down may wait until it is seen.
    await page.locator('multihead-lens').nth(1).scrollIntoViewIfNeeded();
    const heard = await hear(page, 2);
    expectAnswer(heard);
    expect(new Set(heard.answers.map(({ text }) => text)).size).toBe(2);
    // Both look through one engine.
    expect(page.workers()).toHaveLength(1);
    const strangers = requests.filter(
      (url) => !/^(data|blob):/.test(url) && !url.startsWith(`${served.url}site/examples/`),
    );
    expect(strangers).toEqual([]);
  });

  test('works in a page of another origin than its script', async () => {
    const cdn = await serveAnswers((path) => fetch(`${served.url}site/examples${path}`));
    const script = `<script type="module" src="${cdn.url}multihead-lens.js"></script>`;
    const article = await servePage(`${script}<multihead-lens></multihead-lens>`);
    await page.goto(article.url);
    expectAnswer(await hear(page, 1));
    await Promise.all([cdn.close(), article.close()]);
  });
});

/** Serves answers made by `answer` on an origin of its own, which any page may read, as a CDN's. */
async function serveAnswers(answer: (path: string) => Response | Promise<Response>): Promise<ServedFolder> {
  const server = createServer(async (request, response) => {
    const made = await answer(request.url ?? '/');
    response.writeHead(made.status, {
      'access-control-allow-origin': '*',
      'content-type': made.headers.get('content-type') ?? '',
    });
    response.end(new Uint8Array(await made.arrayBuffer()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

function servePage(html: string): Promise<ServedFolder> {
  return serveAnswers(() => new Response(`<!doctype html>${html}`, { headers: { 'content-type': 'text/html' } }));
}
