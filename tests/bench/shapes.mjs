// The workloads. `core` is attention from ready Q, K, V; `mha` adds the four projections; `block` is a post-norm
// encoder layer (d_ff = 4 d). Each comes with the attention weights as a second output, and without. `model` is a whole
// decoder as large as the one that ships, with all its weights.
import { gpt2Flops } from './gpt2.mjs';

const SIZES = [
  { size: 'tiny', embedDim: 128, heads: 4, lengths: [32], kinds: ['core', 'mha', 'block'] },
  { size: 'small', embedDim: 384, heads: 12, lengths: [64, 128], kinds: ['core', 'mha', 'block'] },
  { size: 'base', embedDim: 768, heads: 12, lengths: [128, 512], kinds: ['core', 'mha', 'block'] },
  { size: 'long', embedDim: 512, heads: 8, lengths: [1024, 2048, 4096], kinds: ['core'] },
];

const MODELS = [16, 64].map((length) => ({
  id: `model-default-${length}`,
  kind: 'model',
  size: 'default',
  length,
  layers: 4,
  embedDim: 128,
  heads: 8,
  headDim: 16,
  ffnDim: 512,
  vocabulary: 8016,
  positions: 64,
  weights: true,
}));

/** Of `--quick`: small and larger ones of each kind. */
const QUICK =
  /^(core-tiny-32|core-small-128|core-small-128-noweights|core-base-512-noweights|mha-tiny-32|mha-small-64-noweights|block-tiny-32-noweights|block-small-128|model-default-64)$/;

function shapesOf({ size, embedDim, heads, lengths, kinds }) {
  return lengths.flatMap((length) =>
    kinds.flatMap((kind) =>
      [true, false].map((weights) => ({
        id: `${kind}-${size}-${length}${weights ? '' : '-noweights'}`,
        kind,
        size,
        length,
        embedDim,
        heads,
        headDim: embedDim / heads,
        ffnDim: 4 * embedDim,
        weights,
      })),
    ),
  );
}

/** The shapes whose id matches `pattern`; 4096 tokens only with `huge`, few with `quick`. */
export function chooseShapes({ pattern = '', quick = false, huge = false } = {}) {
  return [...SIZES.flatMap(shapesOf), ...MODELS]
    .filter(({ length }) => huge || length < 4096)
    .filter(({ id }) => !quick || QUICK.test(id))
    .filter(({ id }) => new RegExp(pattern).test(id));
}

/** Multiplications and additions of the matrix products alone: softmax, norms and GELU come on top, uncounted. */
export function flops(shape) {
  const { kind, length, embedDim, ffnDim } = shape;
  if (kind === 'model') return gpt2Flops(shape);
  const core = 4 * length * length * embedDim;
  const projections = 8 * length * embedDim * embedDim;
  const ffn = 4 * length * embedDim * ffnDim;
  if (kind === 'core') return core;
  return kind === 'mha' ? core + projections : core + projections + ffn;
}
