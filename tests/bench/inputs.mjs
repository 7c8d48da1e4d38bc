// The numbers that go in: the same for every contender, from a fixed seed. Matrices are [in, out]: y = x W + b.

/** Mulberry32: uniform in [0, 1). */
function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** `count` values, uniform in center ± spread. */
export function uniform(seed, count, spread, center = 0) {
  const next = generator(seed);
  return Float32Array.from({ length: count }, () => center + (2 * next() - 1) * spread);
}

/** Standard deviation 1/√in, so that activations keep their size. */
export function matrix(seed, rows, columns) {
  return uniform(seed, rows * columns, Math.sqrt(3 / rows));
}

/** Query, key and value are [H, S, D]; scores of such rows spread enough for softmax to have something to do. */
function coreInputs({ heads, length, headDim }) {
  const count = heads * length * headDim;
  return { query: uniform(1, count, 1.7), key: uniform(2, count, 1.7), value: uniform(3, count, 1) };
}

function layerInputs({ length, embedDim, ffnDim }) {
  return {
    x: uniform(4, length * embedDim, 1.7),
    queryWeight: matrix(10, embedDim, embedDim),
    keyWeight: matrix(11, embedDim, embedDim),
    valueWeight: matrix(12, embedDim, embedDim),
    outWeight: matrix(13, embedDim, embedDim),
    queryBias: uniform(20, embedDim, 0.1),
    keyBias: uniform(21, embedDim, 0.1),
    valueBias: uniform(22, embedDim, 0.1),
    outBias: uniform(23, embedDim, 0.1),
    ffnInWeight: matrix(30, embedDim, ffnDim),
    ffnInBias: uniform(31, ffnDim, 0.1),
    ffnOutWeight: matrix(32, ffnDim, embedDim),
    ffnOutBias: uniform(33, embedDim, 0.1),
    norm1Weight: uniform(34, embedDim, 0.2, 1),
    norm1Bias: uniform(35, embedDim, 0.1),
    norm2Weight: uniform(36, embedDim, 0.2, 1),
    norm2Bias: uniform(37, embedDim, 0.1),
  };
}

export function makeInputs(shape) {
  return shape.kind === 'core' ? coreInputs(shape) : layerInputs(shape);
}

/** The transpose of a [rows, columns] matrix. */
export function transpose(data, rows, columns) {
  const result = new Float32Array(data.length);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) result[column * rows + row] = data[row * columns + column];
  }
  return result;
}
