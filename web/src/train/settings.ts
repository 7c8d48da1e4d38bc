/** What a trainer is made from: a network and how it learns, as the fields of the C structs. */
import { MultiheadError } from '../core/errors.js';
import type { Fields } from '../core/memory.js';
import { checkOptions, type Known } from '../core/options.js';

/** Sizes of a network, and what kind it is: see `c/include/multihead_train.h`, section 1. */
export interface NetworkOptions {
  /**
   * `decoder`: GPT-2's layout (Radford et al. 2019), with its token embedding as head; with other masks than causal also
   * BERT's. `encoder-decoder`: a source sequence, and a target that attends to it (Vaswani et al. 2017). `classifier`:
   * patches to one class (Dosovitskiy et al. 2021). Default `decoder`.
   */
  readonly architecture?: 'decoder' | 'encoder-decoder' | 'classifier';
  /** Layers of an encoder-decoder's encoder. Default: as `layers`. */
  readonly encoderLayers?: number;
  /** Numbers of a classifier's patch. */
  readonly patchDim?: number;
  /** A classifier reads a learned token before the patches instead of the mean over all of them. Default false. */
  readonly classToken?: boolean;
  /** Positions are sines and cosines instead of learned ones. Default false. */
  readonly sinusoidal?: boolean;
  readonly layers: number;
  /** H; divides embedDim. */
  readonly heads: number;
  /** Heads of keys and values, for grouped queries; divides heads. Default: heads. */
  readonly kvHeads?: number;
  /** E */
  readonly embedDim: number;
  /** F. Default 4 E. */
  readonly ffnDim?: number;
  /** V; of a classifier, the number of classes. */
  readonly vocabulary: number;
  /** Longest sequence, with the class token. */
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
  architecture: true,
  encoderLayers: true,
  patchDim: true,
  classToken: true,
  sinusoidal: true,
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
    architecture: 'decoder',
    encoderLayers: options.architecture === 'encoder-decoder' ? options.layers : 0,
    patchDim: 0,
    classToken: false,
    sinusoidal: false,
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
  if (network.architecture !== 'decoder' || network.norm !== 'pre' || network.sinusoidal) {
    throw new MultiheadError(
      'unsupported',
      'loadModel reads decoders with norms before the branches and learned positions; this network is another. A Trainer reads it.',
    );
  }
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
    architecture: oneOf('architecture', network.architecture, ['decoder', 'encoder-decoder', 'classifier']),
    encoder_layers: network.encoderLayers,
    patch_dim: network.patchDim,
    class_token: network.classToken,
    sinusoidal: network.sinusoidal,
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
