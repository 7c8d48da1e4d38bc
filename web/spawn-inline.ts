/** In place of src/worker/spawn.ts where the worker's code is part of the bundle. */
/// <reference types="vite/client" />
import InlineWorker from './src/worker/worker.js?worker&inline';

export function spawnWorker(): Worker {
  return new InlineWorker();
}
