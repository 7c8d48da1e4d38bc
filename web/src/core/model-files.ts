/** Fetches the files of a model, and checks that each is the kind of file it should be. */
import { describeFile, readFile, resolveUrl } from './assets.js';
import { MultiheadError, messageOf } from './errors.js';
import { folder } from './load.js';
import { checkOptions, type Known } from './options.js';
import type { ModelFile, ModelFiles, ModelSource, Progress } from './types.js';

/** A parsed JSON file, or the weights, with what to call it in messages. */
export interface Loaded<T> {
  readonly content: T;
  readonly origin: string;
}

export interface LoadedFiles {
  readonly config: Loaded<object>;
  readonly weights: Loaded<Uint8Array>;
  readonly tokenizer: Loaded<object>;
  readonly tokenizerConfig: object;
  readonly name: string;
}

export interface ReadModelOptions {
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

const FILES: Known<ModelFiles> = { config: true, weights: true, tokenizer: true, tokenizerConfig: true, name: true };

/**
 * A source with every address absolute, so that it means the same in a worker, whose own address is another.
 *
 * @throws {MultiheadError} `argument` if a file is not given, or one that a model does not have is.
 */
export function absoluteFiles(source: ModelSource): ModelFiles {
  if (typeof source === 'string' || source instanceof URL) return filesInFolder(folder(source));
  checkSource(source);
  const entries = Object.entries(source).map(([key, file]) => [key, key === 'name' ? file : absoluteFile(file)]);
  return Object.fromEntries(entries) as ModelFiles;
}

function absoluteFile(file: unknown): unknown {
  return typeof file === 'string' || file instanceof URL ? resolveUrl(file) : file;
}

function filesInFolder(url: string): ModelFiles {
  return {
    config: new URL('config.json', url).href,
    weights: new URL('model.safetensors', url).href,
    tokenizer: new URL('tokenizer.json', url).href,
    name: decodeURIComponent(new URL(url).pathname.split('/').filter(Boolean).at(-1) ?? 'model'),
  };
}

/**
 * All files of a model, fetched at once.
 *
 * @throws {MultiheadError} `model-fetch` if one cannot be read, `model-format` if a JSON file does not parse or a web page
 * came instead.
 */
export async function readModelFiles(source: ModelSource, options: ReadModelOptions): Promise<LoadedFiles> {
  const files = absoluteFiles(source);
  const [config, weights, tokenizer, tokenizerConfig] = await Promise.all([
    readJson(files.config, 'config', options),
    readWeights(files.weights, options),
    readJson(files.tokenizer, 'tokenizer', options),
    files.tokenizerConfig ? readJson(files.tokenizerConfig, 'tokenizer', options) : undefined,
  ]);
  return {
    config,
    weights,
    tokenizer,
    tokenizerConfig: tokenizerConfig?.content ?? {},
    name: files.name ?? 'model',
  };
}

function checkSource(files: ModelFiles): void {
  if (typeof files !== 'object' || files === null) {
    throw new MultiheadError(
      'argument',
      `the model is ${String(files)}: give a folder, or config, weights and tokenizer`,
    );
  }
  checkOptions('the model', files, FILES);
  for (const file of ['config', 'weights', 'tokenizer'] as const) {
    if (files[file]) continue;
    throw new MultiheadError('argument', `the model has no ${file}: give a folder, or config, weights and tokenizer`, {
      details: { file },
    });
  }
}

async function readJson(
  file: ModelFile | object,
  kind: Progress['file'],
  options: ReadModelOptions,
): Promise<Loaded<object>> {
  const origin = describeFile(file, kind);
  if (!isFile(file)) return { content: file, origin };
  const bytes = await read(file, kind, options);
  requireNoHtml(bytes, origin, 'JSON');
  try {
    const content: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (typeof content === 'object' && content !== null && !Array.isArray(content)) return { content, origin };
    throw new Error('it is not an object');
  } catch (thrown) {
    throw new MultiheadError('model-format', `${origin} is not a JSON file of a model: ${messageOf(thrown)}`, {
      details: { file: origin },
      cause: thrown,
    });
  }
}

async function readWeights(file: ModelFile, options: ReadModelOptions): Promise<Loaded<Uint8Array>> {
  const origin = describeFile(file, 'weights');
  const content = await read(file, 'weights', options);
  requireNoHtml(content, origin, 'weights');
  return { content, origin };
}

function read(file: ModelFile, kind: Progress['file'], { onProgress, signal }: ReadModelOptions): Promise<Uint8Array> {
  return readFile(file, {
    code: 'model-fetch',
    onProgress: onProgress && ((loaded, total) => onProgress({ file: kind, loaded, total })),
    signal,
  });
}

function isFile(file: ModelFile | object): file is ModelFile {
  return (
    typeof file === 'string' ||
    file instanceof URL ||
    file instanceof ArrayBuffer ||
    file instanceof Uint8Array ||
    file instanceof Blob
  );
}

/** Many servers answer with a page, and status 200, where a file is missing. */
function requireNoHtml(bytes: Uint8Array, origin: string, wanted: string): void {
  const start = new TextDecoder('latin1').decode(bytes.subarray(0, 200)).trimStart();
  if (!/^<(!doctype|html|head|\?xml)/i.test(start)) return;
  throw new MultiheadError('model-format', `got HTML, not ${wanted}, from ${origin}: the file is not there`, {
    details: { file: origin },
  });
}
