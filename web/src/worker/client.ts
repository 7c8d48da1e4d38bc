/** A model in a worker, behind the same interface as a model in this thread. */
import { proxy, type Remote } from 'comlink';
import { resolveUrl } from '../core/assets.js';
import { MultiheadError } from '../core/errors.js';
import { generate } from '../core/generate.js';
import { keepLatest } from '../core/latest.js';
import { absoluteFiles } from '../core/model-files.js';
import { checkRun, checkTokenize } from '../core/run-options.js';
import type {
  Build,
  GenerateOptions,
  LoadOptions,
  Model,
  ModelInfo,
  ModelSession,
  ModelSource,
  RunOptions,
  RunResult,
  Token,
  TokenizeOptions,
} from '../core/types.js';
import { Connection } from './connection.js';
import type { Description, Outcome, PortableLoadOptions, WorkerApi } from './protocol.js';
import { spawnWorker } from './spawn.js';

/** Starts a worker for `loadModelInto`. Throws code `worker`. */
export function openWorker(options: LoadOptions): Promise<Connection> {
  const url = options.workerUrl === undefined ? undefined : resolveUrl(options.workerUrl);
  return Connection.open(options.createWorker ?? (() => spawnWorker(url)));
}

/** Loads a model in a worker that is running. Throws as `loadModelHere` does. */
export async function loadModelInto(connection: Connection, source: ModelSource, options: LoadOptions): Promise<Model> {
  const load = prepareLoad(source, options);
  const giveUp = () => connection.close(options.signal?.reason);
  options.signal?.addEventListener('abort', giveUp, { once: true });
  try {
    options.signal?.throwIfAborted();
    const description = await load(connection);
    const reopen = async () => {
      const next = await openWorker(options);
      await load(next);
      return next;
    };
    return new RemoteModel(connection, description, reopen);
  } catch (thrown) {
    connection.close(thrown);
    throw thrown;
  } finally {
    options.signal?.removeEventListener('abort', giveUp);
  }
}

/** Everything that `load` needs, in a form that can go to a worker; the worker's own address is another. */
function prepareLoad(source: ModelSource, options: LoadOptions) {
  const files = absoluteFiles(source);
  const portable: PortableLoadOptions = {
    ...(options.build && { build: options.build }),
    ...(options.threads !== undefined && { threads: options.threads }),
    ...(options.precision && { precision: options.precision }),
    ...(options.wasm && { wasm: options.wasm }),
    ...(options.wasmUrl !== undefined && { wasmUrl: resolveUrl(options.wasmUrl) }),
  };
  const { onProgress } = options;
  return (connection: Connection): Promise<Description> =>
    connection.call((remote) => remote.load(files, portable, onProgress ? proxy(onProgress) : null));
}

class RemoteModel implements Model {
  readonly info: ModelInfo;
  readonly build: Build;
  readonly threads: number;
  readonly thread = 'worker';
  readonly runLatest = keepLatest((input: string | readonly number[], options?: RunOptions) =>
    this.run(input, options),
  );
  readonly #reopen: () => Promise<Connection>;
  #connection: Promise<Connection>;
  /** True from a crash to the next success: a second crash in a row is final. */
  #restarted = false;
  #disposed = false;
  #lastRun: Promise<unknown> = Promise.resolve();
  #sessions = 0;

  constructor(connection: Connection, { info, build, threads }: Description, reopen: () => Promise<Connection>) {
    this.#connection = Promise.resolve(connection);
    this.info = info;
    this.build = build;
    this.threads = threads;
    this.#reopen = reopen;
  }

  async run(input: string | readonly number[], options: RunOptions = {}): Promise<RunResult> {
    return this.#run(input, options, null);
  }

  /** Only a number here: the worker opens it when it is first named, and so does one that takes its place. */
  openSession(): ModelSession {
    if (this.#disposed) throw disposedError('model was disposed: load it anew');
    const id = this.#sessions++;
    let open = true;
    return {
      run: async (input, options = {}) => {
        if (!open) throw disposedError('session was disposed: open another');
        return this.#run(input, options, id);
      },
      dispose: () => {
        if (open && !this.#disposed) this.#closeSession(id);
        open = false;
      },
    };
  }

  /** One run at a time is in the worker, so that an aborted one that still waits costs nothing. */
  async #run(input: string | readonly number[], options: RunOptions, session: number | null): Promise<RunResult> {
    checkRun(input, options);
    const { signal, ...portable } = options;
    signal?.throwIfAborted();
    const result = this.#lastRun.then(() => {
      signal?.throwIfAborted();
      return this.#timed(() => this.#call((remote) => remote.run(input, portable, session)));
    });
    this.#lastRun = result.then(ignore, ignore);
    return signal ? unlessAborted(result, signal) : result;
  }

  generate(input: string | readonly number[], options?: GenerateOptions) {
    return generate(this, input, options);
  }

  async tokenize(input: string | readonly number[], options: TokenizeOptions = {}): Promise<readonly Token[]> {
    checkTokenize(input, options);
    return this.#call((remote) => remote.tokenize(input, options));
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#connection.then(
      (connection) => connection.close(disposedError('model was disposed: load it anew')),
      () => {},
    );
  }

  async #timed(run: () => Promise<RunResult>): Promise<RunResult> {
    const begin = performance.now();
    const result = await run();
    const { tokenize, prepare, forward, results } = result.times;
    const transfer = Math.max(0, performance.now() - begin - (tokenize + prepare + forward + results));
    return { ...result, times: { ...result.times, transfer } };
  }

  /** Behind the runs that are still to come; a worker that is gone has nothing to free. */
  #closeSession(id: number): void {
    const close = async () => {
      if (!this.#disposed)
        await (await this.#connection).call(async (remote) => ({ value: await remote.closeSession(id) }));
    };
    this.#lastRun = this.#lastRun.then(close).then(ignore, ignore);
  }

  async #call<T>(make: (remote: Remote<WorkerApi>) => Promise<Outcome<T>>): Promise<T> {
    if (this.#disposed) throw disposedError('model was disposed: load it anew');
    const current = this.#connection;
    try {
      const value = await (await current).call(make);
      this.#restarted = false;
      return value;
    } catch (thrown) {
      if (isFatal(thrown)) this.#restart(current);
      throw thrown;
    }
  }

  /** Replaces a dead worker by one with the same model, for the calls to come. */
  #restart(dead: Promise<Connection>): void {
    if (this.#connection !== dead || this.#restarted || this.#disposed) return;
    this.#restarted = true;
    dead.then((connection) => connection.close(disposedError('model was disposed: load it anew'))).catch(() => {});
    this.#connection = this.#reopen();
    this.#connection.catch(() => {});
  }
}

function ignore(): void {}

/** The worker or the engine in it is gone. */
function isFatal(thrown: unknown): boolean {
  return thrown instanceof MultiheadError && (thrown.code === 'crashed' || thrown.code === 'worker');
}

function disposedError(what: string): MultiheadError {
  return new MultiheadError('disposed', `this ${what}`);
}

/** Rejects at once when the signal aborts; the work itself goes on and is dropped. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
