/**
 * More threads for an engine: workers that run the same wasm on the same memory, and wait in it for work.
 *
 * `c/include/multihead_threads.h` says what they do there. A worker has a stack of its own, and nothing else.
 */
import { builtin } from './assets.js';
import type { Engine } from './engine.js';
import { MultiheadError, messageOf } from './errors.js';

/** What `build.sh` links with: `INITIAL_MEMORY_BYTES`, `MAXIMUM_MEMORY_BYTES`, in pages of 64 KB. */
const INITIAL_PAGES = 16;
const MAXIMUM_PAGES = 32768;
const STACK_BYTES = 128 * 1024;
const READY_MILLISECONDS = 10_000;
/** More share one memory bus, and some of a phone's cores are slow. */
const MOST_BY_ITSELF = 4;
/** `MH_THREADS_MOST`. */
const MOST = 64;

/**
 * A thread's script. Text, since it is to run from a Blob: a file of its own would be one more asset for every bundler
 * and every host to find. Node gives it the message port, a browser's worker is one.
 */
const SCRIPT = `
const port = typeof require === 'function' ? require('node:worker_threads').parentPort : self;
port.onmessage = ({ data: { module, memory, stackEnd, thread } }) => {
  const env = { memory, emscripten_notify_memory_growth() {} };
  const { exports } = new WebAssembly.Instance(module, { env });
  exports.__stack_pointer.value = stackEnd;
  port.postMessage('ready');
  try {
    exports.mh_thread_run(thread);
  } catch {
    exports.mh_thread_crashed();
  }
};
`;

/** A started worker, of the browser's kind or of Node's. */
interface Thread {
  /** Calls `ready` at the first message, or `failed`. */
  start(job: ThreadJob, ready: () => void, failed: (why: string) => void): void;
  end(): void;
}

interface ThreadJob {
  readonly module: WebAssembly.Module;
  readonly memory: WebAssembly.Memory;
  readonly stackEnd: number;
  readonly thread: number;
}

/** How many threads to start for the option `threads`, the calling one included. */
export function threadsWanted(threads: number | 'auto' | undefined): number {
  if (threads === undefined || threads === 'auto') {
    // A page's cores are the visitor's to use; a server has its own plans for them.
    if (threads === undefined && isNode()) return 1;
    return canShareMemory() ? Math.min(globalThis.navigator?.hardwareConcurrency || 1, MOST_BY_ITSELF) : 1;
  }
  if (Number.isInteger(threads) && threads >= 1 && threads <= MOST) return canShareMemory() ? threads : 1;
  throw new MultiheadError('argument', `threads is ${threads}: it must be 'auto', or a whole number from 1 to ${MOST}`);
}

function isNode(): boolean {
  return builtin('node:worker_threads') !== undefined;
}

/** A browser lets workers share memory in pages that no other origin can look into (headers COOP and COEP). */
function canShareMemory(): boolean {
  return typeof SharedArrayBuffer !== 'undefined' && (isNode() || globalThis.crossOriginIsolated === true);
}

/** Throws where the host has no room for it. */
export function sharedMemory(): WebAssembly.Memory {
  return new WebAssembly.Memory({ initial: INITIAL_PAGES, maximum: MAXIMUM_PAGES, shared: true });
}

/** Does the module expect to be given its memory? */
export function isThreaded(module: WebAssembly.Module): boolean {
  return WebAssembly.Module.imports(module).some(({ kind }) => kind === 'memory');
}

/**
 * Starts `count - 1` workers, waits until they are there, and gives them to the engine, whose passes use them from then on.
 * Throws code `worker` if one does not come; then none is left.
 */
export async function startThreads(
  engine: Engine,
  module: WebAssembly.Module,
  memory: WebAssembly.Memory,
  count: number,
) {
  const threads: Thread[] = [];
  const end = enderOf(threads);
  try {
    for (let thread = 1; thread < count; thread++) threads.push(spawn());
    await Promise.all(
      threads.map((thread, i) => {
        const stackEnd = engine.memory.reserve(STACK_BYTES) + STACK_BYTES;
        return whenReady(thread, { module, memory, stackEnd, thread: i + 1 });
      }),
    );
  } catch (thrown) {
    end();
    throw new MultiheadError('worker', `no threads: ${messageOf(thrown)}`, { cause: thrown });
  }
  engine.call('mh_threads_use', count, Number(mayWait()));
  engine.own({ count, end });
}

/** Apart, so that what it returns does not hold the engine: a forgotten engine is to be noticed. */
function enderOf(threads: readonly Thread[]): () => void {
  return () => {
    for (const thread of threads) thread.end();
  };
}

function whenReady(thread: Thread, job: ThreadJob): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (why: string) => {
      clearTimeout(timer);
      reject(new Error(why));
    };
    const timer = setTimeout(() => failed('a worker does not answer'), READY_MILLISECONDS);
    thread.start(
      job,
      () => {
        clearTimeout(timer);
        resolve();
      },
      failed,
    );
  });
}

/** May this thread sleep? A page's main thread may not. */
function mayWait(): boolean {
  try {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 1);
    return true;
  } catch {
    return false;
  }
}

function spawn(): Thread {
  const node = builtin('node:worker_threads');
  return node ? spawnInNode(node) : spawnInBrowser();
}

function spawnInNode({ Worker }: typeof import('node:worker_threads')): Thread {
  const worker = new Worker(SCRIPT, { eval: true });
  return {
    start(job, ready, failed) {
      worker.once('message', () => {
        // A thread that waits for work is no reason for the process to go on.
        worker.unref();
        ready();
      });
      worker.once('error', (error) => failed(messageOf(error)));
      worker.postMessage(job);
    },
    end: () => void worker.terminate(),
  };
}

function spawnInBrowser(): Thread {
  const address = URL.createObjectURL(new Blob([SCRIPT], { type: 'text/javascript' }));
  const worker = new Worker(address);
  return {
    start(job, ready, failed) {
      worker.onmessage = () => {
        URL.revokeObjectURL(address);
        ready();
      };
      // A content security policy without blob: in worker-src ends here.
      worker.onerror = (event) => failed(event.message || 'workers from a Blob are not allowed here');
      worker.postMessage(job);
    },
    end: () => worker.terminate(),
  };
}
