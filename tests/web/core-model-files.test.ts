/** Loading a model: from everywhere it can be, and from files that are not what they should be. */
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bilingual } from '../../web/models/bilingual/index.js';
import { loadModel, type ModelFiles, type Progress } from '../../web/src/index.js';

const FOLDER = new URL('../../web/models/bilingual/', import.meta.url);
const bytesOf = (name: string) => new Uint8Array(readFileSync(new URL(name, FOLDER)));
const CONFIG = JSON.parse(new TextDecoder().decode(bytesOf('config.json')));
const TOKENIZER = JSON.parse(new TextDecoder().decode(bytesOf('tokenizer.json')));
const WEIGHTS = bytesOf('model.safetensors');
const FILES: ModelFiles = { config: CONFIG, weights: WEIGHTS, tokenizer: TOKENIZER };

describe('loads', () => {
  const load = async (source: Parameters<typeof loadModel>[0]) => {
    const model = await loadModel(source);
    const { tokens } = await model.run('The cat');
    model.dispose();
    return { info: model.info, tokens: tokens.map((token) => token.text) };
  };

  it.each<[string, Parameters<typeof loadModel>[0], string]>([
    ['the shipped model', bilingual, 'bilingual'],
    ['a folder by URL', FOLDER, 'bilingual'],
    ['a folder by its address, without the slash', FOLDER.href.slice(0, -1), 'bilingual'],
    ['a folder by its path', fileURLToPath(FOLDER), 'bilingual'],
    ['a folder by its path from here', 'web/models/bilingual', 'bilingual'],
    ['objects and bytes', FILES, 'model'],
    ['objects and bytes with a name', { ...FILES, name: 'mine' }, 'mine'],
    [
      'buffers and blobs',
      {
        config: new Blob([bytesOf('config.json')]),
        weights: new Uint8Array(WEIGHTS).buffer,
        tokenizer: bytesOf('tokenizer.json'),
        tokenizerConfig: new URL('tokenizer_config.json', FOLDER),
      },
      'model',
    ],
  ])('%s', async (_, source, name) => {
    const { info, tokens } = await load(source);
    expect(info).toMatchObject({ name, layers: 4, bytes: WEIGHTS.length });
    expect(tokens).toEqual(['<s>', 'The', 'cat', '</s>']);
  });

  it('bytes without changing them', async () => {
    const before = WEIGHTS.slice();
    (await loadModel(FILES)).dispose();
    expect(Buffer.compare(WEIGHTS, before)).toBe(0);
  });

  it('GPT-2 as it comes, without the keys that are ours', async () => {
    const { attention_masks: _, attention_window: __, mask_token_id: ___, attention_error: ____, ...plain } = CONFIG;
    const model = await loadModel({ ...FILES, config: plain });
    expect(model.info).toMatchObject({
      trainedMasks: ['causal'],
      trainedWindow: 0,
      attentionError: null,
      precision: 'f32',
      hasMaskToken: true,
    });
  });
});

describe('refuses, with the file and the value,', () => {
  const refuse = async (files: Partial<ModelFiles>, code: string, message: string | RegExp) => {
    const expected = { name: 'MultiheadError', code, message: expect.stringMatching(message) };
    await expect(loadModel({ ...FILES, ...files })).rejects.toMatchObject(expected);
  };

  it.each<[string, string, Record<string, unknown>]>([
    ['unsupported', 'the given config has model_type "bert": only models of the GPT-2 layout', { model_type: 'bert' }],
    ['unsupported', 'the given config has model_type undefined', { model_type: undefined }],
    ['unsupported', 'has tie_word_embeddings false: only true is supported', { tie_word_embeddings: false }],
    [
      'unsupported',
      'has activation_function "swish": it must be one of gelu, gelu_new',
      { activation_function: 'swish' },
    ],
    ['model-format', 'the given config lacks n_layer: it must be a whole number above 0', { n_layer: undefined }],
    ['model-format', 'has n_head 7: it must divide n_embd, 128', { n_head: 7 }],
    ['model-format', 'has n_embd "wide": it must be a whole number above 0', { n_embd: 'wide' }],
    ['model-format', 'has n_positions -4: it must be a whole number above 0', { n_positions: -4 }],
    ['model-format', 'has layer_norm_epsilon "small": it must be a number, 0 or more', { layer_norm_epsilon: 'small' }],
    ['model-format', 'has attention_masks "causal": it must be a list of words', { attention_masks: 'causal' }],
    ['model-format', 'has mask_token_id 8016: it must be the id of a token, below vocab_size', { mask_token_id: 8016 }],
    [
      'model-format',
      'the given tokenizer has 8016 tokens, and config.json says vocab_size 100',
      { vocab_size: 100, mask_token_id: 4 },
    ],
  ])('a config: %s, %s', (code, message, change) => refuse({ config: { ...CONFIG, ...change } }, code, message));

  it.each([
    ['n_layer', 5, /^the given weights: .*h\.4\./],
    ['n_embd', 64, /^the given weights: .*\[.*64\]/],
    ['n_inner', 256, /^the given weights: .*mlp/],
    ['vocab_size', 9000, /^the given weights: .*wte.*9000/],
    ['n_positions', 128, /^the given weights: .*wpe.*128/],
  ])('weights that do not agree with the config: %s %d', async (key, value, message) => {
    const loading = loadModel({ ...FILES, config: { ...CONFIG, [key]: value } });
    const error = await loading.then(
      () => undefined,
      (thrown) => thrown,
    );
    expect(error).toMatchObject({ name: 'MultiheadError', message: expect.stringMatching(message) });
    expect(['shape', 'corrupt']).toContain(error.code);
  });

  it('weights that end too early, at any place', async () => {
    for (const length of [0, 7, 8, 100, 4000, WEIGHTS.length - 1]) {
      await refuse({ weights: WEIGHTS.slice(0, length) }, 'corrupt', /^the given weights: /);
    }
  });

  it('weights that are noise', async () => {
    await refuse({ weights: WEIGHTS.map((byte) => byte ^ 0x5a) }, 'corrupt', /^the given weights: /);
  });

  it('a page in place of weights or JSON', async () => {
    const page = new TextEncoder().encode('\n<!DOCTYPE html><html><body>404</body></html>');
    await refuse(
      { weights: page },
      'model-format',
      /^got HTML, not weights, from the given weights: the file is not there$/,
    );
    await refuse({ config: page }, 'model-format', /^got HTML, not JSON, from the given config/);
    await refuse({ tokenizer: page }, 'model-format', /^got HTML, not JSON, from the given tokenizer/);
  });

  it('JSON that is none, and JSON of something else', async () => {
    const text = (json: string) => new TextEncoder().encode(json);
    await refuse({ config: text('{"a":') }, 'model-format', /^the given config is not a JSON file of a model: /);
    await refuse({ config: text('[1]') }, 'model-format', /it is not an object$/);
    await refuse({ tokenizer: text('{}') }, 'model-format', /^the given tokenizer is not a tokenizer this can read: /);
    const file = new File(['null'], 'my-config.json');
    await refuse({ config: file }, 'model-format', /^my-config\.json is not a JSON file of a model/);
  });

  it('files that are not given', async () => {
    await refuse(
      { weights: '' },
      'argument',
      /^the model has no weights: give a folder, or config, weights and tokenizer$/,
    );
  });

  it('a folder that is not there', async () => {
    await expect(loadModel('no/such/model')).rejects.toMatchObject({
      code: 'model-fetch',
      message: expect.stringMatching(/^could not read file:.*no\/such\/model\/.*: ENOENT/),
    });
  });
});

describe('over http', () => {
  let answer: RequestListener = (request, response) => response.end(bytesOf((request.url ?? '').slice(1)));
  let server: Server;
  let folder: string;
  beforeAll(async () => {
    server = createServer((request, response) => answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    folder = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it('reports progress of each file', async () => {
    answer = (request, response) => {
      const bytes = bytesOf((request.url ?? '').slice(1));
      response.writeHead(200, { 'content-length': bytes.length }).end(bytes);
    };
    const steps: Progress[] = [];
    (await loadModel(folder)).dispose(); // so that the wasm is there already
    (await loadModel(folder, { onProgress: (step) => steps.push(step) })).dispose();
    const weights = steps.filter((step) => step.file === 'weights');
    expect(weights.at(-1)).toEqual({ file: 'weights', loaded: WEIGHTS.length, total: WEIGHTS.length });
    expect(weights.map((step) => step.loaded)).toEqual(weights.map((step) => step.loaded).sort((a, b) => a - b));
    expect(new Set(steps.map((step) => step.file))).toEqual(new Set(['config', 'weights', 'tokenizer']));
  });

  it('knows no total where the server compresses', async () => {
    const { gzipSync } = await import('node:zlib');
    answer = (request, response) => {
      const bytes = gzipSync(bytesOf((request.url ?? '').slice(1)));
      response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': bytes.length }).end(bytes);
    };
    const steps: Progress[] = [];
    (await loadModel(folder, { onProgress: (step) => steps.push(step) })).dispose();
    expect(steps.filter((step) => step.file === 'weights').at(-1)).toEqual({
      file: 'weights',
      loaded: WEIGHTS.length,
      total: 0,
    });
  });

  it('says which file the server does not have', async () => {
    answer = (request, response) => {
      if (request.url === '/tokenizer.json') response.writeHead(403).end();
      else response.end(bytesOf((request.url ?? '').slice(1)));
    };
    await expect(loadModel(folder)).rejects.toMatchObject({
      code: 'model-fetch',
      message: `could not read ${folder}tokenizer.json: the server says 403 Forbidden`,
      details: { url: `${folder}tokenizer.json`, status: 403 },
    });
  });

  it('says that a connection broke', async () => {
    answer = (request, response) => {
      if (request.url !== '/model.safetensors') response.end(bytesOf((request.url ?? '').slice(1)));
      else response.writeHead(200, { 'content-length': WEIGHTS.length }).write('x', () => response.destroy());
    };
    await expect(loadModel(folder)).rejects.toMatchObject({
      code: 'model-fetch',
      message: expect.stringMatching(/^could not read http.*model\.safetensors: /),
    });
  });

  it('stops when aborted, while a file is on its way', async () => {
    const controller = new AbortController();
    answer = (request, response) => {
      if (request.url !== '/model.safetensors') response.end(bytesOf((request.url ?? '').slice(1)));
      else response.writeHead(200, { 'content-length': WEIGHTS.length }).write('x', () => controller.abort());
    };
    await expect(loadModel(folder, { signal: controller.signal })).rejects.toMatchObject({ name: 'AbortError' });
    await expect(loadModel(folder, { signal: controller.signal })).rejects.toMatchObject({ name: 'AbortError' });
  });
});

it('refuses a worker where there is none', async () => {
  await expect(loadModel(FILES, { thread: 'worker' })).rejects.toMatchObject({
    code: 'worker',
    message: "this host has no Web Workers: leave out thread, or use thread: 'here'",
  });
});
