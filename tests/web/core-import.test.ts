/** Importing the package on a server touches nothing of a browser, and starts nothing. */
import { expect, it, vi } from 'vitest';

const BROWSER = ['window', 'document', 'self', 'navigator', 'location', 'localStorage', 'Worker', 'customElements'];

it.each(['../../web/src/index.js', '../../web/models/bilingual/index.js', '../../web/src/worker/client.js'])(
  'importing %s touches nothing',
  async (path) => {
    const touched: string[] = [];
    const before = new Map(BROWSER.map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)]));
    for (const name of BROWSER) {
      Object.defineProperty(globalThis, name, {
        configurable: true,
        get() {
          // The test runner itself may look; only our own files count.
          if (/\/web\/(src|models)\//.test(new Error().stack ?? '')) touched.push(name);
          return undefined;
        },
      });
    }
    const fetching = vi.spyOn(globalThis, 'fetch');
    const compiling = vi.spyOn(WebAssembly, 'compile');
    try {
      await import(path);
    } finally {
      for (const [name, descriptor] of before) {
        if (descriptor) Object.defineProperty(globalThis, name, descriptor);
        else Reflect.deleteProperty(globalThis, name);
      }
    }
    expect(touched).toEqual([]);
    expect(fetching).not.toHaveBeenCalled();
    expect(compiling).not.toHaveBeenCalled();
  },
);

it('exports what it documents, and nothing by default', async () => {
  const entry = await import('../../web/src/index.js');
  expect(Object.keys(entry).sort()).toEqual([
    'MultiHeadAttention',
    'MultiheadError',
    'boolTensor',
    'loadEngine',
    'loadModel',
    'scaledDotProductAttention',
    'tensor',
  ]);
});
