// A whole decoder of GPT-2's layout, with the sizes of the model that ships: what goes in, and what must come out. Causal;
// every layer's attention weights come out, and the logits of the last token.
import { matrix, uniform } from './inputs.mjs';
import { add, attend, gelu, layerNorm, linear } from './reference.mjs';

/** Tensors by GPT-2's names, as [in, out] matrices: { name: { dims, data } }. */
function tensorsOf({ layers, embedDim, ffnDim, vocabulary, positions }) {
  let seed = 100;
  const tensors = {};
  const weight = (name, rows, columns) => {
    tensors[name] = { dims: [rows, columns], data: matrix(seed++, rows, columns) };
  };
  const vector = (name, size, spread, center) => {
    tensors[name] = { dims: [size], data: uniform(seed++, size, spread, center) };
  };
  const norm = (name) => {
    vector(`${name}.weight`, embedDim, 0.2, 1);
    vector(`${name}.bias`, embedDim, 0.1);
  };
  const dense = (name, rows, columns) => {
    weight(`${name}.weight`, rows, columns);
    vector(`${name}.bias`, columns, 0.1);
  };
  tensors['wte.weight'] = { dims: [vocabulary, embedDim], data: uniform(seed++, vocabulary * embedDim, 0.3) };
  tensors['wpe.weight'] = { dims: [positions, embedDim], data: uniform(seed++, positions * embedDim, 0.1) };
  for (let layer = 0; layer < layers; layer++) {
    norm(`h.${layer}.ln_1`);
    dense(`h.${layer}.attn.c_attn`, embedDim, 3 * embedDim);
    dense(`h.${layer}.attn.c_proj`, embedDim, embedDim);
    norm(`h.${layer}.ln_2`);
    dense(`h.${layer}.mlp.c_fc`, embedDim, ffnDim);
    dense(`h.${layer}.mlp.c_proj`, ffnDim, embedDim);
  }
  norm('ln_f');
  return tensors;
}

export function gpt2Inputs(shape) {
  const tokens = Int32Array.from({ length: shape.length }, (_, i) => (i * 7919) % shape.vocabulary);
  return { tokens, tensors: tensorsOf(shape) };
}

export function gpt2Flops({ layers, length, embedDim, ffnDim, vocabulary }) {
  const layer = 8 * length * embedDim ** 2 + 4 * length * embedDim * ffnDim + 4 * length ** 2 * embedDim;
  return layers * layer + 2 * embedDim * vocabulary;
}

/** As makeReference: `output` are the logits of the last token, `weights` [L, H, T, T]. */
export function gpt2Reference(shape, { tokens, tensors }) {
  const { layers, heads, length, embedDim, headDim } = shape;
  const data = (name) => tensors[name].data;
  const norm = (rows, name) => rows.map((row) => layerNorm(row, data(`${name}.weight`), data(`${name}.bias`)));
  const dense = (rows, name) => linear(rows, data(`${name}.weight`), data(`${name}.bias`));
  const embedding = (name, i) => Float64Array.from(data(name).subarray(i * embedDim, (i + 1) * embedDim));
  let x = Array.from(tokens, (token, i) => add(embedding('wte.weight', token), embedding('wpe.weight', i)));
  const weights = [];
  for (let layer = 0; layer < layers; layer++) {
    const name = `h.${layer}`;
    const qkv = dense(norm(x, `${name}.ln_1`), `${name}.attn.c_attn`);
    const part = (row, which, head) => {
      const start = which * embedDim + head * headDim;
      return row.subarray(start, start + headDim);
    };
    const context = x.map(() => new Float64Array(embedDim));
    for (let head = 0; head < heads; head++) {
      for (let row = 0; row < length; row++) {
        const seen = qkv.slice(0, row + 1);
        const [keys, values] = [1, 2].map((which) => seen.map((other) => part(other, which, head)));
        const result = attend(part(qkv[row], 0, head), keys, values);
        context[row].set(result.output, head * headDim);
        const padded = new Float64Array(length);
        padded.set(result.weights);
        weights.push({ start: ((layer * heads + head) * length + row) * length, values: padded });
      }
    }
    x = dense(context, `${name}.attn.c_proj`).map((row, i) => add(row, x[i]));
    const inner = dense(norm(x, `${name}.ln_2`), `${name}.mlp.c_fc`).map((row) => row.map(gelu));
    x = dense(inner, `${name}.mlp.c_proj`).map((row, i) => add(row, x[i]));
  }
  const [last] = norm(x.slice(-1), 'ln_f');
  const logits = Float64Array.from({ length: shape.vocabulary }, (_, token) => {
    const row = embedding('wte.weight', token);
    return last.reduce((sum, value, i) => sum + value * row[i], 0);
  });
  return { output: [{ start: 0, values: logits }], weights };
}
