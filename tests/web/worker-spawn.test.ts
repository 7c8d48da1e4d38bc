/** Where the worker's script is taken from, on hosts that allow it and on those that do not. */
import { resolveObjectURL } from 'node:buffer';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { spawnWorker } from '../../web/src/worker/spawn.js';

const started: { readonly url: string; readonly options: unknown }[] = [];
let allows: (url: string) => boolean;

class FakeWorker {
  constructor(url: string | URL, options: unknown) {
    if (!allows(String(url))) throw new DOMException(`Script at ${url} cannot be accessed`, 'SecurityError');
    started.push({ url: String(url), options });
  }
}

beforeEach(() => {
  started.length = 0;
  vi.useFakeTimers();
  vi.stubGlobal('Worker', FakeWorker);
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

const codeOf = async (url: string) => (await resolveObjectURL(url)?.text()) ?? '';

it('starts the script beside it, as a module', () => {
  allows = () => true;
  expect(spawnWorker()).toBeInstanceOf(FakeWorker);
  expect(started).toEqual([
    { url: expect.stringMatching(/\/web\/src\/worker\/worker\.js$/), options: { type: 'module' } },
  ]);
});

it('starts the script it is told', () => {
  allows = () => true;
  spawnWorker('https://cdn.example/worker.js');
  expect(started[0]?.url).toBe('https://cdn.example/worker.js');
});

it('imports a script of another origin through one of its own', async () => {
  allows = (url) => url.startsWith('blob:');
  spawnWorker('https://cdn.example/worker.js');
  expect(started[0]?.url).toMatch(/^blob:/);
  expect(await codeOf(started[0]?.url ?? '')).toBe('import "https://cdn.example/worker.js";');
  vi.runAllTimers();
  expect(await codeOf(started[0]?.url ?? '')).toBe('');
});

it('finds the address of the script beside it, and leaves the global Worker as it was', async () => {
  allows = (url) => url.startsWith('blob:');
  spawnWorker();
  expect(await codeOf(started[0]?.url ?? '')).toMatch(/^import ".*\/web\/src\/worker\/worker\.js";$/);
  expect(globalThis.Worker).toBe(FakeWorker);
});

it('throws what the host throws where it allows none', () => {
  allows = () => false;
  expect(() => spawnWorker()).toThrow(/cannot be accessed/);
  expect(globalThis.Worker).toBe(FakeWorker);
});
