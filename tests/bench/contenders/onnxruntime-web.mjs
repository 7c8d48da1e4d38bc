// onnxruntime-web on its wasm backend, with two graphs of the same layer. The plain one has standard operators only.
// `-fused` has the operators that ONNX Runtime fuses for transformers: Attention, MultiHeadAttention, BiasGelu and
// SkipLayerNormalization of com.microsoft, and where those cannot give the weights, Attention of opset 23.
// `-int8` is the plain one with linear layers in int8, dynamically quantised.
import * as onnxruntime from 'onnxruntime-web';
import { OnnxGraph } from '../formats/onnx.mjs';
import { addInt8Product } from '../formats/onnx-int8.mjs';
import { addGpt2 } from './onnx-gpt2.mjs';

const MICROSOFT = { domain: 'com.microsoft' };
const EPSILON = { epsilon: { float: 1e-5 } };
const WEIGHTS_AFTER_SOFTMAX = { qk_matmul_output_mode: 3 };

export async function load({ name, root, threads }) {
  const fused = name.endsWith('-fused');
  const int8 = name.endsWith('-int8');
  const { env } = onnxruntime;
  env.wasm.numThreads = threads;
  if (!isNode()) env.wasm.wasmPaths = `${root}tests/bench/node_modules/onnxruntime-web/dist/`;
  return {
    label: `onnxruntime-web ${env.versions.web ?? env.versions.common}, ${fused ? 'fused' : int8 ? 'int8' : 'plain'} graph`,
    // The fused operators overflow an integer from here on.
    supports: ({ kind, length, heads }) =>
      (!int8 || kind === 'block') && (!fused || (kind !== 'model' && heads * length * length < 2 ** 27)),
    setup: (shape, inputs) => setup(shape, inputs, { fused, int8, threads }),
  };
}

function isNode() {
  return typeof process !== 'undefined' && process.versions?.node !== undefined;
}

async function setup(shape, inputs, { fused, int8, threads }) {
  const session = await onnxruntime.InferenceSession.create(graphOf(shape, inputs, fused, int8), {
    executionProviders: [isNode() ? 'cpu' : 'wasm'],
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    logSeverityLevel: 3,
  });
  const { heads, length, headDim, embedDim } = shape;
  const rowsFirst = fused && shape.kind === 'core' && !shape.weights;
  const [dims, given] = rowsFirst
    ? [[1, length, embedDim], mapValues(inputs, (data) => toRowsFirst(data, shape))]
    : [shape.kind === 'core' ? [1, heads, length, headDim] : [1, length, embedDim], inputs];
  const names = shape.kind === 'core' ? ['query', 'key', 'value'] : ['x'];
  const feeds = () =>
    shape.kind === 'model'
      ? { tokens: new onnxruntime.Tensor('int64', BigInt64Array.from(inputs.tokens, BigInt), [length]) }
      : Object.fromEntries(names.map((name) => [name, new onnxruntime.Tensor('float32', given[name], dims)]));
  let results;
  return {
    async run() {
      results = await session.run(feeds());
    },
    read: () => ({
      output: rowsFirst ? toHeadsFirst(results.output.data, shape) : results.output.data,
      weights: results.weights?.data,
    }),
    dispose: () => session.release(),
  };
}

function mapValues(object, map) {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value)]));
}

/** [H, S, D] to [S, H, D]. */
function toRowsFirst(data, { heads, length, headDim }) {
  return swapOuter(data, heads, length, headDim);
}

function toHeadsFirst(data, { heads, length, headDim }) {
  return swapOuter(data, length, heads, headDim);
}

function swapOuter(data, outer, inner, width) {
  const result = new Float32Array(data.length);
  for (let i = 0; i < outer; i++) {
    for (let j = 0; j < inner; j++) {
      const start = (i * inner + j) * width;
      result.set(data.subarray(start, start + width), (j * outer + i) * width);
    }
  }
  return result;
}

function graphOf(shape, inputs, fused, int8) {
  const graph = new OnnxGraph(fused && shape.weights ? 23 : 20, int8);
  if (shape.kind === 'model') {
    addGpt2(graph, shape, inputs);
    return graph.finish();
  }
  if (shape.kind === 'core') addCore(graph, shape, fused);
  else addLayer(graph, shape, inputs, fused);
  if (shape.weights) graph.output('weights', [1, shape.heads, shape.length, shape.length]);
  return graph.finish();
}

function addCore(graph, shape, fused) {
  const { heads, length, headDim, embedDim } = shape;
  const microsoft = fused && !shape.weights;
  const dims = microsoft ? [1, length, embedDim] : [1, heads, length, headDim];
  const [query, key, value] = ['query', 'key', 'value'].map((name) => graph.input(name, dims));
  const outputs = ['output'];
  if (microsoft) {
    graph.node('MultiHeadAttention', [query, key, value], { ...MICROSOFT, attributes: { num_heads: heads }, outputs });
  } else if (fused) {
    addAttention23(graph, query, key, value, 'output');
  } else {
    const keysTurned = graph.node('Transpose', [key], { attributes: { perm: [0, 1, 3, 2] } });
    addPlainCore(graph, shape, query, keysTurned, value, outputs);
  }
  graph.output('output', dims);
}

function addAttention23(graph, query, key, value, output) {
  const outputs = [output, '', '', 'weights'];
  return graph.node('Attention', [query, key, value], { attributes: WEIGHTS_AFTER_SOFTMAX, outputs });
}

/** query and value [1, H, S, D], keysTurned [1, H, D, S]. */
function addPlainCore(graph, { headDim }, query, keysTurned, value, outputs) {
  const scale = graph.constant('scale', [], Float32Array.of(1 / Math.sqrt(headDim)));
  const scores = graph.node('Mul', [graph.node('MatMul', [query, keysTurned]), scale]);
  const weights = graph.node('Softmax', [scores], { attributes: { axis: -1 }, outputs: ['weights'] });
  return graph.node('MatMul', [weights, value], { outputs });
}

function addLayer(graph, shape, inputs, fused) {
  const { length, embedDim, kind } = shape;
  const dims = [1, length, embedDim];
  const x = graph.input('x', dims);
  const context =
    fused && !shape.weights ? addFusedContext(graph, shape, inputs) : addContext(graph, shape, inputs, fused);
  if (kind === 'mha') addLinear(graph, inputs, context, 'out', [embedDim, embedDim], ['output']);
  else if (fused) addFusedFeedForward(graph, shape, inputs, x, context);
  else addFeedForward(graph, shape, inputs, x, context);
  graph.output('output', dims);
}

function addMatrix(graph, inputs, name, dims) {
  return graph.constant(`${name}Weight`, dims, inputs[`${name}Weight`]);
}

function addVector(graph, inputs, name) {
  return graph.constant(name, [inputs[name].length], inputs[name]);
}

function addLinear(graph, inputs, rows, name, dims, outputs) {
  const product = graph.int8
    ? addInt8Product(graph, rows, name, dims, inputs[`${name}Weight`])
    : graph.node('MatMul', [rows, addMatrix(graph, inputs, name, dims)]);
  return graph.node('Add', [product, addVector(graph, inputs, `${name}Bias`)], { outputs });
}

/** Attention before the out-projection, [1, S, E]. */
function addContext(graph, shape, inputs, fused) {
  const { length, embedDim, heads, headDim } = shape;
  const perHead = graph.sizes('perHead', [1, length, heads, headDim]);
  const projected = (name, perm) => {
    const rows = addLinear(graph, inputs, 'x', name, [embedDim, embedDim]);
    return graph.node('Transpose', [graph.node('Reshape', [rows, perHead])], { attributes: { perm } });
  };
  const query = projected('query', [0, 2, 1, 3]);
  const value = projected('value', [0, 2, 1, 3]);
  const context = fused
    ? addAttention23(graph, query, projected('key', [0, 2, 1, 3]), value, 'context')
    : addPlainCore(graph, shape, query, projected('key', [0, 2, 3, 1]), value);
  const turned = graph.node('Transpose', [context], { attributes: { perm: [0, 2, 1, 3] } });
  return graph.node('Reshape', [turned, graph.sizes('joined', [1, length, embedDim])]);
}

function addFusedContext(graph, { embedDim, heads }, inputs) {
  const packed = new Float32Array(3 * embedDim * embedDim);
  const bias = new Float32Array(3 * embedDim);
  ['query', 'key', 'value'].forEach((name, part) => {
    bias.set(inputs[`${name}Bias`], part * embedDim);
    for (let row = 0; row < embedDim; row++) {
      const values = inputs[`${name}Weight`].subarray(row * embedDim, (row + 1) * embedDim);
      packed.set(values, (3 * row + part) * embedDim);
    }
  });
  const weight = graph.constant('packedWeight', [embedDim, 3 * embedDim], packed);
  const biasName = graph.constant('packedBias', [3 * embedDim], bias);
  return graph.node('Attention', ['x', weight, biasName], { ...MICROSOFT, attributes: { num_heads: heads } });
}

function addFeedForward(graph, { embedDim, ffnDim }, inputs, x, context) {
  const norm = (rows, name, outputs) => {
    const [weight, bias] = [`${name}Weight`, `${name}Bias`].map((vector) => addVector(graph, inputs, vector));
    return graph.node('LayerNormalization', [rows, weight, bias], { attributes: { axis: -1, ...EPSILON }, outputs });
  };
  const attention = addLinear(graph, inputs, context, 'out', [embedDim, embedDim]);
  const first = norm(graph.node('Add', [attention, x]), 'norm1');
  const inner = graph.node('Gelu', [addLinear(graph, inputs, first, 'ffnIn', [embedDim, ffnDim])]);
  const outer = addLinear(graph, inputs, inner, 'ffnOut', [ffnDim, embedDim]);
  return norm(graph.node('Add', [outer, first]), 'norm2', ['output']);
}

function addFusedFeedForward(graph, { embedDim, ffnDim }, inputs, x, context) {
  const vector = (name) => addVector(graph, inputs, name);
  const product = (rows, name, dims) => graph.node('MatMul', [rows, addMatrix(graph, inputs, name, dims)]);
  const skipNorm = (rows, residual, norm, bias, outputs) =>
    graph.node(
      'SkipLayerNormalization',
      [rows, residual, vector(`${norm}Weight`), vector(`${norm}Bias`), vector(bias)],
      { ...MICROSOFT, attributes: EPSILON, outputs },
    );
  const first = skipNorm(product(context, 'out', [embedDim, embedDim]), x, 'norm1', 'outBias');
  const inner = graph.node('BiasGelu', [product(first, 'ffnIn', [embedDim, ffnDim]), vector('ffnInBias')], MICROSOFT);
  return skipNorm(product(inner, 'ffnOut', [ffnDim, embedDim]), first, 'norm2', 'ffnOutBias', ['output']);
}
