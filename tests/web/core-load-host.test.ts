/** Choosing a build on hosts that lack one, which this host does not. */
import { beforeEach, expect, it, vi } from 'vitest';
import { loadEngine } from '../../web/src/index.js';

const host = vi.hoisted(() => ({ simd: true, relaxed: true }));
vi.mock('wasm-feature-detect', () => ({
  simd: async () => host.simd,
  relaxedSimd: async () => host.relaxed,
}));

beforeEach(() => Object.assign(host, { simd: true, relaxed: true }));

it('takes SIMD128 where there is no relaxed SIMD', async () => {
  host.relaxed = false;
  expect((await loadEngine()).build).toBe('simd128');
});

it('does not swap a build that was asked for', async () => {
  host.relaxed = false;
  await expect(loadEngine({ build: 'relaxed-simd' })).rejects.toMatchObject({
    code: 'wasm-unsupported',
    message: "this host has no WebAssembly relaxed-simd. Use build: 'simd128' or 'auto'",
  });
});

it('says what to use where there is no SIMD at all', async () => {
  Object.assign(host, { simd: false, relaxed: false });
  await expect(loadEngine()).rejects.toMatchObject({
    code: 'wasm-unsupported',
    message: 'this host has no WebAssembly SIMD. It is in Chrome 91, Firefox 89, Safari 16.4, Node 20 and later',
  });
});
