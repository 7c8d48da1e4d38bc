import { describe, expect, it } from 'vitest';

describe('on a server', () => {
  it('the element can be imported: nothing asks for a window', async () => {
    expect('window' in globalThis || 'document' in globalThis).toBe(false);
    const { MultiheadLens } = await import('../../web/src/view/multihead-lens.js');
    expect(typeof MultiheadLens).toBe('function');
    expect('window' in globalThis || 'document' in globalThis).toBe(false);
  });

  it('so can what registers it', async () => {
    await import('../../web/src/view/define.js');
    expect('window' in globalThis).toBe(false);
  });
});
