/** What a trainer is made from: a network and how it learns, as the fields of the C structs. */
import { MultiheadError } from '../core/errors.js';
import type { Fields } from '../core/memory.js';
import { checkOptions, type Known } from '../core/options.js';

/** A decoder of GPT-2's layout (Radford et al. 2019), with its token embedding as head. */
export interface NetworkOptions {
  readonly layers: number;
  /** H; divides embedDim. */
  readonly heads: number;
  /** Heads of keys and values, for grouped queries; divides heads. Default: heads. */
  readonly kvHeads?: number;
  /** E */
  readonly embedDim: number;
  /** F. Default 4 E. */
  readonly ffnDim?: number;
  /** V */
  readonly vocabulary: number;
  /** Longest sequence. */
  readonly positions: number;
  /** Default `gelu-tanh`, GPT-2's. */
  readonly activation?: 'gelu' | 'gelu-tanh' | 'relu';
  /** Where layer norm sits: before each branch (GPT-2), or after each sum (Vaswani et al. 2017). Default `pre`. */
  readonly norm?: 'pre' | 'post';
  /** Added to the variance. Default 1e-5. */
  readonly normEpsilon?: number;
}

/** Everything about learning; each can be changed between steps. Defaults are those of PyTorch's AdamW where it has one. */
export interface TrainerSettings {
  /** Of the first parameters and of dropout, 0 to 2³² - 1. Default 0. */
  readonly seed?: number;
  /** How matrices start (Glorot & Bengio 2010). Default `xavier-uniform`. */
  readonly initialisation?: 'xavier-uniform' | 'xavier-normal';
  /** `adamw` (Loshchilov & Hutter 2019) or `sgd`, plain gradient descent. Default `adamw`. */
  readonly optimiser?: 'adamw' | 'sgd';
  /** The highest learning rate. Default 1e-3. */
  readonly learningRate?: number;
  /** Steps over which the rate rises from 0. Default 0. */
  readonly warmUp?: number;
  /** Steps at which the rate has come down, by half a cosine, to `floor`. Default 0: it stays. */
  readonly steps?: number;
  /** The lowest learning rate. Default 0. */
  readonly floor?: number;
  /** Default 0.9. */
  readonly beta1?: number;
  /** Default 0.999. */
  readonly beta2?: number;
  /** Default 1e-8. */
  readonly epsilon?: number;
  /** Of matrices; norms and biases never decay. Default 0.01. */
  readonly weightDecay?: number;
  /** Largest Euclidean norm of the gradient; longer ones are shortened to it. Default 0: any. */
  readonly clip?: number;
  /** Probability of dropping an attention weight after softmax. Default 0. */
  readonly attentionDropout?: number;
  /** Probability of dropping a number of a branch before it is added. Default 0. */
  readonly residualDropout?: number;
  /** Factor on QKᵀ: `default` is 1/√D, `none` leaves it out. */
  readonly scale?: 'default' | 'none' | number;
}

const NETWORK_OPTIONS: Known<NetworkOptions> = {
  layers: true,
  heads: true,
  kvHeads: true,
  embedDim: true,
  ffnDim: true,
  vocabulary: true,
  positions: true,
  activation: true,
  norm: true,
  normEpsilon: true,
};

const SETTINGS: Known<TrainerSettings> = {
  seed: true,
  initialisation: true,
  optimiser: true,
  learningRate: true,
  warmUp: true,
  steps: true,
  floor: true,
  beta1: true,
  beta2: true,
  epsilon: true,
  weightDecay: true,
  clip: true,
  attentionDropout: true,
  residualDropout: true,
  scale: true,
};

/** The network with nothing left open. */
export type Network = Required<NetworkOptions>;

export function completeNetwork(options: NetworkOptions): Network {
  checkOptions('the network', options, NETWORK_OPTIONS);
  return {
    kvHeads: options.heads,
    ffnDim: 4 * options.embedDim,
    activation: 'gelu-tanh',
    norm: 'pre',
    normEpsilon: 1e-5,
    ...options,
  };
}

/** The config.json that goes with the file of a network, for `loadModel`: GPT-2's keys. */
export function modelConfig(network: Network): Record<string, unknown> {
  return {
    model_type: 'gpt2',
    n_layer: network.layers,
    n_head: network.heads,
    n_head_kv: network.kvHeads,
    n_embd: network.embedDim,
    n_inner: network.ffnDim,
    vocab_size: network.vocabulary,
    n_positions: network.positions,
    activation_function: { gelu: 'gelu', 'gelu-tanh': 'gelu_new', relu: 'relu' }[network.activation],
    layer_norm_epsilon: network.normEpsilon,
  };
}

/** Fields of `struct mh_network`. */
export function networkFields(network: Network): Fields {
  return {
    model: {
      layers: network.layers,
      heads: network.heads,
      kv_heads: network.kvHeads,
      embed_dim: network.embedDim,
      ffn_dim: network.ffnDim,
      vocabulary: network.vocabulary,
      positions: network.positions,
      activation: oneOf('activation', network.activation, ['gelu', 'gelu-tanh', 'relu']),
      norm_position: oneOf('norm', network.norm, ['pre', 'post']),
      norm_epsilon: network.normEpsilon,
    },
  };
}

/** Fields of `struct mh_trainer_settings`. */
export function settingsFields(settings: TrainerSettings): Fields {
  checkOptions('the settings', settings, SETTINGS);
  return {
    seed: settings.seed,
    initialisation: oneOf('initialisation', settings.initialisation ?? 'xavier-uniform', [
      'xavier-uniform',
      'xavier-normal',
    ]),
    optimiser: oneOf('optimiser', settings.optimiser ?? 'adamw', ['adamw', 'sgd']),
    adamw: {
      beta1: settings.beta1 ?? 0.9,
      beta2: settings.beta2 ?? 0.999,
      epsilon: settings.epsilon ?? 1e-8,
      weight_decay: settings.weightDecay ?? 0.01,
    },
    schedule: {
      peak: settings.learningRate ?? 1e-3,
      floor: settings.floor,
      warm_up: settings.warmUp,
      steps: settings.steps,
    },
    clip: settings.clip,
    attention_dropout: settings.attentionDropout,
    residual_dropout: settings.residualDropout,
    ...scaleFields(settings.scale ?? 'default'),
  };
}

function scaleFields(scale: 'default' | 'none' | number): Fields {
  if (typeof scale === 'number') return { scale_mode: 1, scale };
  return { scale_mode: oneOf('scale', scale, ['default', 'given', 'none']) };
}

/** The place of a word in a list: the number of a C enum. */
function oneOf(name: string, word: string, words: readonly string[]): number {
  const index = words.indexOf(word);
  if (index >= 0) return index;
  throw new MultiheadError('argument', `${name} is ${word}: it must be ${words.join(', ')}`, {
    details: { name, value: word },
  });
}
