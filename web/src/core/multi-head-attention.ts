/** Multi-head attention as a module, with the semantics and names of `torch.nn.MultiheadAttention`. */
import { type Engine, requireEngine } from './engine.js';
import { MultiheadError } from './errors.js';
import { sharedEngine } from './load.js';
import {
  type AttentionSizes,
  addPadding,
  type DenseMask,
  denseMaskFields,
  moduleMask,
  VISIBLE_KEYS,
  visibleKeysFields,
} from './masks.js';
import type { Fields, Scope } from './memory.js';
import { checkOptions, type Known } from './options.js';
import { makeRoom, stagesOut, weightsOut } from './outputs.js';
import { checkStateDict, configFields, initialStateDict, type ModuleSizes, type StateDict } from './state-dict.js';
import { checkTensor, isFloat, requireShape, shapeText } from './tensor.js';
import type { BoolTensor, EngineOptions, Tensor, VisibleKeys, WeightsRows } from './types.js';

/** The arguments of torch's constructor, in camelCase, and two of ours. */
export interface MultiHeadAttentionOptions {
  /** E, the width of queries and of the output. */
  readonly embedDim: number;
  /** H; divides E. */
  readonly numHeads: number;
  /** Probability of dropping a weight while training, 0 <= p < 1. Default 0. */
  readonly dropout?: number;
  /** Biases of in- and out-projections. Default true. */
  readonly bias?: boolean;
  /** A learned extra key and value. Default false. */
  readonly addBiasKv?: boolean;
  /** An extra key and value of zeros. Default false. */
  readonly addZeroAttn?: boolean;
  /** Width of keys. Default E. */
  readonly kdim?: number | null;
  /** Width of values. Default E. */
  readonly vdim?: number | null;
  /** Tensors are [B, T, E] instead of [T, B, E]. Default false, as in torch. */
  readonly batchFirst?: boolean;

  /** Heads of keys and values, for grouped queries (Ainslie et al. 2023); divides H. Default H. */
  readonly kvHeads?: number;
  /** Of the initial weights, and of dropout. Default 0. */
  readonly seed?: number;
}

/** The arguments of torch's `forward` after query, key and value, and ours. */
export interface ForwardOptions extends VisibleKeys {
  /** [B, S], or [S] if unbatched. Boolean: true HIDES the key. Float: added to the scores. */
  readonly keyPaddingMask?: Tensor | BoolTensor | null;
  /** Return the weights. Default true. */
  readonly needWeights?: boolean;
  /**
   * [T, S], or [B·H, T, S]. Boolean: true HIDES the key, as torch has it here (scaledDotProductAttention has it the other
   * way round). Float: added to the scores.
   */
  readonly attnMask?: Tensor | BoolTensor | null;
  /** Average the weights over heads. Default true. */
  readonly averageAttnWeights?: boolean;
  /** Says that `attnMask`, which must be given, is the causal mask. `causal: true` needs no mask. */
  readonly isCausal?: boolean;

  /** Return only these rows of the weights: [B, heads, rows, S]. */
  readonly weightsRows?: WeightsRows;
  /** Factor on QKᵀ. Default 1/√D. */
  readonly scale?: number;
  /** Also return `rawScores` (QKᵀ) and `scores` (what softmax sees, -Infinity where hidden), [B, H, T, S] each. */
  readonly stages?: boolean;
  /** Fail with code `nonfinite` at the first NaN or infinity. Default true. */
  readonly checkFinite?: boolean;
}

const MODULE_OPTIONS: Known<MultiHeadAttentionOptions> = {
  embedDim: true,
  numHeads: true,
  dropout: true,
  bias: true,
  addBiasKv: true,
  addZeroAttn: true,
  kdim: true,
  vdim: true,
  batchFirst: true,
  kvHeads: true,
  seed: true,
};

const FORWARD_OPTIONS: Known<ForwardOptions> = {
  keyPaddingMask: true,
  needWeights: true,
  attnMask: true,
  averageAttnWeights: true,
  isCausal: true,
  ...VISIBLE_KEYS,
  weightsRows: true,
  scale: true,
  stages: true,
  checkFinite: true,
};

export interface ForwardResult {
  /** As the query: [T, B, E], [B, T, E], or [T, E] if unbatched. */
  readonly output: Tensor;
  /**
   * [B, T, S] averaged, or [B, H, T, S]; without B if unbatched; null without `needWeights`. S counts the extra keys of
   * `addBiasKv` and `addZeroAttn`, which come last.
   */
  readonly weights: Tensor | null;
  readonly rawScores?: Tensor;
  readonly scores?: Tensor;
  /** Rows, over batch and heads, that could see no key: zero weights and the out-projection's bias, never NaN. */
  readonly maskedRows: number;
}

interface Handle {
  readonly engine: Engine;
  readonly address: number;
}

/** A net for modules that nobody disposed. */
const forgotten = new FinalizationRegistry<Handle>(freeHandle);

function freeHandle({ engine, address }: Handle): void {
  if (engine.alive) engine.call('mh_multihead_free', address);
}

/**
 * Multi-head attention: in-projections, scaled dot-product attention, out-projection.
 *
 * Starts as torch's module does: initial weights from `seed`, in training mode. Weights live in the engine; nothing of
 * what is given in is kept.
 *
 * @example
 * const attention = await MultiHeadAttention.create({ embedDim: 64, numHeads: 8, batchFirst: true });
 * const x = tensor(new Float32Array(2 * 10 * 64).fill(0.5), [2, 10, 64]);
 * const { output, weights } = attention.forward(x, x, x, { causal: true });
 * output.shape; // [2, 10, 64]
 * weights.shape; // [2, 10, 10]
 * attention.dispose();
 */
export class MultiHeadAttention {
  readonly engine: Engine;
  readonly embedDim: number;
  readonly numHeads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly batchFirst: boolean;
  readonly dropout: number;
  /** Whether dropout drops. Set by `train` and `eval`. */
  training = true;
  /** Of the next forward pass that drops; each such pass adds one. */
  dropoutSeed: number;
  readonly #sizes: ModuleSizes;
  #handle: Handle | undefined;

  /**
   * With an engine from `loadEngine`; `create` finds one by itself.
   *
   * @throws {MultiheadError} `argument` or `shape` for sizes that make no module.
   */
  constructor(engine: Engine, options: MultiHeadAttentionOptions) {
    requireEngine(engine);
    checkOptions('MultiHeadAttention', options, MODULE_OPTIONS);
    this.engine = engine;
    this.#sizes = readSizes(options);
    this.embedDim = this.#sizes.embedDim;
    this.numHeads = this.#sizes.numHeads;
    this.kvHeads = this.#sizes.kvHeads;
    this.headDim = this.embedDim / this.numHeads;
    this.batchFirst = options.batchFirst ?? false;
    this.dropout = readProbability(options.dropout ?? 0);
    this.dropoutSeed = options.seed ?? 0;
    this.#pack(initialStateDict(this.#sizes, options.seed ?? 0));
  }

  /** A module on an engine that all modules with the same engine options share. Rejects as `loadEngine` and `constructor`. */
  static async create(options: MultiHeadAttentionOptions, engine?: EngineOptions): Promise<MultiHeadAttention> {
    return new MultiHeadAttention(await sharedEngine(engine), options);
  }

  /**
   * Takes weights under torch's own names and shapes: `in_proj_weight` [3E, E], or `q_proj_weight` [E, E],
   * `k_proj_weight` [E, kdim] and `v_proj_weight` [E, vdim] if a width differs; `in_proj_bias` [3E]; `bias_k`, `bias_v`
   * [1, 1, E]; `out_proj.weight` [E, E], `out_proj.bias` [E]. With `kvHeads`, keys and values have kvHeads·D rows each
   * instead of E.
   *
   * @throws {MultiheadError} `argument` for a name that is missing or too much, `shape` for a wrong shape.
   */
  loadStateDict(state: StateDict): void {
    this.#alive();
    checkStateDict(state, this.#sizes);
    this.#pack(state);
  }

  /**
   * One pass. Shapes: query [T, B, E], key [S, B, kdim], value [S, B, vdim]; with `batchFirst` B comes first; unbatched
   * without B. All masks combine: a key is visible if each of them allows it.
   *
   * @throws {MultiheadError} `shape`, `argument`, `nonfinite`, `memory`, `disposed`, `crashed`.
   */
  forward(query: Tensor, key: Tensor, value: Tensor, options: ForwardOptions = {}): ForwardResult {
    const handle = this.#alive();
    checkOptions('forward', options, FORWARD_OPTIONS);
    const sizes = this.#readInputs(query, key, value);
    const batched = query.shape.length === 3;
    return this.engine.memory.scope((scope) => {
      const room = makeRoom(this.engine.memory, scope);
      const columns = sizes.keys + Number(this.#sizes.addBiasKv) + Number(this.#sizes.addZeroAttn);
      const perHead = [...(batched ? [sizes.batch] : []), sizes.heads, sizes.queries, columns];
      const output = room(query.shape);
      const weights = weightsOut(scope, room, this.#weightsWanted(options, sizes, perHead));
      const stages = stagesOut(room, options.stages, perHead);
      const pass = scope.struct('mh_multihead_pass', {
        batch: sizes.batch,
        queries: sizes.queries,
        keys: sizes.keys,
        ...this.#inputFields(scope, query, key, value, sizes),
        output: output.address,
        ...this.#strides('output', sizes, sizes.queries, this.embedDim),
        ...(options.scale !== undefined && { scale_mode: 1, scale: options.scale }),
        mask: maskFields(scope, options, sizes, batched),
        ...this.#dropoutFields(),
        weights: weights.fields,
        ...stages.fields,
        check_finite: options.checkFinite ?? true,
      });
      const report = this.engine.forward(scope, 'mh_multihead', handle.address, pass);
      return { output: output.read(), weights: weights.read(), ...stages.read(), maskedRows: report.maskedRows };
    });
  }

  /** Training mode: dropout drops. */
  train(mode = true): this {
    this.training = mode;
    return this;
  }

  /** Evaluation mode: no dropout. */
  eval(): this {
    return this.train(false);
  }

  /** Frees the weights. Any later call throws code `disposed`; a second `dispose` does nothing. */
  dispose(): void {
    if (!this.#handle) return;
    forgotten.unregister(this);
    freeHandle(this.#handle);
    this.#handle = undefined;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  #alive(): Handle {
    if (this.#handle) return this.#handle;
    throw new MultiheadError('disposed', 'this MultiHeadAttention was disposed: create another');
  }

  #pack(state: StateDict): void {
    const { engine } = this;
    const address = engine.memory.scope((scope) => {
      const out = scope.alloc(4);
      engine.check(
        'mh_multihead_create',
        out,
        scope.struct('mh_multihead_config', configFields(scope, state, this.#sizes)),
      );
      return engine.memory.uint32(out);
    });
    this.dispose();
    this.#handle = { engine, address };
    forgotten.register(this, this.#handle, this);
  }

  #readInputs(query: Tensor, key: Tensor, value: Tensor): AttentionSizes {
    checkTensor('query', query);
    checkTensor('key', key);
    const rank = query.shape.length;
    if ((rank !== 2 && rank !== 3) || key.shape.length !== rank) {
      const batched = this.batchFirst ? '[B, T, E]' : '[T, B, E]';
      throw new MultiheadError(
        'shape',
        `query has shape ${shapeText(query.shape)} and key ${shapeText(key.shape)}: both must be ${batched}, or both [T, E] without a batch`,
      );
    }
    const batch = rank === 2 ? 1 : (query.shape[this.batchFirst ? 0 : 1] ?? 0);
    const rows = (of: Tensor) => of.shape[rank === 3 && this.batchFirst ? 1 : 0] ?? 0;
    const shape = (length: number, width: number) => {
      if (rank === 2) return [length, width];
      return this.batchFirst ? [batch, length, width] : [length, batch, width];
    };
    const [queries, keys] = [rows(query), rows(key)];
    requireShape('query', query, shape(queries, this.embedDim), 'its last size is embedDim');
    requireShape('key', key, shape(keys, this.#sizes.kdim), 'with the batch of query and kdim');
    requireShape('value', value, shape(keys, this.#sizes.vdim), 'with the batch of query, the length of key and vdim');
    return { batch, heads: this.numHeads, queries, keys };
  }

  /** The same tensor given twice is copied once, and the engine projects equal inputs in one product. */
  #inputFields(scope: Scope, query: Tensor, key: Tensor, value: Tensor, sizes: AttentionSizes): Fields {
    const queryAt = scope.copyIn(query.data);
    const keyAt = key.data === query.data ? queryAt : scope.copyIn(key.data);
    const valueAt = value.data === query.data ? queryAt : value.data === key.data ? keyAt : scope.copyIn(value.data);
    return {
      query: queryAt,
      key: keyAt,
      value: valueAt,
      ...this.#strides('query', sizes, sizes.queries, this.embedDim),
      ...this.#strides('key', sizes, sizes.keys, this.#sizes.kdim),
      ...this.#strides('value', sizes, sizes.keys, this.#sizes.vdim),
    };
  }

  #strides(name: string, { batch }: AttentionSizes, rows: number, width: number): Fields {
    return {
      [`${name}_batch_stride`]: this.batchFirst ? rows * width : width,
      [`${name}_row_stride`]: this.batchFirst ? width : batch * width,
    };
  }

  #weightsWanted(options: ForwardOptions, sizes: AttentionSizes, perHead: readonly number[]) {
    const mean = options.averageAttnWeights ?? true;
    const mode = !(options.needWeights ?? true) ? 'none' : mean ? 'mean' : 'all';
    const shape = mode === 'mean' ? [...perHead.slice(0, -3), ...perHead.slice(-2)] : perHead;
    return { mode, rows: options.weightsRows, sizes, shape } as const;
  }

  #dropoutFields(): Fields {
    if (!this.training || this.dropout === 0) return {};
    return { dropout: this.dropout, dropout_seed: this.dropoutSeed++ >>> 0 };
  }
}

function readSizes(options: MultiHeadAttentionOptions): ModuleSizes {
  const sizes = {
    embedDim: options.embedDim,
    numHeads: options.numHeads,
    kvHeads: options.kvHeads ?? options.numHeads,
    kdim: options.kdim ?? options.embedDim,
    vdim: options.vdim ?? options.embedDim,
    bias: options.bias ?? true,
    addBiasKv: options.addBiasKv ?? false,
    addZeroAttn: options.addZeroAttn ?? false,
  };
  for (const [name, size] of Object.entries(sizes)) {
    if (typeof size === 'boolean' || (Number.isInteger(size) && size > 0)) continue;
    throw new MultiheadError('argument', `${name} is ${size}: it must be a whole number above 0`, {
      details: { name, value: size },
    });
  }
  requireDivides('numHeads', sizes.numHeads, 'embedDim', sizes.embedDim);
  requireDivides('kvHeads', sizes.kvHeads, 'numHeads', sizes.numHeads);
  return sizes;
}

function requireDivides(name: string, divisor: number, ofName: string, of: number): void {
  if (of % divisor === 0) return;
  throw new MultiheadError('shape', `${name} is ${divisor}, which does not divide ${ofName}, ${of}`, {
    details: { [name]: divisor, [ofName]: of },
  });
}

function readProbability(dropout: number): number {
  if (dropout >= 0 && dropout < 1) return dropout;
  throw new MultiheadError('argument', `dropout is ${dropout}: it must be 0 or more and below 1`);
}

function maskFields(scope: Scope, options: ForwardOptions, sizes: AttentionSizes, batched: boolean): Fields {
  const padding = options.keyPaddingMask ?? undefined;
  if (padding) {
    requireShape(
      'keyPaddingMask',
      padding,
      batched ? [sizes.batch, sizes.keys] : [sizes.keys],
      batched ? '[B, S]' : '[S]',
    );
  }
  const { mask, causal } = attentionMask(options, sizes);
  return {
    ...visibleKeysFields(scope, options, sizes),
    ...(causal && { causal: 1 }),
    ...(mask && !isFloatMask(mask) && denseMaskFields(scope, mask, 'true')),
    ...(padding && !isFloat(padding) && { key_hidden: scope.copyIn(padding.data) }),
    ...additiveFields(scope, mask, padding, sizes),
  };
}

/**
 * The mask, or the causal rule in its place: torch uses the hint where nothing else needs the mask, and the mask itself
 * otherwise.
 */
function attentionMask(options: ForwardOptions, sizes: AttentionSizes): { mask?: DenseMask; causal?: true } {
  if (options.isCausal && !options.attnMask) {
    throw new MultiheadError(
      'argument',
      'isCausal only says that attnMask is causal, as in torch, and there is no attnMask. For causal attention without a mask, use causal: true.',
    );
  }
  if (!options.attnMask) return {};
  checkTensor('attnMask', options.attnMask);
  const mask = moduleMask(options.attnMask, sizes);
  const hintSuffices = options.isCausal && !options.keyPaddingMask && options.needWeights === false;
  return hintSuffices ? { causal: true } : { mask };
}

/** The engine takes one additive mask: those of attention and padding are summed. */
function additiveFields(
  scope: Scope,
  mask: DenseMask | undefined,
  padding: Tensor | BoolTensor | undefined,
  sizes: AttentionSizes,
): Fields {
  const added = mask && isFloatMask(mask) ? mask : undefined;
  if (!padding || !isFloat(padding)) return added ? denseMaskFields(scope, added, 'true') : {};
  if (added) return denseMaskFields(scope, addPadding(added, padding.data, sizes), 'true');
  const alone = { data: padding.data, batchStride: sizes.keys, headStride: 0, rowStride: 0 };
  return denseMaskFields(scope, alone, 'true');
}

function isFloatMask(mask: DenseMask): boolean {
  return mask.data instanceof Float32Array;
}
