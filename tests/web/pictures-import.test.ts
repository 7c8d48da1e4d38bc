import { expect, it } from 'vitest';

it('importing the pictures where there is no page does nothing, and breaks nothing', async () => {
  const before = Object.keys(globalThis);
  const { definePictures } = await import('../../web/src/view/pictures/define-pictures.js');
  await import('../../web/src/view/pictures/export-png.js');
  expect(typeof definePictures).toBe('function');
  expect(typeof window).toBe('undefined');
  expect(typeof document).toBe('undefined');
  // lit's shims for servers may register elements; ours must not.
  expect(globalThis.customElements?.get('mh-heatmap')).toBeUndefined();
  expect(Object.keys(globalThis).filter((name) => !before.includes(name) && /^mh|multihead/i.test(name))).toEqual([]);
});
