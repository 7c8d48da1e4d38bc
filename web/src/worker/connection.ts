/** A running worker: its start, its calls, its end. */
import { type Remote, releaseProxy, wrap } from 'comlink';
import { MultiheadError } from '../core/errors.js';
import { type Outcome, unpackError, type WorkerApi } from './protocol.js';

/** Time for the worker's script to arrive and answer. */
const HELLO_MILLISECONDS = 30_000;

export class Connection {
  readonly #worker: Worker;
  readonly #remote: Remote<WorkerApi>;
  /** Never resolves; rejects when the worker has failed or was closed, and with it every call under way. */
  readonly #end: Promise<never>;
  #reject: (reason: unknown) => void = () => {};
  #closed = false;

  private constructor(worker: Worker) {
    this.#worker = worker;
    this.#remote = wrap<WorkerApi>(worker);
    this.#end = new Promise((_, reject) => {
      this.#reject = reject;
    });
    this.#end.catch(() => {});
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
  static async open(spawn: () => Worker): Promise<Connection> {
    let connection: Connection;
    try {
      connection = new Connection(spawn());
    } catch (thrown) {
      throw new MultiheadError('worker', `the host allows no worker: ${thrown}`, { cause: thrown });
    }
    const timer = setTimeout(() => connection.close(workerError('it does not answer')), HELLO_MILLISECONDS);
    try {
      await Promise.race([connection.#remote.hello(), connection.#end]);
    } finally {
      clearTimeout(timer);
    }
    return connection;
  }

  /** The value of a call, or its error, thrown here. */
  async call<T>(make: (remote: Remote<WorkerApi>) => Promise<Outcome<T>>): Promise<T> {
    if (this.#closed) return this.#end;
    const outcome = await Promise.race([make(this.#remote), this.#end]);
    if ('error' in outcome) throw unpackError(outcome.error);
    return outcome.value;
  }

  /** Ends the worker; calls under way reject with `reason`. */
  close(reason: unknown): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#reject(reason);
    this.#remote[releaseProxy]();
    this.#worker.terminate();
  }
}

function workerError(what: string): MultiheadError {
  return new MultiheadError(
    'worker',
    `the worker failed: ${what}. Check that worker.js is served beside the other scripts (option workerUrl), or use thread: 'here'`,
  );
}
