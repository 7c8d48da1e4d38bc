// A network that learns in TensorFlow.js on its wasm backend: what tf.variableGrads makes of the plain forward pass.
//
// The backend has no kernel for the gradient of gather, so that embeddings are one-hot products, as a user would have to
// write them.
import { setWasmPaths } from '@tensorflow/tfjs-backend-wasm';
import * as tf from '@tensorflow/tfjs-core';
import '@tensorflow/tfjs-core/dist/register_all_gradients';

export async function theirs({ root, width, trainer, batch: BATCH, adam: ADAM }) {
  const { layers: LAYERS, heads: HEADS, vocabulary: VOCABULARY, positions: LENGTH } = trainer.network;
  setWasmPaths(`${root}tests/bench/node_modules/@tensorflow/tfjs-backend-wasm/dist/`);
  tf.env().set('WASM_HAS_MULTITHREAD_SUPPORT', false);
  await tf.setBackend('wasm');
  const p = Object.fromEntries(
    trainer.parameters.map(({ name, shape }) => [name, tf.variable(tf.tensor(trainer.read(name).data, shape))]),
  );
  const headDim = width / HEADS;
  const mask = tf.tensor(
    Float32Array.from({ length: LENGTH * LENGTH }, (_, i) => (i % LENGTH > Math.floor(i / LENGTH) ? -1e9 : 0)),
    [1, 1, LENGTH, LENGTH],
  );
  const norm = (x, name) => {
    const centred = tf.sub(x, tf.mean(x, -1, true));
    const scale = tf.rsqrt(tf.add(tf.mean(tf.square(centred), -1, true), 1e-5));
    return tf.add(tf.mul(tf.mul(centred, scale), p[`${name}.weight`]), p[`${name}.bias`]);
  };
  const linear = (x, name) => tf.add(tf.matMul(x, p[`${name}.weight`]), p[`${name}.bias`]);
  const perHead = (x) => tf.transpose(tf.reshape(x, [BATCH, LENGTH, HEADS, headDim]), [0, 2, 1, 3]);
  const attention = (x, layer) => {
    const [q, k, v] = tf.split(linear(x, `${layer}.attn.c_attn`), 3, 1).map(perHead);
    const scores = tf.add(tf.mul(tf.matMul(q, k, false, true), 1 / Math.sqrt(headDim)), mask);
    const heads = tf.transpose(tf.matMul(tf.softmax(scores), v), [0, 2, 1, 3]);
    return linear(tf.reshape(heads, [BATCH * LENGTH, width]), `${layer}.attn.c_proj`);
  };
  const lossOf = ({ tokens, targets }) => {
    const oneHot = (ids) => tf.cast(tf.oneHot(tf.tensor1d(ids, 'int32'), VOCABULARY), 'float32');
    const embedded = tf.reshape(tf.matMul(oneHot(tokens), p['wte.weight']), [BATCH, LENGTH, width]);
    let x = tf.reshape(tf.add(embedded, p['wpe.weight']), [BATCH * LENGTH, width]);
    for (let n = 0; n < LAYERS; n++) {
      x = tf.add(x, attention(norm(x, `h.${n}.ln_1`), `h.${n}`));
      const hidden = tf.relu(linear(norm(x, `h.${n}.ln_2`), `h.${n}.mlp.c_fc`));
      x = tf.add(x, linear(hidden, `h.${n}.mlp.c_proj`));
    }
    const logits = tf.matMul(norm(x, 'ln_f'), p['wte.weight'], false, true);
    return tf.mean(tf.sub(tf.logSumExp(logits, -1), tf.sum(tf.mul(logits, oneHot(targets)), -1)));
  };
  const optimiser = tf.train.adam(ADAM.learningRate, ADAM.beta1, ADAM.beta2, ADAM.epsilon);
  return {
    label: `tfjs-wasm ${tf.version_core}`,
    step(batch) {
      const cost = tf.tidy(() => optimiser.minimize(() => lossOf(batch), true));
      const loss = cost.dataSync()[0];
      cost.dispose();
      return loss;
    },
  };
}
