/** A trained model in this thread: text in, attention with its statistics out. */
import { describeModel, type ModelConfig, readConfig } from './config.js';
import type { Engine } from './engine.js';
import { MultiheadError } from './errors.js';
import { generate } from './generate.js';
import { keepLatest } from './latest.js';
import { startEngine } from './load.js';
import { readModelFiles } from './model-files.js';
import { frameText, fromIds, type InputLimits, readInput } from './model-input.js';
import { runPass } from './model-pass.js';
import { KeptStates } from './model-session.js';
import { checkRun, checkTokenize } from './run-options.js';
import { ModelTokenizer } from './tokenizer.js';
import type {
  Build,
  GenerateOptions,
  LoadOptions,
  Model,
  ModelInfo,
  ModelSession,
  ModelSource,
  Precision,
  RunOptions,
  RunResult,
  Token,
  TokenizeOptions,
} from './types.js';

/**
 * Loads a model into an engine of its own, in this thread. `loadModel` is the same with a worker where there is one.
 *
 * @throws {MultiheadError} the codes of `loadEngine`; `model-fetch` if a file cannot be read; `model-format`, `unsupported`
 * or `corrupt` if one is not what it should be; the reason of `options.signal`.
 */
export async function loadModelHere(source: ModelSource, options: LoadOptions = {}): Promise<Model> {
  const { onProgress, signal, precision = 'f32' } = options;
  checkPrecision(precision);
  const [engine, files] = await Promise.all([
    startEngine(options),
    readModelFiles(source, { onProgress, signal }),
    ModelTokenizer.library(),
  ]);
  const config = readConfig(files.config.content, files.config.origin);
  const { content, origin } = files.tokenizer;
  const tokenizer = await ModelTokenizer.create(content, files.tokenizerConfig, origin);
  requireVocabulary(tokenizer, config, origin);
  signal?.throwIfAborted();
  const handle = loadWeights(engine, config, precision, files.weights.content, files.weights.origin);
  const maskToken = config.maskToken ?? tokenizer.maskToken;
  const info = describeModel(config, files.name, files.weights.content.length, maskToken, precision);
  return new LocalModel(engine, handle, config, info, tokenizer, { ...config, maskToken });
}

function requireVocabulary(tokenizer: ModelTokenizer, config: ModelConfig, origin: string): void {
  if (tokenizer.size <= config.vocabulary) return;
  throw new MultiheadError(
    'model-format',
    `${origin} has ${tokenizer.size} tokens, and config.json says vocab_size ${config.vocabulary}: they are not of one model`,
    { details: { tokens: tokenizer.size, vocabulary: config.vocabulary } },
  );
}

/** `enum mh_precision` */
const PRECISIONS: Readonly<Record<Precision, number>> = { f32: 0, int8: 1 };

/** Throws code `argument`. */
export function checkPrecision(precision: unknown): void {
  if (precision === undefined || Object.hasOwn(PRECISIONS, String(precision))) return;
  throw new MultiheadError('argument', `precision is ${String(precision)}: it must be 'f32' or 'int8'`);
}

function loadWeights(
  engine: Engine,
  config: ModelConfig,
  precision: Precision,
  file: Uint8Array,
  origin: string,
): number {
  const fields = {
    layers: config.layers,
    heads: config.heads,
    kv_heads: config.kvHeads,
    embed_dim: config.embedDim,
    ffn_dim: config.ffnDim,
    vocabulary: config.vocabulary,
    positions: config.positions,
    activation: config.activation,
    norm_epsilon: config.normEpsilon,
    precision: PRECISIONS[precision],
  };
  try {
    return engine.memory.lend(file, (address) =>
      engine.memory.scope((scope) => {
        const out = scope.alloc(4);
        engine.check('mh_model_load', out, scope.struct('mh_model_config', fields), address, file.length);
        return engine.memory.uint32(out);
      }),
    );
  } catch (thrown) {
    if (!(thrown instanceof MultiheadError)) throw thrown;
    throw new MultiheadError(thrown.code, `${origin}: ${thrown.message}`, {
      details: { ...thrown.details, file: origin },
      cause: thrown,
    });
  }
}

class LocalModel implements Model {
  readonly info: ModelInfo;
  readonly build: Build;
  readonly threads: number;
  readonly thread = 'here';
  readonly runLatest = keepLatest((input: string | readonly number[], options?: RunOptions) =>
    this.run(input, options),
  );
  readonly #config: ModelConfig;
  readonly #tokenizer: ModelTokenizer;
  readonly #limits: InputLimits;
  readonly #sessions = new Set<KeptStates>();
  #loaded: { readonly engine: Engine; readonly handle: number } | undefined;

  constructor(
    engine: Engine,
    handle: number,
    config: ModelConfig,
    info: ModelInfo,
    tokenizer: ModelTokenizer,
    limits: InputLimits,
  ) {
    this.info = info;
    this.build = engine.build;
    this.threads = engine.threads;
    this.#loaded = { engine, handle };
    this.#config = config;
    this.#tokenizer = tokenizer;
    this.#limits = limits;
  }

  async run(input: string | readonly number[], options: RunOptions = {}): Promise<RunResult> {
    return this.#run(input, options);
  }

  openSession(): ModelSession {
    const { engine, handle } = this.#alive();
    const kept = new KeptStates(engine, handle, this.#config.positions);
    this.#sessions.add(kept);
    return {
      run: async (input, options = {}) => {
        if (!this.#sessions.has(kept)) throw disposedError('session was disposed: open another');
        return this.#run(input, options, kept);
      },
      dispose: () => {
        if (this.#sessions.delete(kept)) kept.free();
      },
    };
  }

  #run(input: string | readonly number[], options: RunOptions, kept?: KeptStates): RunResult {
    checkRun(input, options);
    const { engine, handle } = this.#alive();
    options.signal?.throwIfAborted();
    const begin = performance.now();
    const { tokens, overflow } = readInput(input, options, this.#tokenizer, this.#limits);
    const ids = tokens.map((token) => token.id);
    const tokenize = performance.now() - begin;
    const pass = runPass(engine, handle, this.#config, ids, options, kept?.handle(ids.length));
    return {
      tokens,
      overflow,
      layers: this.#config.layers,
      heads: this.#config.heads,
      ...pass.arrays,
      ...pass.chosen,
      statisticNames: engine.statisticNames,
      logitPositions: pass.logitPositions,
      topK: pass.topIds.map(({ position, ids, probabilities }) => ({
        position,
        predictions: Array.from(ids, (id, i) => ({
          id,
          text: this.#tokenizer.label(id),
          probability: probabilities[i] ?? 0,
        })),
      })),
      maskedRows: pass.maskedRows,
      checkedFinite: pass.checkedFinite,
      computed: pass.computed,
      milliseconds: pass.times.forward,
      times: { tokenize, ...pass.times, transfer: 0 },
      build: this.build,
    };
  }

  generate(input: string | readonly number[], options?: GenerateOptions) {
    return generate(this, input, options);
  }

  async tokenize(input: string | readonly number[], options: TokenizeOptions = {}): Promise<readonly Token[]> {
    checkTokenize(input, options);
    this.#alive();
    const { start, content, end } =
      typeof input === 'string'
        ? frameText(input, options.endToken, this.#tokenizer)
        : fromIds(input, options, this.#tokenizer, this.#limits);
    return [...start, ...content, ...end];
  }

  /** Ends the engine, which is this model's own: its memory goes with the last reference to it. */
  dispose(): void {
    this.#loaded?.engine.dispose();
    this.#loaded = undefined;
    this.#sessions.clear();
  }

  #alive(): { readonly engine: Engine; readonly handle: number } {
    if (this.#loaded) return this.#loaded;
    throw disposedError('model was disposed: load it anew');
  }
}

function disposedError(what: string): MultiheadError {
  return new MultiheadError('disposed', `this ${what}`);
}
