/** Loads a model where it computes best: in a worker, or in this thread. */
import { MultiheadError } from '../core/errors.js';
import { ENGINE_OPTIONS } from '../core/load.js';
import { checkPrecision, loadModelHere } from '../core/model.js';
import { checkOptions, type Known } from '../core/options.js';
import type { LoadOptions, Model, ModelSource } from '../core/types.js';
import { loadModelInto, openWorker } from './client.js';

const OPTIONS: Known<LoadOptions> = {
  ...ENGINE_OPTIONS,
  precision: true,
  onProgress: true,
  signal: true,
  thread: true,
  workerUrl: true,
  createWorker: true,
};

/**
 * Loads a model from a folder (`config.json`, `model.safetensors`, `tokenizer.json`) or from its files.
 *
 * Computes in a Web Worker where the host has them, else in this thread, and says which in `model.thread`: `here` also
 * where a worker was to be started and the host refused. With `thread: 'worker'` that is an error.
 *
 * @throws {MultiheadError} `argument`: no source, or an option that does not exist. `wasm-unsupported`, `wasm-fetch`, `wasm-not-wasm`, `wasm-compile`: no engine. `model-fetch`,
 * `model-format`, `unsupported`, `corrupt`: no model. `worker`: no worker, and one was demanded. The reason of
 * `options.signal` if it aborts.
 * @example
 * const model = await loadModel(bilingual);
 * const result = await model.run('The cat sat on the mat.', { mask: { causal: true }, logits: 'last' });
 * result.attention; // [layers, heads, tokens, tokens]
 * model.dispose();
 */
export async function loadModel(source: ModelSource, options: LoadOptions = {}): Promise<Model> {
  checkOptions('loadModel', options, OPTIONS);
  checkThread(options.thread);
  checkPrecision(options.precision);
  options.signal?.throwIfAborted();
  if (options.thread === 'here') return loadModelHere(source, options);
  if (!options.createWorker && typeof Worker === 'undefined') {
    if (options.thread !== 'worker') return loadModelHere(source, options);
    throw new MultiheadError('worker', "this host has no Web Workers: leave out thread, or use thread: 'here'");
  }
  const connection = await openWorker(options).catch((thrown: unknown) => {
    if (options.thread === 'worker') throw thrown;
    return undefined;
  });
  return connection ? loadModelInto(connection, source, options) : loadModelHere(source, options);
}

function checkThread(thread: unknown): void {
  if (thread === undefined || thread === 'worker' || thread === 'here') return;
  throw new MultiheadError('argument', `thread is ${String(thread)}: it must be 'worker' or 'here'`);
}
