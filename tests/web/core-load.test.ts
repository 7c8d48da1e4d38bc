/** Loading the wasm: every way it can come, and every way it can fail. */
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadEngine, MultiheadError, type Progress } from '../../web/src/index.js';

const WASM = new URL('../../dist/wasm/', import.meta.url);
const SIMD128 = readFileSync(new URL('multihead-simd128.wasm', WASM));

/** What `work` is rejected with, which must be ours. */
async function failure(work: Promise<unknown>): Promise<MultiheadError> {
  const thrown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(thrown).toBeInstanceOf(MultiheadError);
  return thrown as MultiheadError;
}

describe.each(['simd128', 'relaxed-simd'] as const)('the %s build', (build) => {
  it('loads from its default place and says which build it is', async () => {
    const engine = await loadEngine({ build });
    expect(engine.build).toBe(build);
    expect(engine.alive).toBe(true);
    expect(engine.statisticNames.row).toContain('entropyBits');
    expect(engine.statisticNames.head).toContain('scoreDeviation');
  });

  it('loads from a folder, with or without the closing slash', async () => {
    expect((await loadEngine({ build, wasmUrl: WASM })).build).toBe(build);
    expect((await loadEngine({ build, wasmUrl: WASM.href.slice(0, -1) })).build).toBe(build);
    expect((await loadEngine({ build, wasmUrl: 'dist/wasm' })).build).toBe(build);
  });

  it('loads from bytes and from a module', async () => {
    const bytes = readFileSync(new URL(`multihead-${build}.wasm`, WASM));
    expect((await loadEngine({ wasm: bytes })).build).toBe(build);
    expect((await loadEngine({ wasm: new Uint8Array(bytes).buffer, build })).build).toBe(build);
    expect((await loadEngine({ wasm: await WebAssembly.compile(bytes) })).build).toBe(build);
  });
});

it('takes the best build by default', async () => {
  expect((await loadEngine()).build).toBe('relaxed-simd');
});

it('gives each engine a memory of its own', async () => {
  const [a, b] = [await loadEngine(), await loadEngine()];
  expect(a.memory).not.toBe(b.memory);
});

it('refuses bytes of another build than named', async () => {
  const error = await failure(loadEngine({ wasm: SIMD128, build: 'relaxed-simd' }));
  expect(error.code).toBe('wasm-unsupported');
  expect(error.message).toBe('the wasm given is the simd128 build, and the option build says relaxed-simd');
});

it('refuses a build that does not exist', async () => {
  const error = await failure(loadEngine({ build: 'avx512' as 'simd128' }));
  expect(error.code).toBe('argument');
  expect(error.message).toBe('build is avx512: it must be auto, simd128 or relaxed-simd');
});

it('refuses bytes that are not wasm, and says what they are', async () => {
  const html = new TextEncoder().encode('<!doctype html><title>Not here</title>');
  expect(await failure(loadEngine({ wasm: html }))).toMatchObject({
    code: 'wasm-not-wasm',
    message: expect.stringMatching(/^got HTML, not wasm, from the given bytes\. Check/),
  });
  expect((await failure(loadEngine({ wasm: new Uint8Array() }))).message).toMatch(/^got nothing, not wasm/);
  expect((await failure(loadEngine({ wasm: new Uint8Array(9).fill(65) }))).message).toMatch(
    /^got "AAAAAAAAA", not wasm/,
  );
});

it('refuses wasm that does not compile, keeping the cause', async () => {
  const error = await failure(loadEngine({ wasm: SIMD128.subarray(0, SIMD128.length / 2) }));
  expect(error.code).toBe('wasm-compile');
  expect(error.message).toMatch(/^could not compile the given bytes: /);
  expect(error.cause).toBeInstanceOf(WebAssembly.CompileError);
});

it('refuses wasm of something else', async () => {
  const empty = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0);
  const error = await failure(loadEngine({ wasm: empty }));
  expect(error.code).toBe('wasm-compile');
  expect(error.message).toMatch(/^the wasm has no function _initialize: it is not this version of multihead/);
});

it('names the file that is missing on disk', async () => {
  const error = await failure(loadEngine({ build: 'simd128', wasmUrl: 'no/such/folder' }));
  expect(error.code).toBe('wasm-fetch');
  expect(error.message).toMatch(/^could not read file:.*no\/such\/folder\/multihead-simd128\.wasm: ENOENT/);
});

it('stops at an aborted signal', async () => {
  const signal = AbortSignal.abort();
  await expect(loadEngine({ signal })).rejects.toMatchObject({ name: 'AbortError' });
});

describe('over http', () => {
  let answer: RequestListener;
  const requests: string[] = [];
  let server: Server;
  let folder: string;

  beforeAll(async () => {
    server = createServer((request, response) => {
      requests.push(request.url ?? '');
      answer(request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    folder = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  it('reports the status of a missing file, and tries again the next time', async () => {
    const wasmUrl = `${folder}retry/`;
    answer = (_, response) => response.writeHead(404, 'Not Found').end('no');
    const error = await failure(loadEngine({ build: 'simd128', wasmUrl }));
    expect(error.code).toBe('wasm-fetch');
    expect(error.message).toBe(`could not read ${wasmUrl}multihead-simd128.wasm: the server says 404 Not Found`);
    expect(error.details).toEqual({ url: `${wasmUrl}multihead-simd128.wasm`, status: 404 });
    answer = (_, response) => response.end(SIMD128);
    expect((await loadEngine({ build: 'simd128', wasmUrl })).build).toBe('simd128');
  });

  it('says that a page came instead of wasm', async () => {
    const wasmUrl = `${folder}page/`;
    answer = (_, response) => response.end('<!doctype html><html></html>');
    const error = await failure(loadEngine({ build: 'simd128', wasmUrl }));
    expect(error.code).toBe('wasm-not-wasm');
    expect(error.message).toMatch(`got HTML, not wasm, from ${wasmUrl}multihead-simd128.wasm`);
  });

  it('says that the server is not there', async () => {
    const error = await failure(loadEngine({ build: 'simd128', wasmUrl: 'http://127.0.0.1:9/' }));
    expect(error.code).toBe('wasm-fetch');
    expect(error.message).toMatch(/^could not read http:\/\/127\.0\.0\.1:9\/multihead-simd128\.wasm: /);
  });

  it('fetches and compiles a file once, and reports its progress', async () => {
    const wasmUrl = `${folder}once/`;
    answer = (_, response) => response.writeHead(200, { 'content-length': SIMD128.length }).end(SIMD128);
    requests.length = 0;
    const progress: Progress[] = [];
    await Promise.all([
      loadEngine({ build: 'simd128', wasmUrl, onProgress: (step) => progress.push(step) }),
      loadEngine({ build: 'simd128', wasmUrl }),
    ]);
    await loadEngine({ build: 'simd128', wasmUrl });
    expect(requests).toEqual(['/once/multihead-simd128.wasm']);
    expect(progress.at(-1)).toEqual({ file: 'wasm', loaded: SIMD128.length, total: SIMD128.length });
  });

  it('takes SIMD128 by itself where only that is served', async () => {
    const wasmUrl = `${folder}only/`;
    answer = (request, response) => {
      if (request.url?.includes('relaxed')) response.writeHead(404).end();
      else response.end(SIMD128);
    };
    expect((await loadEngine({ wasmUrl })).build).toBe('simd128');
    expect((await failure(loadEngine({ wasmUrl, build: 'relaxed-simd' }))).code).toBe('wasm-fetch');
  });
});

it('is dead after a trap: the same call and all later ones say so', async () => {
  const engine = await loadEngine();
  const trap = () => engine.call('mh_model_free', 0xffff_fff0);
  expect(trap).toThrowError(expect.objectContaining({ name: 'MultiheadError', code: 'crashed' }));
  expect(engine.alive).toBe(false);
  expect(() => engine.call('mh_build')).toThrow(/^the engine crashed \(.*\) and cannot be used again: load it anew$/);
});
