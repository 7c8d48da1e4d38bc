/** Starts the worker that trains. Bundlers find its script by exactly this form. */
export function spawnTrainingWorker(): Worker {
  return new Worker(new URL('./training-worker.js', import.meta.url), { type: 'module' });
}
