// The contenders by name. Each file exports `load({ name, root, threads })`, which resolves to
//
//   { label, supports(shape), setup(shape, inputs) }
//
// and `setup` to { run(), read(), dispose() }. `run` does what an application does for each call: copies the inputs
// in, computes, and copies the outputs out into JavaScript arrays. `read` returns what the last run gave, as
// { output, weights } in the layout of reference.mjs. `root` is the address of the repository.

export const OURS = 'multihead';

export const CONTENDERS = {
  [OURS]: { file: 'multihead.mjs', hosts: ['chromium', 'node'] },
  'multihead-int8': { file: 'multihead.mjs', hosts: ['chromium', 'node'], rounds: true },
  'multihead-simd128': { file: 'multihead.mjs', hosts: ['chromium', 'node'] },
  'onnxruntime-web': { file: 'onnxruntime-web.mjs', hosts: ['chromium', 'node'] },
  'onnxruntime-web-fused': { file: 'onnxruntime-web.mjs', hosts: ['chromium', 'node'] },
  'onnxruntime-web-int8': { file: 'onnxruntime-web.mjs', hosts: ['chromium', 'node'], rounds: true },
  litert: { file: 'litert.mjs', hosts: ['chromium'] },
  // With threads asked for, it says that it has one.
  'tfjs-wasm': { file: 'tfjs-wasm.mjs', hosts: ['chromium'], oneThread: true },
};

/** The files, each bundled once for the page. */
export const FILES = [...new Set(Object.values(CONTENDERS).map(({ file }) => file))];

/** Those of `only`, and ours; without it all but those that round to int8, whose results are other ones. */
export function contendersOf(host, { only, threads }) {
  const names = Object.keys(CONTENDERS).filter(
    (name) => CONTENDERS[name].hosts.includes(host) && (threads === 1 || !CONTENDERS[name].oneThread),
  );
  return only.length === 0
    ? names.filter((name) => !CONTENDERS[name].rounds)
    : names.filter((name) => name === OURS || only.includes(name));
}
