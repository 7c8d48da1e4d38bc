/** The wasm that also learns: a file of its own, so that a page which only looks does not load it. */
import type { Engine } from '../core/engine.js';
import { type Artefact, ENGINE_OPTIONS, type LoadEngineOptions, sharedEngine, startEngine } from '../core/load.js';
import { checkOptions } from '../core/options.js';
import type { EngineOptions } from '../core/types.js';

/** Bundlers find these files by exactly this form. */
const TRAIN: Artefact = {
  name: 'multihead-train',
  urls: {
    simd128: new URL('../wasm/multihead-train-simd128.wasm', import.meta.url).href,
    'relaxed-simd': new URL('../wasm/multihead-train-relaxed-simd.wasm', import.meta.url).href,
  },
};

/**
 * Starts a new engine that can learn, with a memory of its own: `loadEngine` for `Trainer`. `wasmUrl` is the folder that
 * holds `multihead-train-simd128.wasm` and `multihead-train-relaxed-simd.wasm`.
 *
 * @throws {MultiheadError} as `loadEngine`.
 */
export async function loadTrainEngine(options: LoadEngineOptions = {}): Promise<Engine> {
  checkOptions('loadTrainEngine', options, { ...ENGINE_OPTIONS, onProgress: true, signal: true });
  return startEngine(options, TRAIN);
}

/** One engine for all trainers with the same options. */
export function sharedTrainEngine(options?: EngineOptions): Promise<Engine> {
  return sharedEngine(options, TRAIN);
}
