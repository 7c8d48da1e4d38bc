/** What the page and the worker say to each other, over comlink. */
import { type ErrorCode, MultiheadError, messageOf } from '../core/errors.js';
import type {
  Build,
  ModelFiles,
  ModelInfo,
  Precision,
  Progress,
  RunOptions,
  RunResult,
  Token,
  TokenizeOptions,
} from '../core/types.js';

/** Options of `run` without what cannot leave the thread. */
export type PortableRunOptions = Omit<RunOptions, 'signal'>;

export interface PortableLoadOptions {
  readonly build?: Build | 'auto';
  readonly threads?: number | 'auto';
  readonly precision?: Precision;
  readonly wasmUrl?: string;
  readonly wasm?: BufferSource | WebAssembly.Module;
}

/** The model that a worker has loaded. */
export interface Description {
  readonly info: ModelInfo;
  readonly build: Build;
  readonly threads: number;
}

/** The worker's side. Every call returns an outcome: comlink by itself would keep only the message of an error. */
export interface WorkerApi {
  /** Answers as soon as the worker's script runs. */
  hello(): void;
  load(
    files: ModelFiles,
    options: PortableLoadOptions,
    onProgress: ((progress: Progress) => void) | null,
  ): Promise<Outcome<Description>>;
  /** In the session of that number, which begins when it is first named; null: in none. */
  run(
    input: string | readonly number[],
    options: PortableRunOptions,
    session: number | null,
  ): Promise<Outcome<RunResult>>;
  closeSession(session: number): void;
  tokenize(input: string | readonly number[], options: TokenizeOptions): Promise<Outcome<readonly Token[]>>;
}

export type Outcome<T> = { readonly value: T } | { readonly error: PortableError };

/** An error as plain data. */
export interface PortableError {
  /** Absent for an error that is not ours. */
  readonly code?: ErrorCode;
  readonly name: string;
  readonly message: string;
  readonly stack?: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;
  readonly cause?: string;
}

export function packError(thrown: unknown): PortableError {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const ours = error instanceof MultiheadError ? { code: error.code, details: error.details } : { details: {} };
  const cause = error.cause === undefined ? {} : { cause: messageOf(error.cause) };
  return { name: error.name, message: error.message, stack: error.stack, ...ours, ...cause };
}

/** The error again, with the worker's stack in place of ours. */
export function unpackError(packed: PortableError): Error {
  const error = packed.code
    ? new MultiheadError(packed.code, packed.message, { details: packed.details, cause: packed.cause })
    : Object.assign(new Error(packed.message), { name: packed.name });
  if (packed.stack) error.stack = packed.stack;
  return error;
}
