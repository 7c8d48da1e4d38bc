/** Starts the worker, whatever bundled it and wherever its script is. */

/**
 * A new worker on `worker.js`: beside this module, or at `url`.
 *
 * Throws what the browser throws where it allows no workers.
 */
export function spawnWorker(url?: string): Worker {
  if (url !== undefined) return spawnFrom(url);
  try {
    // Bundlers find the worker by exactly this form, and only if nothing before it names the script.
    return new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
  } catch {
    // Only a script taken as it is, unbundled, comes here: not a file for a bundler to copy.
    return spawnThroughBlob(new URL(/* @vite-ignore */ './worker.js', import.meta.url).href);
  }
}

function spawnFrom(url: string): Worker {
  try {
    return new Worker(url, { type: 'module' });
  } catch {
    return spawnThroughBlob(url);
  }
}

/** A script of another origin (a CDN's) cannot be a worker, but a local one can import it. */
function spawnThroughBlob(url: string): Worker {
  const code = `import ${JSON.stringify(url)};`;
  const blob = URL.createObjectURL(new Blob([code], { type: 'text/javascript' }));
  const worker = new Worker(blob, { type: 'module' });
  // The script is fetched later, so the address must outlive this call.
  setTimeout(() => URL.revokeObjectURL(blob), 60_000);
  return worker;
}
