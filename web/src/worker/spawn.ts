/** Starts the worker, whatever bundled it and wherever its script is. */

/**
 * A new worker on `worker.js`: beside this module, or at `url`.
 *
 * Throws what the browser throws where it allows no workers.
 */
export function spawnWorker(url?: string): Worker {
  try {
    return url === undefined ? startBundled() : new Worker(url, { type: 'module' });
  } catch {
    return startThroughBlob(url ?? addressOf(startBundled));
  }
}

function startBundled(): Worker {
  // Bundlers find the script by exactly this form, and put its final address here.
  return new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
}

/** A script of another origin (a CDN's) cannot be a worker, but a local one can import it. */
function startThroughBlob(url: string): Worker {
  const code = `import ${JSON.stringify(url)};`;
  const blob = URL.createObjectURL(new Blob([code], { type: 'text/javascript' }));
  const worker = new Worker(blob, { type: 'module' });
  // The script is fetched later, so the address must outlive this call.
  setTimeout(() => URL.revokeObjectURL(blob), 60_000);
  return worker;
}

/**
 * The address that `start` gives to a worker. Nothing but the constructor learns it from a bundler, so for the time of
 * this call another one stands in its place.
 */
function addressOf(start: () => Worker): string {
  const real = globalThis.Worker;
  let address = '';
  globalThis.Worker = class {
    constructor(url: string | URL) {
      address = String(url);
    }
  } as unknown as typeof Worker;
  try {
    start();
  } finally {
    globalThis.Worker = real;
  }
  return address;
}
