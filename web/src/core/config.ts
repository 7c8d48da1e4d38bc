/** What a model's config.json says, checked: GPT-2's keys, as Hugging Face writes them, and a few of ours. */
import { MultiheadError } from './errors.js';
import type { ModelInfo, Precision } from './types.js';

export interface ModelConfig {
  readonly layers: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly embedDim: number;
  readonly ffnDim: number;
  readonly vocabulary: number;
  readonly positions: number;
  /** `enum mh_activation` */
  readonly activation: number;
  readonly normEpsilon: number;
  readonly trainedMasks: readonly string[];
  readonly trainedWindow: number;
  readonly attentionError: number | null;
  readonly maskToken: number | undefined;
  readonly endToken: number | undefined;
}

/** Hugging Face's names for what the engine has. */
const ACTIVATIONS: Readonly<Record<string, number>> = {
  gelu: 0,
  gelu_new: 1,
  gelu_pytorch_tanh: 1,
  relu: 2,
};

/** Switches of GPT-2 that change the arithmetic, with the one value that the engine has. */
const FIXED: Readonly<Record<string, unknown>> = {
  tie_word_embeddings: true,
  scale_attn_weights: true,
  scale_attn_by_inverse_layer_idx: false,
  add_cross_attention: false,
};

/**
 * Reads a parsed config.json. `origin` names the file in errors.
 *
 * @throws {MultiheadError} `unsupported` for another kind of model, `model-format` for a key that is missing or wrong.
 */
export function readConfig(json: object, origin: string): ModelConfig {
  const config = new ConfigReader(json as Record<string, unknown>, origin);
  config.requireGpt2();
  const embedDim = config.size('n_embd');
  const heads = config.size('n_head');
  const kvHeads = config.sizeOr('n_head_kv', heads);
  config.requireDivides('n_head', heads, 'n_embd', embedDim);
  config.requireDivides('n_head_kv', kvHeads, 'n_head', heads);
  return {
    layers: config.size('n_layer'),
    heads,
    kvHeads,
    embedDim,
    ffnDim: config.sizeOr('n_inner', 4 * embedDim),
    vocabulary: config.size('vocab_size'),
    positions: config.size('n_positions'),
    activation: config.activation(),
    normEpsilon: config.numberOr('layer_norm_epsilon', 1e-5),
    trainedMasks: config.wordsOr('attention_masks', ['causal']),
    trainedWindow: config.numberOr('attention_window', 0),
    attentionError: config.numberOr('attention_error', null),
    maskToken: config.optionalId('mask_token_id'),
    endToken: config.optionalId('eos_token_id'),
  };
}

/** What a caller wants to know of a model. `bytes` is the size of its weights file. */
export function describeModel(
  config: ModelConfig,
  name: string,
  bytes: number,
  maskToken: number | undefined,
  precision: Precision,
): ModelInfo {
  return {
    name,
    layers: config.layers,
    heads: config.heads,
    kvHeads: config.kvHeads,
    embedDim: config.embedDim,
    headDim: config.embedDim / config.heads,
    ffnDim: config.ffnDim,
    vocabulary: config.vocabulary,
    positions: config.positions,
    trainedMasks: config.trainedMasks,
    trainedWindow: config.trainedWindow,
    attentionError: config.attentionError,
    precision,
    hasMaskToken: maskToken !== undefined,
    endTokens: config.endToken === undefined ? [] : [config.endToken],
    parameters: countParameters(config),
    bytes,
  };
}

/** Weights and biases of GPT-2: embeddings (the head is tied), and per layer two norms, attention and feed-forward. */
function countParameters({ layers, heads, kvHeads, embedDim, ffnDim, vocabulary, positions }: ModelConfig): number {
  const qkv = embedDim + 2 * kvHeads * (embedDim / heads);
  const attention = (embedDim + 1) * qkv + (embedDim + 1) * embedDim;
  const feedForward = (embedDim + 1) * ffnDim + (ffnDim + 1) * embedDim;
  return (vocabulary + positions) * embedDim + layers * (attention + feedForward + 4 * embedDim) + 2 * embedDim;
}

class ConfigReader {
  readonly #json: Readonly<Record<string, unknown>>;
  readonly #origin: string;

  constructor(json: Readonly<Record<string, unknown>>, origin: string) {
    this.#json = json;
    this.#origin = origin;
  }

  requireGpt2(): void {
    const type = this.#json.model_type;
    if (type !== 'gpt2') {
      throw this.#unsupported('model_type', type, 'only models of the GPT-2 layout ("gpt2") can be loaded');
    }
    for (const [key, value] of Object.entries(FIXED)) {
      const given = this.#json[key];
      if (given === undefined || given === null || given === value) continue;
      throw this.#unsupported(key, given, `only ${value} is supported`);
    }
  }

  requireDivides(name: string, divisor: number, ofName: string, of: number): void {
    if (of % divisor !== 0) throw this.#wrong(name, divisor, `it must divide ${ofName}, ${of}`);
  }

  size(key: string): number {
    const value = this.#json[key];
    if (Number.isInteger(value) && (value as number) > 0) return value as number;
    throw this.#wrong(key, value, 'it must be a whole number above 0');
  }

  sizeOr(key: string, otherwise: number): number {
    return this.#isAbsent(key) ? otherwise : this.size(key);
  }

  numberOr<Otherwise extends number | null>(key: string, otherwise: Otherwise): number | Otherwise {
    if (this.#isAbsent(key)) return otherwise;
    const value = this.#json[key];
    if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value;
    throw this.#wrong(key, value, 'it must be a number, 0 or more');
  }

  wordsOr(key: string, otherwise: readonly string[]): readonly string[] {
    if (this.#isAbsent(key)) return otherwise;
    const value = this.#json[key];
    if (Array.isArray(value) && value.every((word) => typeof word === 'string')) return value;
    throw this.#wrong(key, value, 'it must be a list of words');
  }

  optionalId(key: string): number | undefined {
    if (this.#isAbsent(key)) return undefined;
    const value = this.numberOr(key, 0);
    if (Number.isInteger(value) && value < this.size('vocab_size')) return value;
    throw this.#wrong(key, value, 'it must be the id of a token, below vocab_size');
  }

  activation(): number {
    const name = this.#json.activation_function ?? 'gelu_new';
    const activation = ACTIVATIONS[String(name)];
    if (activation !== undefined) return activation;
    throw this.#unsupported('activation_function', name, `it must be one of ${Object.keys(ACTIVATIONS).join(', ')}`);
  }

  #isAbsent(key: string): boolean {
    return this.#json[key] === undefined || this.#json[key] === null;
  }

  #wrong(key: string, value: unknown, rule: string): MultiheadError {
    const what = value === undefined ? `lacks ${key}` : `has ${key} ${JSON.stringify(value)}`;
    return new MultiheadError('model-format', `${this.#origin} ${what}: ${rule}`, {
      details: { file: this.#origin, key, value },
    });
  }

  #unsupported(key: string, value: unknown, rule: string): MultiheadError {
    return new MultiheadError('unsupported', `${this.#origin} has ${key} ${JSON.stringify(value)}: ${rule}`, {
      details: { file: this.#origin, key, value },
    });
  }
}
