/** Reads files: over the network, from disk where the host has one, or from bytes in hand. */
import { MultiheadError, messageOf } from './errors.js';
import type { ModelFile } from './types.js';

export interface ReadOptions {
  /** Code of the error if the file cannot be read. */
  readonly code: 'wasm-fetch' | 'model-fetch';
  readonly onProgress?: ((loaded: number, total: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The bytes of a file. Throws `options.code`, naming the address, the HTTP status or the cause, or the reason of
 * `signal`.
 */
export async function readFile(file: ModelFile, options: ReadOptions): Promise<Uint8Array> {
  options.signal?.throwIfAborted();
  if (typeof file === 'string' || file instanceof URL) return readUrl(resolveUrl(file), options);
  const bytes = await bytesOf(file);
  options.onProgress?.(bytes.length, bytes.length);
  return bytes;
}

async function bytesOf(file: ArrayBuffer | Uint8Array | Blob): Promise<Uint8Array> {
  if (file instanceof Uint8Array) return file;
  return new Uint8Array(file instanceof ArrayBuffer ? file : await file.arrayBuffer());
}

/**
 * The absolute form of an address: of a URL as it is; of anything else, relative to the page, or where there is a disk,
 * to the working directory.
 */
export function resolveUrl(address: string | URL): string {
  if (address instanceof URL || isAbsolute(address)) return new URL(address).href;
  const paths = builtin('node:url');
  return paths ? paths.pathToFileURL(address).href : new Request(address).url;
}

/** A single letter before the colon is a drive of Windows, not a scheme. */
function isAbsolute(address: string): boolean {
  return /^[a-z][a-z0-9+.-]+:/i.test(address);
}

/** What a user would call a file: its address or name, or that it was given as data. */
export function describeFile(file: ModelFile | object, kind: string): string {
  if (typeof file === 'string' || file instanceof URL) return resolveUrl(file);
  return file instanceof Blob && 'name' in file ? String(file.name) : `the given ${kind}`;
}

async function readUrl(url: string, options: ReadOptions): Promise<Uint8Array> {
  try {
    const disk = url.startsWith('file:') ? builtin('node:fs/promises') : undefined;
    if (!disk) return await fetchBytes(url, options);
    const bytes = await disk.readFile(new URL(url));
    options.onProgress?.(bytes.length, bytes.length);
    return bytes;
  } catch (thrown) {
    options.signal?.throwIfAborted();
    if (thrown instanceof MultiheadError) throw thrown;
    throw new MultiheadError(options.code, `could not read ${url}: ${messageOf(thrown)}`, {
      details: { url },
      cause: thrown,
    });
  }
}

async function fetchBytes(url: string, options: ReadOptions): Promise<Uint8Array> {
  const response = await fetch(url, options.signal ? { signal: options.signal } : {});
  if (!response.ok) {
    throw new MultiheadError(options.code, `could not read ${url}: the server says ${describeStatus(response)}`, {
      details: { url, status: response.status },
    });
  }
  if (!response.body || !options.onProgress) return new Uint8Array(await response.arrayBuffer());
  return collect(response.body, expectedLength(response), options.onProgress);
}

function describeStatus(response: Response): string {
  return `${response.status} ${response.statusText}`.trim();
}

/** Bytes to come, or 0 if unknown: with a content encoding, the header counts compressed bytes. */
function expectedLength(response: Response): number {
  if (response.headers.has('content-encoding')) return 0;
  return Number(response.headers.get('content-length') ?? 0);
}

async function collect(
  body: ReadableStream<Uint8Array>,
  total: number,
  onProgress: (loaded: number, total: number) => void,
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let loaded = 0;
  const reader = body.getReader();
  for (let step = await reader.read(); !step.done; step = await reader.read()) {
    parts.push(step.value);
    loaded += step.value.length;
    onProgress(loaded, total);
  }
  const bytes = new Uint8Array(loaded);
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}

interface Builtins {
  'node:fs/promises': typeof import('node:fs/promises');
  'node:url': typeof import('node:url');
  'node:worker_threads': typeof import('node:worker_threads');
}

/**
 * A module of the host, if it is one like Node. Asked for at run time, since a bundler for the browser fails on an
 * `import` of it.
 */
export function builtin<Name extends keyof Builtins>(name: Name): Builtins[Name] | undefined {
  const host = (globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } }).process;
  return host?.getBuiltinModule?.(name) as Builtins[Name] | undefined;
}
