// LiteRT.js, which is XNNPACK in wasm with relaxed SIMD. Its models are TensorFlow Lite files.
import { loadAndCompile, loadLiteRt, Tensor } from '@litertjs/core';
import { TfliteGraph } from '../formats/tflite.mjs';
import { transpose } from '../inputs.mjs';

const VERSION = '2.5.3';

export async function load({ root, threads }) {
  await loadLiteRt(`${root}tests/bench/node_modules/@litertjs/core/wasm/`, { threads: threads > 1 });
  return {
    label: `LiteRT.js ${VERSION}`,
    supports: ({ kind }) => kind !== 'model',
    setup: (shape, inputs) => setup(shape, inputs, threads),
  };
}

async function setup(shape, inputs, threads) {
  const model = await loadAndCompile(modelOf(shape, inputs), {
    accelerator: 'wasm',
    ...(threads > 1 && { cpuOptions: { numThreads: threads } }),
  });
  const { heads, length, headDim, embedDim } = shape;
  const core = shape.kind === 'core';
  const given = core ? [inputs.query, inputs.key, inputs.value] : [inputs.x];
  const dims = core ? [1, heads, length, headDim] : [length, embedDim];
  let result;
  return {
    async run() {
      const tensors = given.map((data) => new Tensor(data, dims));
      const outputs = await model.run(tensors);
      const [output, weights] = await Promise.all(outputs.map((tensor) => tensor.data()));
      for (const tensor of [...tensors, ...outputs]) tensor.delete();
      result = { output, weights };
    },
    read: () => result,
    dispose: () => model.delete(),
  };
}

function modelOf(shape, inputs) {
  const graph = new TfliteGraph();
  const { output, weights } = shape.kind === 'core' ? addCoreModel(graph, shape) : addLayer(graph, shape, inputs);
  return graph.finish(shape.weights ? [output, weights] : [output]);
}

function addCoreModel(graph, shape) {
  const dims = [1, shape.heads, shape.length, shape.headDim];
  return addCore(graph, shape, graph.input(dims), graph.input(dims), graph.input(dims));
}

/** All [1, H, S, D]. */
function addCore(graph, { heads, length, headDim }, query, key, value) {
  const square = [1, heads, length, length];
  const scale = graph.constant([1], Float32Array.of(1 / Math.sqrt(headDim)));
  const raw = graph.node('batchMatMul', [query, key], square, 'batchMatMulTurned');
  const weights = graph.node('softmax', [graph.node('mul', [raw, scale], square)], square);
  return { output: graph.node('batchMatMul', [weights, value], [1, heads, length, headDim]), weights };
}

function addLayer(graph, shape, inputs) {
  const { length, embedDim, heads, headDim } = shape;
  const x = graph.input([length, embedDim]);
  const projected = (name) => {
    const rows = addLinear(graph, shape, inputs, x, name, embedDim, embedDim);
    const perHead = addReshape(graph, rows, [1, length, heads, headDim]);
    return addTranspose(graph, perHead, [0, 2, 1, 3], [1, heads, length, headDim]);
  };
  const { output: context, weights } = addCore(graph, shape, projected('query'), projected('key'), projected('value'));
  const turned = addTranspose(graph, context, [0, 2, 1, 3], [1, length, heads, headDim]);
  const joined = addReshape(graph, turned, [length, embedDim]);
  const attention = addLinear(graph, shape, inputs, joined, 'out', embedDim, embedDim);
  return { output: shape.kind === 'mha' ? attention : addFeedForward(graph, shape, inputs, x, attention), weights };
}

function addFeedForward(graph, shape, inputs, x, attention) {
  const { length, embedDim, ffnDim } = shape;
  const sum = (a, b) => graph.node('add', [a, b], [length, embedDim]);
  const first = addNorm(graph, shape, inputs, sum(attention, x), 'norm1');
  const inner = graph.node(
    'gelu',
    [addLinear(graph, shape, inputs, first, 'ffnIn', embedDim, ffnDim)],
    [length, ffnDim],
  );
  const outer = addLinear(graph, shape, inputs, inner, 'ffnOut', ffnDim, embedDim);
  return addNorm(graph, shape, inputs, sum(outer, first), 'norm2');
}

/** FULLY_CONNECTED takes its weights as [out, in]. */
function addLinear(graph, { length }, inputs, rows, name, inDim, outDim) {
  const weight = graph.constant([outDim, inDim], transpose(inputs[`${name}Weight`], inDim, outDim));
  const bias = graph.constant([outDim], inputs[`${name}Bias`]);
  return graph.node('fullyConnected', [rows, weight, bias], [length, outDim]);
}

/** TensorFlow Lite has no operator for it: this is how its converter writes it. */
function addNorm(graph, { length, embedDim }, inputs, rows, name) {
  const [full, column] = [
    [length, embedDim],
    [length, 1],
  ];
  const lastAxis = () => graph.constant([1], Int32Array.of(1));
  const mean = graph.node('mean', [rows, lastAxis()], column);
  const squares = graph.node('squaredDifference', [rows, mean], full);
  const variance = graph.node('mean', [squares, lastAxis()], column);
  const epsilon = graph.constant([1], Float32Array.of(1e-5));
  const factor = graph.node('rsqrt', [graph.node('add', [variance, epsilon], column)], column);
  const normal = graph.node('mul', [graph.node('sub', [rows, mean], full), factor], full);
  const weight = graph.constant([embedDim], inputs[`${name}Weight`]);
  const bias = graph.constant([embedDim], inputs[`${name}Bias`]);
  return graph.node('add', [graph.node('mul', [normal, weight], full), bias], full);
}

function addReshape(graph, tensor, shape) {
  return graph.node('reshape', [tensor, graph.constant([shape.length], Int32Array.from(shape))], shape);
}

function addTranspose(graph, tensor, axes, shape) {
  return graph.node('transpose', [tensor, graph.constant([axes.length], Int32Array.from(axes))], shape);
}
