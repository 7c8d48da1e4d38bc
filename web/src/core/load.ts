/** Finds, checks and starts the wasm. */
import { relaxedSimd, simd } from 'wasm-feature-detect';
import { readFile, resolveUrl } from './assets.js';
import { Engine } from './engine.js';
import { MultiheadError, messageOf } from './errors.js';
import { checkOptions, type Known } from './options.js';
import { threadedWasmUrl } from './threaded-wasm.js';
import { isThreaded, sharedMemory, startThreads, threadsWanted } from './threads.js';
import type { Build, EngineOptions, Progress } from './types.js';

export interface LoadEngineOptions extends EngineOptions {
  readonly onProgress?: (progress: Progress) => void;
  readonly signal?: AbortSignal;
}

export const ENGINE_OPTIONS: Known<EngineOptions> = { build: true, threads: true, wasmUrl: true, wasm: true };

/** A kind of wasm: its file is `${name}-${build}.wasm`, beside the package's own modules unless `wasmUrl` says where. */
export interface Artefact {
  readonly name: string;
  readonly urls: Readonly<Record<Build, string>>;
  /** Where `${name}-${build}-threads.wasm` is, if there is one. */
  readonly threadedUrl?: (build: Build) => string | undefined;
}

/** Only looks: everything of `c/include/multihead.h`. Bundlers find these files by exactly this form. */
const ENGINE: Artefact = {
  name: 'multihead',
  urls: {
    simd128: new URL('../wasm/multihead-simd128.wasm', import.meta.url).href,
    'relaxed-simd': new URL('../wasm/multihead-relaxed-simd.wasm', import.meta.url).href,
  },
  threadedUrl: threadedWasmUrl,
};

/** Compiled modules by address, so that a page with several elements compiles once. A failure is not kept. */
const compiled = new Map<string, Promise<WebAssembly.Module>>();
const shared = new Map<string, Promise<Engine>>();

/**
 * Starts a new engine with a memory of its own.
 *
 * @throws {MultiheadError} `argument` for an option that does not exist; `wasm-unsupported` if the host cannot run the build; `wasm-fetch`, `wasm-not-wasm` or
 * `wasm-compile` if the file is not there, not wasm, or refused.
 * @example
 * const engine = await loadEngine();
 * console.log(engine.build); // 'relaxed-simd' or 'simd128'
 */
export async function loadEngine(options: LoadEngineOptions = {}): Promise<Engine> {
  checkOptions('loadEngine', options, { ...ENGINE_OPTIONS, onProgress: true, signal: true });
  return startEngine(options);
}

/** `loadEngine` for a caller that has checked the options, and has more of them. */
export async function startEngine(options: LoadEngineOptions, artefact: Artefact = ENGINE): Promise<Engine> {
  const threads = threadsWanted(options.threads);
  if (options.wasm) return startGiven(options.wasm, options, threads);
  const threaded = threads > 1 ? await startWithThreads(options, artefact, threads) : undefined;
  const engine = threaded ?? (await instantiate(await compileBest(options, artefact)));
  if (options.signal?.aborted) engine.dispose();
  options.signal?.throwIfAborted();
  return engine;
}

/** The engine with threads; none if anything at all is in the way, since the engine with one thread does the same. */
async function startWithThreads(
  options: LoadEngineOptions,
  { name, threadedUrl }: Artefact,
  threads: number,
): Promise<Engine | undefined> {
  const [build] = await candidates(options.build ?? 'auto');
  const usual = threadedUrl?.(build);
  if (usual === undefined) return undefined;
  const url = options.wasmUrl === undefined ? usual : urlIn(options.wasmUrl, `${name}-${build}-threads`);
  try {
    return await instantiateWithThreads(await compileUrl(url, options), threads);
  } catch {
    return undefined;
  }
}

async function startGiven(
  wasm: BufferSource | WebAssembly.Module,
  { build, signal }: LoadEngineOptions,
  threads: number,
): Promise<Engine> {
  const module = await compileGiven(wasm);
  signal?.throwIfAborted();
  const engine = isThreaded(module) ? await instantiateWithThreads(module, threads) : await instantiate(module);
  if (build && build !== 'auto' && build !== engine.build) {
    throw new MultiheadError(
      'wasm-unsupported',
      `the wasm given is the ${engine.build} build, and the option build says ${build}`,
      { details: { given: engine.build, wanted: build } },
    );
  }
  return engine;
}

/** One engine for all who ask with the same options, as long as it has not crashed. */
export async function sharedEngine(options: EngineOptions = {}, artefact: Artefact = ENGINE): Promise<Engine> {
  checkOptions('the engine', options, ENGINE_OPTIONS);
  if (options.wasm) return startEngine(options, artefact);
  const key = `${artefact.name} ${options.build ?? 'auto'} ${options.threads ?? ''} ${options.wasmUrl ?? ''}`;
  const engine = await remember(shared, key, () => startEngine(options, artefact));
  if (engine.alive) return engine;
  shared.delete(key);
  return sharedEngine(options, artefact);
}

async function compileBest(options: LoadEngineOptions, artefact: Artefact): Promise<WebAssembly.Module> {
  const [first, ...others] = await candidates(options.build ?? 'auto');
  try {
    return await compileUrl(urlOf(first, options, artefact), options);
  } catch (thrown) {
    // A place that serves only SIMD128 is complete for `auto`; any other trouble is told.
    const absent = thrown instanceof MultiheadError && thrown.code === 'wasm-fetch';
    if (others[0] === undefined || !absent) throw thrown;
    return compileUrl(urlOf(others[0], options, artefact), options);
  }
}

/** Builds to try, best first. */
async function candidates(build: Build | 'auto'): Promise<[Build, ...Build[]]> {
  const host = { simd128: await simd(), 'relaxed-simd': await relaxedSimd() };
  if (build === 'auto') {
    if (host['relaxed-simd']) return ['relaxed-simd', 'simd128'];
    if (host.simd128) return ['simd128'];
    throw unsupported('no WebAssembly SIMD. It is in Chrome 91, Firefox 89, Safari 16.4, Node 20 and later');
  }
  if (!(build in host)) {
    throw new MultiheadError('argument', `build is ${build}: it must be auto, simd128 or relaxed-simd`);
  }
  if (host[build]) return [build];
  const advice = build === 'relaxed-simd' ? ". Use build: 'simd128' or 'auto'" : '';
  throw unsupported(`no WebAssembly ${build}${advice}`);
}

function unsupported(what: string): MultiheadError {
  return new MultiheadError('wasm-unsupported', `this host has ${what}`);
}

function urlOf(build: Build, { wasmUrl }: EngineOptions, { name, urls }: Artefact): string {
  return wasmUrl === undefined ? urls[build] : urlIn(wasmUrl, `${name}-${build}`);
}

function urlIn(wasmUrl: string | URL, name: string): string {
  return new URL(`${name}.wasm`, folder(wasmUrl)).href;
}

/** The absolute address of a folder, with its closing slash. */
export function folder(address: string | URL): string {
  const url = resolveUrl(address);
  return url.endsWith('/') ? url : `${url}/`;
}

/** Takes no signal: whoever gives up must not take the module from those who wait for the same one. */
function compileUrl(url: string, options: LoadEngineOptions): Promise<WebAssembly.Module> {
  return remember(compiled, url, async () => {
    const report = options.onProgress;
    const bytes = await readFile(url, {
      code: 'wasm-fetch',
      onProgress: report && ((loaded, total) => report({ file: 'wasm', loaded, total })),
    });
    return compile(bytes, url);
  });
}

async function compileGiven(wasm: BufferSource | WebAssembly.Module): Promise<WebAssembly.Module> {
  if (wasm instanceof WebAssembly.Module) return wasm;
  const bytes = ArrayBuffer.isView(wasm)
    ? new Uint8Array(wasm.buffer, wasm.byteOffset, wasm.byteLength)
    : new Uint8Array(wasm);
  return compile(bytes, 'the given bytes');
}

async function compile(bytes: Uint8Array, origin: string): Promise<WebAssembly.Module> {
  requireMagic(bytes, origin);
  try {
    return await WebAssembly.compile(bytes as BufferSource);
  } catch (thrown) {
    throw new MultiheadError('wasm-compile', `could not compile ${origin}: ${messageOf(thrown)}${cspHint(thrown)}`, {
      details: { origin },
      cause: thrown,
    });
  }
}

/** Development servers and static hosts often answer with a page where a file is missing. */
function requireMagic(bytes: Uint8Array, origin: string): void {
  const start = new TextDecoder('latin1').decode(bytes.subarray(0, 12));
  if (start.startsWith('\0asm')) return;
  const got = bytes.length === 0 ? 'nothing' : start.trimStart().startsWith('<') ? 'HTML' : JSON.stringify(start);
  throw new MultiheadError(
    'wasm-not-wasm',
    `got ${got}, not wasm, from ${origin}. Check that the server has the file there, or give its folder as wasmUrl.`,
    { details: { origin, start } },
  );
}

function cspHint(thrown: unknown): string {
  const policy = /unsafe-eval|Content Security Policy/i.test(messageOf(thrown));
  return policy ? " (add 'wasm-unsafe-eval' to the script-src of the page's Content-Security-Policy)" : '';
}

async function instantiate(module: WebAssembly.Module, memory?: WebAssembly.Memory): Promise<Engine> {
  // Memory makes its views anew at each access, so growth needs no notice.
  const env = { emscripten_notify_memory_growth: () => {}, ...(memory && { memory }) };
  let instance: WebAssembly.Instance;
  try {
    instance = await WebAssembly.instantiate(module, { env });
  } catch (thrown) {
    throw new MultiheadError('wasm-compile', `could not start the wasm: ${messageOf(thrown)}`, { cause: thrown });
  }
  return new Engine(instance, memory);
}

async function instantiateWithThreads(module: WebAssembly.Module, threads: number): Promise<Engine> {
  const memory = sharedMemory();
  const engine = await instantiate(module, memory);
  await startThreads(engine, module, memory, threads);
  return engine;
}

/** The promise under `key`, made if it is not there. A rejected one is forgotten, so that a retry can succeed. */
function remember<T>(memory: Map<string, Promise<T>>, key: string, make: () => Promise<T>): Promise<T> {
  const known = memory.get(key);
  if (known) return known;
  const made = make();
  memory.set(key, made);
  made.catch(() => memory.delete(key));
  return made;
}
