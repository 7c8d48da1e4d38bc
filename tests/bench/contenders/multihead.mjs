// multihead, by its public calls and with their defaults (so with the search for NaN and infinity). The encoder block is
// not among them yet: there the engine's C interface is called as the package itself calls it.
import { loadEngine, MultiHeadAttention, scaledDotProductAttention } from '../../../dist/index.js';
import { transpose } from '../inputs.mjs';
import { setupGpt2 } from './multihead-gpt2.mjs';

export async function load({ name, root, threads }) {
  const int8 = name.endsWith('-int8');
  const build = name.endsWith('-simd128') ? 'simd128' : 'relaxed-simd';
  const engine = await loadEngine({ build, threads, wasmUrl: `${root}dist/wasm/` });
  if (engine.threads !== threads) throw new Error(`there are ${engine.threads} threads, not ${threads}`);
  const setups = { core: setupCore, mha: setupAttention, block: setupBlock, model: setupGpt2 };
  return {
    label: `multihead, ${build}${int8 ? ', int8' : ''}`,
    supports: ({ kind }) => !int8 || kind === 'block',
    setup: (shape, inputs) => setups[shape.kind](engine, shape, inputs, int8),
  };
}

function setupCore(engine, { heads, length, headDim, weights: needWeights }, inputs) {
  const rows = (data) => ({ data, shape: [heads, length, headDim] });
  let result;
  return {
    run() {
      const [query, key, value] = [inputs.query, inputs.key, inputs.value].map(rows);
      result = scaledDotProductAttention(engine, { query, key, value, needWeights });
    },
    read: () => ({ output: result.output.data, weights: result.weights?.data }),
    dispose() {},
  };
}

function setupAttention(engine, { embedDim, heads, length, weights: needWeights }, inputs) {
  const attention = new MultiHeadAttention(engine, { embedDim, numHeads: heads, batchFirst: true }).eval();
  attention.loadStateDict(stateDict(embedDim, inputs));
  let result;
  return {
    run() {
      const x = { data: inputs.x, shape: [length, embedDim] };
      result = attention.forward(x, x, x, { needWeights, averageAttnWeights: false });
    },
    read: () => ({ output: result.output.data, weights: result.weights?.data }),
    dispose: () => attention.dispose(),
  };
}

/** torch's names and its [out, in] layout. */
function stateDict(embedDim, inputs) {
  const turned = (matrix) => transpose(matrix, embedDim, embedDim);
  const joined = (arrays) => Float32Array.from(arrays.flatMap((array) => [...array]));
  const inProjections = [inputs.queryWeight, inputs.keyWeight, inputs.valueWeight].map(turned);
  const inBiases = [inputs.queryBias, inputs.keyBias, inputs.valueBias];
  return {
    in_proj_weight: { data: joined(inProjections), shape: [3 * embedDim, embedDim] },
    in_proj_bias: { data: joined(inBiases), shape: [3 * embedDim] },
    'out_proj.weight': { data: turned(inputs.outWeight), shape: [embedDim, embedDim] },
    'out_proj.bias': { data: inputs.outBias, shape: [embedDim] },
  };
}

function setupBlock(engine, shape, inputs, int8) {
  const { memory } = engine;
  const { length, embedDim, heads } = shape;
  const block = createBlock(engine, shape, inputs, int8);
  const weightCount = shape.weights ? heads * length * length : 0;
  let result;
  return {
    run() {
      result = memory.scope((scope) => {
        const output = scope.alloc(length * embedDim * 4);
        const weights = scope.alloc(weightCount * 4);
        const pass = scope.struct('mh_block_pass', {
          batch: 1,
          length,
          input: scope.copyIn(inputs.x),
          output,
          ...(weightCount > 0 && { weights: { mode: 1, data: weights } }),
          check_finite: 1,
        });
        engine.forward(scope, 'mh_block', block, pass);
        return {
          output: memory.floats(output, length * embedDim),
          weights: weightCount > 0 ? memory.floats(weights, weightCount) : undefined,
        };
      });
    },
    read: () => result,
    dispose: () => engine.call('mh_block_free', block),
  };
}

const POST_NORM = 1;

/** The address of an mh_block with these weights. */
function createBlock(engine, { embedDim, heads, ffnDim }, inputs, int8) {
  const { memory } = engine;
  return memory.scope((scope) => {
    const linear = (name, outDim) => ({
      data: scope.copyIn(inputs[`${name}Weight`]),
      out_stride: 1,
      in_stride: outDim,
      bias: scope.copyIn(inputs[`${name}Bias`]),
    });
    const norm = (name) => ({
      weight: scope.copyIn(inputs[`${name}Weight`]),
      bias: scope.copyIn(inputs[`${name}Bias`]),
    });
    const config = scope.struct('mh_block_config', {
      attention: {
        embed_dim: embedDim,
        heads,
        kv_heads: heads,
        query: linear('query', embedDim),
        key: linear('key', embedDim),
        value: linear('value', embedDim),
        out: linear('out', embedDim),
        precision: int8 ? 1 : 0,
      },
      ffn_dim: ffnDim,
      ffn_in: linear('ffnIn', ffnDim),
      ffn_out: linear('ffnOut', embedDim),
      norm1: norm('norm1'),
      norm2: norm('norm2'),
      norm_position: POST_NORM,
      norm_epsilon: 1e-5,
    });
    const block = scope.alloc(4);
    engine.check('mh_block_create', block, config);
    return memory.uint32(block);
  });
}
