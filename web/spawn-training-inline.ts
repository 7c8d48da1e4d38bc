/** In place of src/worker/spawn-training.ts where the worker's code is part of the bundle. */
/// <reference types="vite/client" />
import InlineWorker from './src/worker/training-worker.js?worker&inline';

export function spawnTrainingWorker(): Worker {
  return new InlineWorker();
}
