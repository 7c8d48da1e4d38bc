/** The one error class of the package, and the codes that programs branch on. */

/** Names of `enum mh_status` in `c/include/multihead.h`, then those of the JavaScript side. */
export type ErrorCode =
  /** A value outside its range. */
  | 'argument'
  /** Sizes that do not fit one another. */
  | 'shape'
  /** Out of wasm memory. */
  | 'memory'
  /** Valid, but not something this engine does. */
  | 'unsupported'
  /** A weights file that is not what it claims to be. */
  | 'corrupt'
  /** NaN or infinity where the finite-ness guard looked. */
  | 'nonfinite'
  /** This host runs no wasm SIMD, or not the build that was asked for. */
  | 'wasm-unsupported'
  | 'wasm-fetch'
  /** Something else than wasm came back, mostly a server's HTML page. */
  | 'wasm-not-wasm'
  | 'wasm-compile'
  | 'model-fetch'
  /** A JSON file of the model that does not parse, or lacks what is needed. */
  | 'model-format'
  /** More tokens than the model has positions. */
  | 'too-long'
  /** Used after `dispose()`. */
  | 'disposed'
  /** The wasm trapped; its engine cannot be used again. */
  | 'crashed'
  /** The Web Worker could not be started, or died. */
  | 'worker';

/**
 * What every failure of this package throws, apart from aborted calls, which throw the signal's reason.
 *
 * @example
 * try {
 *   await model.run(text);
 * } catch (error) {
 *   if (error instanceof MultiheadError && error.code === 'too-long') shorten();
 *   else throw error;
 * }
 */
export class MultiheadError extends Error {
  readonly code: ErrorCode;
  /** The values behind the message, such as `{ tokens: 70, limit: 64 }`; plain data. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: ErrorCode,
    message: string,
    options: { readonly details?: Readonly<Record<string, unknown>>; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'MultiheadError';
    this.code = code;
    this.details = options.details ?? {};
  }
}

/** The message of anything that was thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
