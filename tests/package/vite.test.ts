/** The tarball in a fresh Vite project, built and served to Chromium: engine, worker, model and element. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { launchBrowser, type ServedFolder, serveFolder } from '../e2e/support/browser.js';
import { Project } from './support/project.js';

const TEXT = 'The cat drinks milk. 猫喝牛奶。';

const PAGE =
  '<!doctype html><meta charset="utf-8"><title>stranger</title><script type="module" src="./main.js"></script>';

const MAIN = `
import { loadModel } from 'multihead';
import { bilingual } from 'multihead/models/bilingual';
import 'multihead/element';

globalThis.answer = async () => {
  const model = await loadModel(bilingual, { build: 'simd128' });
  const run = await model.run('${TEXT}', { mask: { causal: true } });
  return {
    thread: model.thread,
    attention: [...run.attention],
    element: customElements.get('multihead-lens') !== undefined,
  };
};
`;

interface Answer {
  readonly thread: string;
  readonly attention: number[];
  readonly element: boolean;
}

let project: Project;
let browser: Browser;
let served: ServedFolder;
let page: Page;
const troubles: string[] = [];

beforeAll(async () => {
  [project, browser] = await Promise.all([Project.create('vite'), launchBrowser()]);
  await project.write('index.html', PAGE);
  await project.write('main.js', MAIN);
  await project.run('node_modules/.bin/vite', 'build', '--base', './');
  served = await serveFolder(project.path('dist'));
  page = await browser.newPage();
  page.on('pageerror', (error) => troubles.push(error.message));
  page.on('requestfailed', (request) => troubles.push(`${request.url()} failed`));
  page.on('response', (response) => {
    if (response.status() >= 400 && !response.url().endsWith('favicon.ico'))
      troubles.push(`${response.url()} ${response.status()}`);
  });
  await page.goto(served.url);
});

afterAll(async () => {
  await browser?.close();
  await served?.close();
  await project?.remove();
});

describe('in a page built by Vite', () => {
  test('the model runs in a worker, and gives the numbers that Node gives', async () => {
    await page.waitForFunction(() => 'answer' in globalThis);
    const answer = await page.evaluate<Answer>('answer()');
    const inNode = await project.runNode(`
      import { loadModel } from 'multihead';
      import { bilingual } from 'multihead/models/bilingual';
      const model = await loadModel(bilingual, { build: 'simd128' });
      const run = await model.run('${TEXT}', { mask: { causal: true } });
      console.log(JSON.stringify([...run.attention]));
    `);
    expect(answer.thread).toBe('worker');
    expect(answer.element).toBe(true);
    expect(answer.attention.length).toBeGreaterThan(1000);
    expect(answer.attention).toEqual(inNode);
  });

  test('nothing failed to load', () => {
    expect(troubles).toEqual([]);
  });
});
