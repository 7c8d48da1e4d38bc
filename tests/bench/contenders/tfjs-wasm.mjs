// TensorFlow.js on its wasm backend.
import { setWasmPaths } from '@tensorflow/tfjs-backend-wasm';
import * as tf from '@tensorflow/tfjs-core';

export async function load({ root }) {
  setWasmPaths(`${root}tests/bench/node_modules/@tensorflow/tfjs-backend-wasm/dist/`);
  tf.env().set('WASM_HAS_MULTITHREAD_SUPPORT', false);
  await tf.setBackend('wasm');
  await tf.ready();
  return {
    label: `tfjs-wasm ${tf.version_core}`,
    // Its batched products are so slow that longer ones would take minutes.
    supports: ({ kind, length }) => kind !== 'model' && length <= 512,
    setup: (shape, inputs) => (shape.kind === 'core' ? setupCore(shape, inputs) : setupLayer(shape, inputs)),
  };
}

/** `compute` gives [output, weights] for the inputs made anew in each run. */
function contender(shape, compute, constants) {
  let result;
  return {
    run() {
      const [output, weights] = tf.tidy(compute);
      result = { output: output.dataSync(), weights: shape.weights ? weights.dataSync() : undefined };
      tf.dispose([output, weights]);
    },
    read: () => result,
    dispose: () => tf.dispose(constants),
  };
}

function attention(query, key, value, headDim) {
  const weights = tf.softmax(tf.mul(tf.matMul(query, key, false, true), 1 / Math.sqrt(headDim)));
  return [tf.matMul(weights, value), weights];
}

function setupCore(shape, inputs) {
  const { heads, length, headDim } = shape;
  const tensor = (data) => tf.tensor(data, [1, heads, length, headDim]);
  const compute = () => attention(tensor(inputs.query), tensor(inputs.key), tensor(inputs.value), headDim);
  return contender(shape, compute, []);
}

function setupLayer(shape, inputs) {
  const { length, embedDim, heads, headDim, kind } = shape;
  const constants = constantsOf(shape, inputs);
  const linear = (rows, name) =>
    tf.fused.matMul({ a: rows, b: constants[`${name}Weight`], bias: constants[`${name}Bias`] });
  const perHead = (rows) => tf.transpose(tf.reshape(rows, [1, length, heads, headDim]), [0, 2, 1, 3]);
  const norm = (rows, name) => {
    const { mean, variance } = tf.moments(rows, -1, true);
    const normal = tf.mul(tf.sub(rows, mean), tf.rsqrt(tf.add(variance, 1e-5)));
    return tf.add(tf.mul(normal, constants[`${name}Weight`]), constants[`${name}Bias`]);
  };
  const gelu = (x) => tf.mul(tf.mul(x, 0.5), tf.add(tf.erf(tf.mul(x, Math.SQRT1_2)), 1));
  const compute = () => {
    const x = tf.tensor(inputs.x, [length, embedDim]);
    const [query, key, value] = ['query', 'key', 'value'].map((name) => perHead(linear(x, name)));
    const [context, weights] = attention(query, key, value, headDim);
    const joined = tf.reshape(tf.transpose(context, [0, 2, 1, 3]), [length, embedDim]);
    const attended = linear(joined, 'out');
    if (kind === 'mha') return [attended, weights];
    const first = norm(tf.add(attended, x), 'norm1');
    const outer = linear(gelu(linear(first, 'ffnIn')), 'ffnOut');
    return [norm(tf.add(outer, first), 'norm2'), weights];
  };
  return contender(shape, compute, constants);
}

function constantsOf({ kind, embedDim, ffnDim }, inputs) {
  const square = [embedDim, embedDim];
  const shapes = {
    queryWeight: square,
    keyWeight: square,
    valueWeight: square,
    outWeight: square,
    ...(kind === 'block' && { ffnInWeight: [embedDim, ffnDim], ffnOutWeight: [ffnDim, embedDim] }),
  };
  const names = Object.keys(inputs).filter((name) => name !== 'x' && (kind === 'block' || !/ffn|norm/.test(name)));
  return Object.fromEntries(
    names.map((name) => [name, tf.tensor(inputs[name], shapes[name] ?? [inputs[name].length])]),
  );
}
