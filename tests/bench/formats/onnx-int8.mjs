// Linear layers in int8 as ONNX Runtime's dynamic quantisation makes them: weights in int8 with a scale for each output,
// inputs in uint8 with a scale and a zero for the whole tensor, found anew in every run.

const FLOAT = 1; // TensorProto.DataType
const LARGEST = 127;

/** weight [in, out], row-major, to int8 with a scale for each column. */
function quantise(weight, [inDim, outDim]) {
  const scales = new Float32Array(outDim);
  weight.forEach((value, i) => {
    scales[i % outDim] = Math.max(scales[i % outDim], Math.abs(value) / LARGEST);
  });
  const values = Int8Array.from({ length: inDim * outDim }, (_, i) => Math.round(weight[i] / scales[i % outDim]));
  return { values, scales };
}

/** The tensor's 8-bit form; several layers that read it share one. */
function quantisedRows(graph, rows) {
  const outputs = [`${rows}Rounded`, `${rows}Scale`, `${rows}Zero`];
  if (!graph.rounded.has(rows)) {
    graph.node('DynamicQuantizeLinear', [rows], { outputs });
    graph.rounded.add(rows);
  }
  return outputs;
}

/** rows × weight [in, out], as f32. */
export function addInt8Product(graph, rows, name, dims, weight) {
  const { values, scales } = quantise(weight, dims);
  const [rounded, scale, zero] = quantisedRows(graph, rows);
  const sums = graph.node('MatMulInteger', [rounded, graph.constant(`${name}Int8`, dims, values), zero]);
  const floats = graph.node('Cast', [sums], { attributes: { to: FLOAT } });
  const factor = graph.node('Mul', [graph.constant(`${name}Scales`, [dims[1]], scales), scale]);
  return graph.node('Mul', [floats, factor]);
}
