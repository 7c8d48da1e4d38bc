/** One instance of the wasm: its memory, and calls that turn a C status into an exception. */
import { type ErrorCode, MultiheadError, messageOf } from './errors.js';
import { type Allocator, Memory, type Scope } from './memory.js';
import type { Build, ComputedRows, StatisticNames } from './types.js';

type WasmFunction = (...args: number[]) => number;

/** What a forward pass noticed: `struct mh_report`. */
export interface Report {
  /** Rows that could see no key. */
  readonly maskedRows: number;
  /** Of a model's pass: what its session did not have. */
  readonly computed: ComputedRows;
}

/** Workers that compute for an engine. */
export interface EngineThreads {
  /** With the calling thread. */
  readonly count: number;
  end(): void;
}

/** Ends the threads of engines that nobody holds any more. */
const forgotten = new FinalizationRegistry((threads: EngineThreads) => threads.end());

/**
 * A running engine. Made by `loadEngine`; shared by everything that computes with it. Calls are synchronous.
 *
 * Its memory goes when the engine is no longer referenced, and so do its threads, if it has any; `dispose` ends those
 * at once.
 */
export class Engine {
  readonly build: Build;
  readonly memory: Memory;
  readonly statisticNames: StatisticNames;
  readonly #exports: Readonly<Record<string, unknown>>;
  readonly #error: number;
  #threads: EngineThreads | undefined;
  #crash: unknown;
  #disposed = false;

  /** Takes a fresh instance of `multihead-*.wasm` and initialises it; `given` is the memory of one that imports it. */
  constructor(instance: WebAssembly.Instance, given?: WebAssembly.Memory) {
    this.#exports = instance.exports;
    this.#function('_initialize')();
    const allocator: Allocator = { malloc: this.#function('malloc'), free: this.#function('free') };
    const memory = given ?? (instance.exports.memory as WebAssembly.Memory);
    const layouts = [this.#function('mh_layout')()];
    if (this.trains) layouts.push(this.#function('mh_train_layout')());
    this.memory = new Memory(memory, allocator, layouts);
    this.build = this.memory.text(this.call('mh_build')) as Build;
    this.#error = this.memory.reserve(this.memory.sizeOf('mh_error'));
    this.statisticNames = {
      row: this.#names('mh_row_statistic_name'),
      head: this.#names('mh_head_statistic_name'),
    };
  }

  /** Whether it is a wasm that also learns, as `Trainer` needs. */
  get trains(): boolean {
    return 'mh_train_layout' in this.#exports;
  }

  /** How many threads a pass uses, the calling one included. More than 1 only with a build that has threads. */
  get threads(): number {
    return this.#threads?.count ?? 1;
  }

  /** False once the wasm has trapped, and after `dispose`: then every call throws. */
  get alive(): boolean {
    return this.#crash === undefined && !this.#disposed;
  }

  /** Ends the threads and the engine with them: a later call throws code `disposed`. */
  dispose(): void {
    this.#disposed = true;
    this.#endThreads();
  }

  /** Takes threads that the wasm has been told of. */
  own(threads: EngineThreads): void {
    this.#threads = threads;
    forgotten.register(this, threads, this);
  }

  /** Calls an export that cannot fail. Throws code `crashed` if the wasm traps, now or before; code `disposed`. */
  call(name: string, ...args: readonly number[]): number {
    if (this.#crash !== undefined) throw this.#crashed();
    if (this.#disposed) throw new MultiheadError('disposed', 'this engine was disposed: load it anew');
    try {
      return this.#function(name)(...args);
    } catch (thrown) {
      if (!(thrown instanceof WebAssembly.RuntimeError)) throw thrown;
      this.#crash = thrown;
      this.#endThreads();
      throw this.#crashed();
    }
  }

  /** Calls an export that returns `enum mh_status` and takes a `struct mh_error *` last. Throws what it says. */
  check(name: string, ...args: readonly number[]): void {
    const status = this.call(name, ...args, this.#error);
    if (status === 0) return;
    const code = this.memory.text(this.call('mh_status_name', status)) as ErrorCode;
    const message = String(this.memory.field('mh_error', this.#error, 'message'));
    throw new MultiheadError(code, message, { details: { call: name } });
  }

  /**
   * Plans a workspace by `${noun}_workspace(...subject)`, then runs `${noun}_forward(...subject, workspace, …)`: the
   * pattern of every pass in `c/include/multihead.h`.
   */
  forward(scope: Scope, noun: string, ...subject: readonly number[]): Report {
    const size = scope.alloc(4);
    this.check(`${noun}_workspace`, ...subject, size);
    const bytes = this.memory.uint32(size);
    const report = scope.struct('mh_report');
    this.check(`${noun}_forward`, ...subject, scope.alloc(bytes), bytes, report);
    const read = (field: string) => Number(this.memory.field('mh_report', report, field));
    return {
      maskedRows: read('masked_rows'),
      computed: { rows: read('computed_rows'), firstLayer: read('first_layer'), firstRow: read('first_row') },
    };
  }

  #endThreads(): void {
    forgotten.unregister(this);
    this.#threads?.end();
    this.#threads = undefined;
  }

  #function(name: string): WasmFunction {
    const found = this.#exports[name];
    if (typeof found === 'function') return found as WasmFunction;
    throw new MultiheadError(
      'wasm-compile',
      `the wasm has no function ${name}: it is not this version of multihead. Copy the .wasm files of the same version beside the scripts.`,
      { details: { missing: name } },
    );
  }

  #crashed(): MultiheadError {
    return new MultiheadError(
      'crashed',
      `the engine crashed (${messageOf(this.#crash)}) and cannot be used again: load it anew`,
      { cause: this.#crash },
    );
  }

  #names(lister: string): string[] {
    const names: string[] = [];
    for (let address = this.call(lister, 0); address !== 0; address = this.call(lister, names.length)) {
      names.push(this.memory.text(address));
    }
    return names;
  }
}

/** Throws code `argument` for what a caller in JavaScript may give instead. */
export function requireEngine(engine: unknown): void {
  if (engine instanceof Engine) return;
  throw new MultiheadError('argument', `the engine is ${String(engine)}: make one with await loadEngine()`);
}
