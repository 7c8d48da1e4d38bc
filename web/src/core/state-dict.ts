/** The parameters of MultiHeadAttention: torch's names and shapes, its initial values, and their way into the engine. */
import { MultiheadError } from './errors.js';
import type { Fields, Scope } from './memory.js';
import { normalValues, uniform, uniformValues } from './random.js';
import { requireShape, sizeOf } from './tensor.js';
import type { Tensor } from './types.js';

/** Parameters by the names that `torch.nn.MultiheadAttention.state_dict()` gives them. */
export type StateDict = Readonly<Record<string, Tensor>>;

/** What decides which parameters there are, and their shapes. */
export interface ModuleSizes {
  /** E */
  readonly embedDim: number;
  /** H */
  readonly numHeads: number;
  /** G */
  readonly kvHeads: number;
  readonly kdim: number;
  readonly vdim: number;
  readonly bias: boolean;
  readonly addBiasKv: boolean;
  readonly addZeroAttn: boolean;
}

/** Width of all keys or values together: G·D. */
function kvWidth({ embedDim, numHeads, kvHeads }: ModuleSizes): number {
  return (embedDim / numHeads) * kvHeads;
}

/** One in-projection weight for all three, as torch has it when key and value are as wide as the query. */
function isPacked({ embedDim, kdim, vdim }: ModuleSizes): boolean {
  return kdim === embedDim && vdim === embedDim;
}

/** Name and shape of every parameter. */
export function parameterShapes(sizes: ModuleSizes): ReadonlyMap<string, readonly number[]> {
  const { embedDim, kdim, vdim } = sizes;
  const kv = kvWidth(sizes);
  const shapes = new Map<string, readonly number[]>();
  if (isPacked(sizes)) {
    shapes.set('in_proj_weight', [embedDim + 2 * kv, embedDim]);
  } else {
    shapes.set('q_proj_weight', [embedDim, embedDim]);
    shapes.set('k_proj_weight', [kv, kdim]);
    shapes.set('v_proj_weight', [kv, vdim]);
  }
  if (sizes.bias) shapes.set('in_proj_bias', [embedDim + 2 * kv]);
  if (sizes.addBiasKv) shapes.set('bias_k', [1, 1, kv]).set('bias_v', [1, 1, kv]);
  shapes.set('out_proj.weight', [embedDim, embedDim]);
  if (sizes.bias) shapes.set('out_proj.bias', [embedDim]);
  return shapes;
}

/** Throws unless `state` has exactly the parameters that these sizes mean, each of its shape. */
export function checkStateDict(state: StateDict, sizes: ModuleSizes): void {
  const shapes = parameterShapes(sizes);
  for (const [name, shape] of shapes) {
    const parameter = state[name];
    if (!parameter) {
      throw new MultiheadError('argument', `the state dict lacks ${name} ${JSON.stringify(shape)}`, {
        details: { name },
      });
    }
    requireShape(name, parameter, shape);
  }
  for (const name of Object.keys(state)) {
    if (shapes.has(name)) continue;
    const known = [...shapes.keys()].join(', ');
    throw new MultiheadError('argument', `the state dict has ${name}, and this module has only ${known}`, {
      details: { name },
    });
  }
}

/**
 * Initial values, distributed as torch's `_reset_parameters` does: Xavier uniform for in-projections (Glorot and Bengio
 * 2010), zero biases, Xavier normal for bias_k and bias_v, and its Linear's uniform ±1/√E for the out-projection. The
 * numbers themselves are not torch's, whose generator is another.
 */
export function initialStateDict(sizes: ModuleSizes, seed: number): StateDict {
  const random = uniform(seed);
  const values = (name: string, shape: readonly number[]): Float32Array => {
    const [fanOut = 1, fanIn = 1] = shape;
    const length = sizeOf(shape);
    if (name.endsWith('_proj_weight')) return uniformValues(random, length, Math.sqrt(6 / (fanIn + fanOut)));
    if (name === 'out_proj.weight') return uniformValues(random, length, 1 / Math.sqrt(fanIn));
    // torch counts the last size of a [1, 1, n] tensor as its receptive field: both fans are n.
    if (name === 'bias_k' || name === 'bias_v') return normalValues(random, length, Math.sqrt(1 / length));
    return new Float32Array(length);
  };
  const shapes = [...parameterShapes(sizes)];
  return Object.fromEntries(shapes.map(([name, shape]) => [name, { data: values(name, shape), shape }]));
}

/** The fields of `struct mh_multihead_config`, with the parameters copied into the scope. */
export function configFields(scope: Scope, state: StateDict, sizes: ModuleSizes): Fields {
  const address = (name: string) => state[name] && scope.copyIn(state[name].data);
  const kv = kvWidth(sizes);
  const { embedDim, kdim, vdim } = sizes;
  const packed = address('in_proj_weight');
  const bias = address('in_proj_bias');
  const row = (base: number | undefined, rows: number, width: number) => base && base + rows * width * 4;
  const linear = (data: number | undefined, width: number, itsBias: number | undefined): Fields => {
    return { data, out_stride: width, in_stride: 1, bias: itsBias };
  };
  return {
    embed_dim: embedDim,
    key_dim: kdim,
    value_dim: vdim,
    heads: sizes.numHeads,
    kv_heads: sizes.kvHeads,
    query: linear(packed ?? address('q_proj_weight'), embedDim, bias),
    key: linear(row(packed, embedDim, embedDim) ?? address('k_proj_weight'), kdim, row(bias, embedDim, 1)),
    value: linear(row(packed, embedDim + kv, embedDim) ?? address('v_proj_weight'), vdim, row(bias, embedDim + kv, 1)),
    out: linear(address('out_proj.weight'), embedDim, address('out_proj.bias')),
    bias_key: address('bias_k'),
    bias_value: address('bias_v'),
    add_zero_attention: sizes.addZeroAttn,
  };
}
