// Makes the small model file that is shipped from one with F32 weights:
//
//     node web/models/quantise.mjs tests/golden/bilingual/model.safetensors web/models/bilingual/model.safetensors
//
// For models of GPT-2's layout, and encoder-decoders of the same blocks (names and shapes as in c/include/multihead.h,
// section 7, and multihead_train.h, section 1). What each tensor becomes:
//
//   wte.weight of an encoder-decoder     I8, a scale for 16 columns of a row; rounded so that what the first attentions
//                                        make of a token changes least
//   last c_proj and mlp of the decoder   I8, a scale for each column: no attention comes after them
//   other matrices                       F16; of an encoder-decoder I8, a scale for 16 rows of a column
//   vectors                              F32
//
// What that does to attention weights is in the cards, bilingual/README.md and translator/README.md.
import { readFileSync, writeFileSync } from 'node:fs';

const BLOCK = 16;
const DAMPING = 0.1;

// ===== Files ==========================================================================================================

/** Map of name → { shape, data } of a safetensors file that has only F32. */
function readF32(path) {
  const bytes = readFileSync(path);
  const length = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.toString('utf8', 8, 8 + length));
  const tensors = new Map();
  for (const [name, { dtype, shape, data_offsets: offsets }] of Object.entries(header)) {
    if (name === '__metadata__') {
      continue;
    }
    if (dtype !== 'F32') {
      throw new Error(`${path}: tensor ${name} is ${dtype}; quantise from F32 weights`);
    }
    const [begin, end] = offsets.map((offset) => 8 + length + offset);
    tensors.set(name, { shape, data: new Float32Array(Uint8Array.from(bytes.subarray(begin, end)).buffer) });
  }
  return tensors;
}

/** Writes tensors { name, dtype, shape, data }, data being a typed array of the dtype's bits, widest first. */
function write(path, tensors) {
  const header = { __metadata__: { made_by: 'web/models/quantise.mjs' } };
  const ordered = [...tensors].sort((a, b) => b.data.BYTES_PER_ELEMENT - a.data.BYTES_PER_ELEMENT);
  let offset = 0;
  for (const { name, dtype, shape, data } of ordered) {
    header[name] = { dtype, shape, data_offsets: [offset, offset + data.byteLength] };
    offset += data.byteLength;
  }
  let json = JSON.stringify(header);
  json = json.padEnd(Math.ceil(json.length / 8) * 8); // the data begins on a multiple of 8
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  const parts = ordered.map(({ data }) => Buffer.from(data.buffer, data.byteOffset, data.byteLength));
  writeFileSync(path, Buffer.concat([length, Buffer.from(json, 'latin1'), ...parts]));
  return 8 + json.length + offset;
}

// ===== Half floats ====================================================================================================

/** x / step to the nearest whole number, ties to even. */
function roundEven(x) {
  const floor = Math.floor(x);
  const rest = x - floor;
  return rest > 0.5 || (rest === 0.5 && floor % 2 !== 0) ? floor + 1 : floor;
}

/** Bits of the IEEE binary16 nearest to x. */
function toF16(x) {
  const sign = x < 0 || Object.is(x, -0) ? 0x8000 : 0;
  const magnitude = Math.abs(x);
  const exponent = Math.max(Math.floor(Math.log2(magnitude || 1e-30)), -14);
  // A fraction that rounds up to 2048 carries into the exponent by itself, as the bits are laid out.
  const units = roundEven(magnitude * 2 ** (10 - exponent));
  const bits = units + (exponent + 14) * 1024;
  if (!(bits < 0x7c00)) {
    throw new Error(`${x} is out of the range of F16`);
  }
  return sign | bits;
}

function fromF16(bits) {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const magnitude = exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

// ===== Matrices of the rounding error =================================================================================

/** The upper triangle U of H⁻¹ = Uᵀ U, for a symmetric positive definite H [n, n]. */
function choleskyOfInverse(h, n) {
  const inverse = invert(h, n);
  const u = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = i; j < n; j++) {
      let sum = inverse[i * n + j];
      for (let k = 0; k < i; k++) {
        sum -= u[k * n + i] * u[k * n + j];
      }
      u[i * n + j] = i === j ? Math.sqrt(sum) : sum / u[i * n + i];
    }
  }
  return u;
}

/** By Gauss and Jordan; a positive definite matrix needs no pivoting. */
function invert(matrix, n) {
  const a = Float64Array.from(matrix);
  for (let k = 0; k < n; k++) {
    const pivot = a[k * n + k];
    a[k * n + k] = 1;
    for (let j = 0; j < n; j++) {
      a[k * n + j] /= pivot;
    }
    for (let i = 0; i < n; i++) {
      if (i === k) {
        continue;
      }
      const factor = a[i * n + k];
      a[i * n + k] = 0;
      for (let j = 0; j < n; j++) {
        a[i * n + j] -= factor * a[k * n + j];
      }
    }
  }
  return a;
}

/**
 * H [E, E], so that eᵀ H e is what an error e of an embedding does to the queries, keys and values of the first layers of
 * both stacks: H = Σ A Aᵀ with A = C D W, where C takes the mean away and D is the weight, both of the layer's norm,
 * and W is its c_attn. Then a little of the identity, for what comes after.
 */
function firstAttentionMetric(tensors) {
  const n = tensors.get('wte.weight').shape[1];
  const h = new Float64Array(n * n);
  for (const stack of ['', 'encoder.']) {
    addMetric(h, tensors.get(`${stack}h.0.ln_1.weight`).data, tensors.get(`${stack}h.0.attn.c_attn.weight`));
  }
  let trace = 0;
  for (let i = 0; i < n; i++) {
    trace += h[i * n + i];
  }
  for (let i = 0; i < n; i++) {
    h[i * n + i] += (DAMPING * trace) / n;
  }
  return h;
}

function addMetric(h, norm, { shape: [n, width], data: w }) {
  const a = Float64Array.from(w, (value, i) => value * norm[Math.floor(i / width)]);
  for (let j = 0; j < width; j++) {
    let mean = 0;
    for (let i = 0; i < n; i++) {
      mean += a[i * width + j] / n;
    }
    for (let i = 0; i < n; i++) {
      a[i * width + j] -= mean;
    }
  }
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      for (let k = 0; k < width; k++) {
        h[i * n + j] += a[i * width + k] * a[j * width + k];
      }
    }
  }
}

// ===== Int8 ===========================================================================================================

function toI8(x) {
  return Math.max(-127, Math.min(127, roundEven(x)));
}

/** The scale, as F16 bits, for numbers of which `largest` is the largest by magnitude. */
function scaleBits(largest) {
  return toF16(largest / 127) || 1; // a block of zeros, or of less than F16 can say, takes the smallest
}

/** A scale for every `height` rows of a column. */
function quantiseColumns(name, { shape: [rows, columns], data }, height = rows) {
  const blocks = rows / height;
  const blockOf = (i) => Math.floor(i / columns / height) * columns + (i % columns);
  const largest = new Float64Array(blocks * columns);
  data.forEach((x, i) => {
    largest[blockOf(i)] = Math.max(largest[blockOf(i)], Math.abs(x));
  });
  const bits = Uint16Array.from(largest, scaleBits);
  const scales = Float64Array.from(bits, fromF16);
  const values = Int8Array.from(data, (x, i) => toI8(x / scales[blockOf(i)]));
  return [
    { name, dtype: 'I8', shape: [rows, columns], data: values },
    { name: `${name}.scale`, dtype: 'F16', shape: [blocks, columns], data: bits },
  ];
}

/**
 * A scale for every BLOCK columns of a row, and rounding that pays for the error of one number with those that come
 * after it in the row, as far as `metric` knows them to make up for each other (Frantar et al. 2022, GPTQ). Columns are
 * taken in the order of their weight in the metric.
 */
function quantiseRows(name, { shape: [rows, columns], data }, metric) {
  const order = Array.from({ length: columns }, (_, i) => i);
  order.sort((i, j) => metric[j * columns + j] - metric[i * columns + i]);
  const ordered = Float64Array.from(metric, (_, at) => {
    const [i, j] = [Math.floor(at / columns), at % columns];
    return metric[order[i] * columns + order[j]];
  });
  const u = choleskyOfInverse(ordered, columns);
  const blocks = columns / BLOCK;
  const bits = new Uint16Array(rows * blocks);
  const values = new Int8Array(rows * columns);
  for (let r = 0; r < rows; r++) {
    const row = data.subarray(r * columns, (r + 1) * columns);
    for (let b = 0; b < blocks; b++) {
      bits[r * blocks + b] = scaleBits(Math.max(...row.subarray(b * BLOCK, (b + 1) * BLOCK).map(Math.abs)));
    }
    const rest = Float64Array.from(order, (column) => row[column]);
    for (let i = 0; i < columns; i++) {
      const scale = fromF16(bits[r * blocks + Math.floor(order[i] / BLOCK)]);
      const value = toI8(rest[i] / scale);
      const error = (rest[i] - value * scale) / u[i * columns + i];
      values[r * columns + order[i]] = value;
      for (let j = i + 1; j < columns; j++) {
        rest[j] -= error * u[i * columns + j];
      }
    }
  }
  return [
    { name, dtype: 'I8', shape: [rows, columns], data: values },
    { name: `${name}.scale`, dtype: 'F16', shape: [rows, blocks], data: bits },
  ];
}

// ===== The model ======================================================================================================

function quantise(tensors) {
  const layers = [...tensors.keys()].flatMap((name) => /^h\.(\d+)\.ln_1\.weight$/.exec(name)?.[1] ?? []);
  const translates = tensors.has('encoder.h.0.ln_1.weight');
  const lastAttention = translates ? 'crossattention' : 'attn';
  const last = new RegExp(`^h\\.${Math.max(...layers)}\\.(${lastAttention}\\.c_proj|mlp\\.\\w+)\\.weight$`);
  return [...tensors].flatMap(([name, tensor]) => {
    if (tensor.shape.length === 1) {
      return [{ name, dtype: 'F32', ...tensor }];
    }
    if (translates && name === 'wte.weight') {
      return quantiseRows(name, tensor, firstAttentionMetric(tensors));
    }
    if (last.test(name)) {
      return quantiseColumns(name, tensor);
    }
    if (translates) {
      return quantiseColumns(name, tensor, BLOCK);
    }
    return [{ name, dtype: 'F16', shape: tensor.shape, data: Uint16Array.from(tensor.data, toF16) }];
  });
}

const [from, to] = process.argv.slice(2);
if (!to) {
  console.error('node web/models/quantise.mjs FROM.safetensors TO.safetensors');
  process.exit(2);
}
const bytes = write(to, quantise(readF32(from)));
console.log(`${to}: ${bytes} bytes`);
