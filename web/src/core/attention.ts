/** Scaled dot-product attention, as `torch.nn.functional.scaled_dot_product_attention`. */
import { type Engine, requireEngine } from './engine.js';
import { MultiheadError } from './errors.js';
import { type AttentionSizes, broadcastMask, denseMaskFields, VISIBLE_KEYS, visibleKeysFields } from './masks.js';
import type { Fields, Scope } from './memory.js';
import { checkOptions, type Known } from './options.js';
import { makeRoom, stagesOut, weightsOut } from './outputs.js';
import { checkTensor, requireShape, shapeText, sizeOf } from './tensor.js';
import type { BoolTensor, Tensor, VisibleKeys, WeightsRows } from './types.js';

export interface ScaledDotProductOptions extends VisibleKeys {
  /** [..., H, T, D]; any number of leading sizes, H and they may be absent. */
  readonly query: Tensor;
  /** [..., G, S, D]; G is H, or divides H with `enableGqa`. */
  readonly key: Tensor;
  /** [..., G, S, DV] */
  readonly value: Tensor;
  /**
   * Broadcasts to [..., H, T, S]. Boolean: true KEEPS the key, as torch has it here (MultiHeadAttention has it the other
   * way round). Float: added to the scores; -Infinity hides.
   */
  readonly attnMask?: Tensor | BoolTensor | null;
  /** Probability of dropping a weight after softmax, 0 <= p < 1; kept ones are divided by 1 - p. Default 0. */
  readonly dropoutP?: number;
  /** Query i sees keys j <= i. Not together with `attnMask`, as in torch; `causal` may be. */
  readonly isCausal?: boolean;
  /** Factor on QKᵀ. Default 1/√D. */
  readonly scale?: number | null;
  /** Lets H be a multiple of G: query head h reads key and value head ⌊h / (H/G)⌋. */
  readonly enableGqa?: boolean;

  /** Which stream of random numbers drops weights. Default 0. */
  readonly dropoutSeed?: number;
  /** Also return the weights, after dropout. Default false. */
  readonly needWeights?: boolean;
  /** Return only these rows of the weights: [B, heads, rows, S]. */
  readonly weightsRows?: WeightsRows;
  /** Also return `rawScores` (QKᵀ) and `scores` (what softmax sees, -Infinity where hidden). */
  readonly stages?: boolean;
  /** Fail with code `nonfinite` at the first NaN or infinity. Default true. */
  readonly checkFinite?: boolean;
}

export interface ScaledDotProductResult {
  /** [..., H, T, DV] */
  readonly output: Tensor;
  /** [..., H, T, S] with `needWeights`, [B, heads, rows, S] with `weightsRows` (B: leading sizes in one), else null. */
  readonly weights: Tensor | null;
  /** [..., H, T, S] each, with `stages`. */
  readonly rawScores?: Tensor;
  readonly scores?: Tensor;
  /** Rows that could see no key: their weights and output are zero, never NaN. */
  readonly maskedRows: number;
}

const OPTIONS: Known<ScaledDotProductOptions> = {
  query: true,
  key: true,
  value: true,
  attnMask: true,
  dropoutP: true,
  isCausal: true,
  scale: true,
  enableGqa: true,
  ...VISIBLE_KEYS,
  dropoutSeed: true,
  needWeights: true,
  weightsRows: true,
  stages: true,
  checkFinite: true,
};

/**
 * softmax(scale · QKᵀ + mask) V (Vaswani et al. 2017, eq. 1).
 *
 * @throws {MultiheadError} `shape` if the tensors do not fit one another, `argument` for a value outside its range,
 * `nonfinite` for NaN or infinity, `memory`, `crashed`.
 * @example
 * const engine = await loadEngine();
 * const query = tensor([[1, 0], [0, 1]]);
 * const { output, weights } = scaledDotProductAttention(engine, {
 *   query, key: query, value: query, isCausal: true, needWeights: true,
 * });
 * weights.data; // [1, 0, 0.330, 0.670]
 */
export function scaledDotProductAttention(engine: Engine, options: ScaledDotProductOptions): ScaledDotProductResult {
  requireEngine(engine);
  checkOptions('scaledDotProductAttention', options, OPTIONS);
  const shape = readShape(options);
  if (options.isCausal && options.attnMask) {
    throw new MultiheadError('argument', 'isCausal and attnMask are not for use together; causal and attnMask are');
  }
  return engine.memory.scope((scope) => {
    const { sizes, leading, headDim, valueDim } = shape;
    const full = [...leading, sizes.queries, sizes.keys];
    const room = makeRoom(engine.memory, scope);
    const output = room([...leading, sizes.queries, valueDim]);
    const weights = weightsOut(scope, room, {
      mode: options.needWeights ? 'all' : 'none',
      rows: options.weightsRows,
      sizes,
      shape: full,
    });
    const stages = stagesOut(room, options.stages, full);
    const attention = scope.struct('mh_attention', {
      batch: sizes.batch,
      queries: sizes.queries,
      keys: sizes.keys,
      heads: sizes.heads,
      kv_heads: shape.kvHeads,
      head_dim: headDim,
      value_dim: valueDim,
      query: contiguousRows(scope.copyIn(options.query.data), sizes.heads, sizes.queries, headDim),
      key: contiguousRows(scope.copyIn(options.key.data), shape.kvHeads, sizes.keys, headDim),
      value: contiguousRows(scope.copyIn(options.value.data), shape.kvHeads, sizes.keys, valueDim),
      output: contiguousRows(output.address, sizes.heads, sizes.queries, valueDim),
      ...(typeof options.scale === 'number' && { scale_mode: 1, scale: options.scale }),
      mask: maskFields(scope, options, shape),
      dropout: options.dropoutP,
      dropout_seed: options.dropoutSeed,
      weights: weights.fields,
      ...stages.fields,
      check_finite: options.checkFinite ?? true,
    });
    const report = engine.forward(scope, 'mh_attention', attention);
    return {
      output: output.read(),
      weights: weights.read(),
      ...stages.read(),
      maskedRows: report.maskedRows,
    };
  });
}

interface Shape {
  readonly sizes: AttentionSizes;
  /** All sizes before T: batch sizes, then heads. */
  readonly leading: readonly number[];
  readonly kvHeads: number;
  readonly headDim: number;
  readonly valueDim: number;
}

function readShape({ query, key, value, enableGqa }: ScaledDotProductOptions): Shape {
  checkTensor('query', query);
  checkTensor('key', key);
  checkTensor('value', value);
  const rank = query.shape.length;
  if (rank < 2) {
    throw new MultiheadError('shape', `query has shape ${shapeText(query.shape)}: it must be [..., T, D]`);
  }
  const [queries = 0, headDim = 0] = query.shape.slice(-2);
  const leading = query.shape.slice(0, -2);
  const heads = leading.at(-1) ?? 1;
  const kvHeads = enableGqa ? (key.shape.at(-3) ?? 1) : heads;
  const keys = key.shape.at(-2) ?? 0;
  const valueDim = value.shape.at(-1) ?? 0;
  const kvLeading = leading.length === 0 ? [] : [...leading.slice(0, -1), kvHeads];
  requireShape('key', key, [...kvLeading, keys, headDim], '[..., G, S, D], with the batch sizes and D of query');
  requireShape('value', value, [...kvLeading, keys, valueDim], '[..., G, S, DV], with the sizes of key');
  const batch = sizeOf(leading.slice(0, -1));
  return { sizes: { batch, heads, queries, keys }, leading, kvHeads, headDim, valueDim };
}

function contiguousRows(data: number, heads: number, rows: number, width: number): Fields {
  return { data, batch_stride: heads * rows * width, head_stride: rows * width, row_stride: width };
}

function maskFields(scope: Scope, options: ScaledDotProductOptions, { sizes, leading }: Shape): Fields {
  const dense = options.attnMask && broadcastMask(options.attnMask, leading, sizes);
  return {
    ...visibleKeysFields(scope, options, sizes),
    ...(options.isCausal && { causal: 1 }),
    ...(dense && denseMaskFields(scope, dense, 'false')),
  };
}
