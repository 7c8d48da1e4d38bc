// The whole model as an ONNX graph of standard operators. ONNX Runtime's fused operators have no way to hand out the
// weights of a causal layer.
import { transpose } from '../inputs.mjs';

const NORM = { axis: -1, epsilon: { float: 1e-5 } };

export function addGpt2(graph, shape, { tensors }) {
  const { layers, length, embedDim, heads, headDim, vocabulary } = shape;
  const constant = (name) => graph.constant(name, tensors[name].dims, tensors[name].data);
  const tokens = graph.intInput('tokens', [length]);
  const positions = graph.constant(
    'positions',
    [length, embedDim],
    tensors['wpe.weight'].data.slice(0, length * embedDim),
  );
  const hidden = Float32Array.from({ length: length * length }, (_, i) => {
    return i % length > Math.floor(i / length) ? -Infinity : 0;
  });
  const shared = {
    mask: graph.constant('mask', [1, length, length], hidden),
    scale: graph.constant('scale', [], Float32Array.of(1 / Math.sqrt(headDim))),
    perHead: graph.sizes('perHead', [length, 3 * heads, headDim]),
    joined: graph.sizes('joined', [length, embedDim]),
    thirds: graph.sizes('thirds', [heads, heads, heads]),
  };
  let x = graph.node('Add', [graph.node('Gather', [constant('wte.weight'), tokens]), positions]);
  const maps = [];
  for (let layer = 0; layer < layers; layer++) {
    const attention = addAttention(graph, shared, constant, `h.${layer}`, x);
    maps.push(attention.weights);
    x = graph.node('Add', [x, attention.output]);
    const inner = dense(graph, constant, norm(graph, constant, x, `h.${layer}.ln_2`), `h.${layer}.mlp.c_fc`);
    x = graph.node('Add', [x, dense(graph, constant, graph.node('Gelu', [inner]), `h.${layer}.mlp.c_proj`)]);
  }
  graph.node('Concat', maps, { attributes: { axis: 0 }, outputs: ['weights'] });
  graph.output('weights', [layers * heads, length, length]);
  const last = graph.node('Gather', [x, graph.sizes('last', [length - 1])]);
  const head = graph.constant(
    'head',
    [embedDim, vocabulary],
    transpose(tensors['wte.weight'].data, vocabulary, embedDim),
  );
  graph.node('MatMul', [norm(graph, constant, last, 'ln_f'), head], { outputs: ['output'] });
  graph.output('output', [1, vocabulary]);
}

function norm(graph, constant, rows, name) {
  return graph.node('LayerNormalization', [rows, constant(`${name}.weight`), constant(`${name}.bias`)], {
    attributes: NORM,
  });
}

function dense(graph, constant, rows, name) {
  const product = graph.node('MatMul', [rows, constant(`${name}.weight`)]);
  return graph.node('Add', [product, constant(`${name}.bias`)]);
}

function addAttention(graph, { mask, scale, perHead, joined, thirds }, constant, name, x) {
  const qkv = dense(graph, constant, norm(graph, constant, x, `${name}.ln_1`), `${name}.attn.c_attn`);
  const split = graph.node('Reshape', [qkv, perHead]);
  const heads = graph.node('Transpose', [split], { attributes: { perm: [1, 0, 2] } });
  const [query, key, value] = ['q', 'k', 'v'].map((part) => `${name}.${part}`);
  graph.node('Split', [heads, thirds], { attributes: { axis: 0 }, outputs: [query, key, value] });
  const keysTurned = graph.node('Transpose', [key], { attributes: { perm: [0, 2, 1] } });
  const scores = graph.node('Mul', [graph.node('MatMul', [query, keysTurned]), scale]);
  const weights = graph.node('Softmax', [graph.node('Add', [scores, mask])], { attributes: { axis: -1 } });
  const context = graph.node('Transpose', [graph.node('MatMul', [weights, value])], {
    attributes: { perm: [1, 0, 2] },
  });
  const output = dense(graph, constant, graph.node('Reshape', [context, joined]), `${name}.attn.c_proj`);
  return { weights, output };
}
