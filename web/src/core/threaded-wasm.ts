/** Where the builds with threads are. A bundle with all files inside has another module here, `web/no-threads.ts`. */
import type { Build } from './types.js';

export function threadedWasmUrl(build: Build): string | undefined {
  // Bundlers find these files by exactly this form.
  return build === 'simd128'
    ? new URL('../wasm/multihead-simd128-threads.wasm', import.meta.url).href
    : new URL('../wasm/multihead-relaxed-simd-threads.wasm', import.meta.url).href;
}
