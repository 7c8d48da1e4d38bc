/** A running worker: its start, its calls, its end. */
import { type Remote, releaseProxy, wrap } from 'comlink';
import { MultiheadError } from '../core/errors.js';
import { type Outcome, unpackError, type WorkerApi } from './protocol.js';

/** Time for the worker's script to arrive and answer. */
const HELLO_MILLISECONDS = 30_000;

/** Whoever answers the calls of an API: a worker, or this thread. A `Connection` is one. */
export interface Host<Api> {
  /** The value of a call, or its error, thrown here. */
  call<T>(make: (remote: Api) => Promise<Outcome<T>>): Promise<T>;
  close(reason: unknown): void;
}

/** A host in this thread, for pages that may start no worker. */
export function hostHere<Api>(api: Api): Host<Api> {
  return {
    call: async (make) => unpack(await make(api)),
    close() {},
  };
}

function unpack<T>(outcome: Outcome<T>): T {
  if ('error' in outcome) throw unpackError(outcome.error);
  return outcome.value;
}

/** What every worker of ours can be asked. */
interface Greeting {
  hello(): void;
}

export class Connection<Api extends Greeting = WorkerApi> {
  readonly #worker: Worker;
  readonly #remote: Remote<Api>;
  /** How to reject each call under way. */
  readonly #pending = new Set<(reason: unknown) => void>();
  /** Why the worker has ended. */
  #ended: { readonly reason: unknown } | undefined;

  private constructor(worker: Worker) {
    this.#worker = worker;
    this.#remote = wrap<Api>(worker);
    worker.addEventListener('error', (event) => {
      // A script that cannot be loaded says nothing.
      this.close(workerError(event.message || 'its script could not be loaded'));
    });
    worker.addEventListener('messageerror', () => this.close(workerError('a message could not be read')));
  }

  /**
   * Starts a worker and waits until it answers.
   *
   * @throws {MultiheadError} `worker` if the host allows no worker, or its script does not load.
   */
  static async open<Api extends Greeting = WorkerApi>(spawn: () => Worker): Promise<Connection<Api>> {
    let connection: Connection<Api>;
    try {
      connection = new Connection(spawn());
    } catch (thrown) {
      throw new MultiheadError('worker', `the host allows no worker: ${thrown}`, { cause: thrown });
    }
    const timer = setTimeout(() => connection.close(workerError('it does not answer')), HELLO_MILLISECONDS);
    try {
      await connection.#unlessEnded(() => (connection.#remote as unknown as Remote<Greeting>).hello());
    } finally {
      clearTimeout(timer);
    }
    return connection;
  }

  /** The value of a call, or its error, thrown here. */
  async call<T>(make: (remote: Remote<Api>) => Promise<Outcome<T>>): Promise<T> {
    return unpack(await this.#unlessEnded(() => make(this.#remote)));
  }

  /** Ends the worker; calls under way, and later ones, reject with `reason`. */
  close(reason: unknown): void {
    if (this.#ended) return;
    this.#ended = { reason };
    for (const reject of this.#pending) reject(reason);
    this.#remote[releaseProxy]();
    this.#worker.terminate();
  }

  /** Not a race with one long-lived promise, which would keep the result of every call. */
  #unlessEnded<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#ended) {
        reject(this.#ended.reason);
        return;
      }
      this.#pending.add(reject);
      work()
        .then(resolve, reject)
        .finally(() => this.#pending.delete(reject));
    });
  }
}

function workerError(what: string): MultiheadError {
  return new MultiheadError(
    'worker',
    `the worker failed: ${what}. Check that worker.js is served beside the other scripts (option workerUrl), or use thread: 'here'`,
  );
}
