// The whole model, as the package's Model calls the engine: mh_model_load once, mh_model_forward for each run.

/** Tensors as a safetensors file: the length of the header, the header, the numbers. */
function safetensorsFile(tensors) {
  const header = {};
  let end = 0;
  for (const [name, { dims, data }] of Object.entries(tensors)) {
    header[name] = { dtype: 'F32', shape: dims, data_offsets: [end, end + data.byteLength] };
    end += data.byteLength;
  }
  const text = new TextEncoder().encode(JSON.stringify(header));
  const file = new Uint8Array(8 + text.length + end);
  new DataView(file.buffer).setBigUint64(0, BigInt(text.length), true);
  file.set(text, 8);
  for (const [name, { data }] of Object.entries(tensors)) {
    file.set(new Uint8Array(data.buffer), 8 + text.length + header[name].data_offsets[0]);
  }
  return file;
}

function loadModel(engine, shape, tensors) {
  const { memory } = engine;
  const file = safetensorsFile(tensors);
  const config = {
    layers: shape.layers,
    heads: shape.heads,
    kv_heads: shape.heads,
    embed_dim: shape.embedDim,
    ffn_dim: shape.ffnDim,
    vocabulary: shape.vocabulary,
    positions: shape.positions,
    norm_epsilon: 1e-5,
  };
  return memory.lend(file, (address) =>
    memory.scope((scope) => {
      const out = scope.alloc(4);
      engine.check('mh_model_load', out, scope.struct('mh_model_config', config), address, file.length);
      return memory.uint32(out);
    }),
  );
}

export function setupGpt2(engine, shape, { tokens, tensors }) {
  const { memory } = engine;
  const { layers, heads, length, vocabulary } = shape;
  const model = loadModel(engine, shape, tensors);
  const weightCount = layers * heads * length * length;
  let result;
  return {
    run() {
      result = memory.scope((scope) => {
        const attention = scope.alloc(weightCount * 4);
        const logits = scope.alloc(vocabulary * 4);
        const pass = scope.struct('mh_model_pass', {
          tokens: scope.copyIn(tokens),
          length,
          mask: { causal: 1 },
          attention,
          logits,
          logit_rows: scope.copyIn(Int32Array.of(length - 1)),
          logit_count: 1,
          check_finite: 1,
        });
        engine.forward(scope, 'mh_model', model, pass);
        return { output: memory.floats(logits, vocabulary), weights: memory.floats(attention, weightCount) };
      });
    },
    read: () => result,
    dispose: () => engine.call('mh_model_free', model),
  };
}
