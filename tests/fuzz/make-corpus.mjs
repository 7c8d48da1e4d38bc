// Writes the seeds of fuzz_safetensors: small models of its config, one for each way of storing a matrix.
//
//     node tests/fuzz/make-corpus.mjs
import { mkdirSync, writeFileSync } from 'node:fs';

const FOLDER = new URL('./corpus/safetensors/', import.meta.url);
const E = 4;
const F = 3;
const KEYS = 2;
const SHAPES = {
  'wte.weight': [5, E],
  'wpe.weight': [3, E],
  'h.0.ln_1.weight': [E],
  'h.0.ln_1.bias': [E],
  'h.0.attn.c_attn.weight': [E, E + 2 * KEYS],
  'h.0.attn.c_attn.bias': [E + 2 * KEYS],
  'h.0.attn.c_proj.weight': [E, E],
  'h.0.attn.c_proj.bias': [E],
  'h.0.ln_2.weight': [E],
  'h.0.ln_2.bias': [E],
  'h.0.mlp.c_fc.weight': [E, F],
  'h.0.mlp.c_fc.bias': [F],
  'h.0.mlp.c_proj.weight': [F, E],
  'h.0.mlp.c_proj.bias': [E],
  'ln_f.weight': [E],
  'ln_f.bias': [E],
};

// Bytes of 1, -0.5, 1, -0.5, … in each dtype.
const VALUES = {
  F32: [0x00, 0x00, 0x80, 0x3f, 0x00, 0x00, 0x00, 0xbf],
  F16: [0x00, 0x3c, 0x00, 0xb8],
  BF16: [0x80, 0x3f, 0x00, 0xbf],
  I8: [0x02, 0xff],
};

function repeat(bytes, length) {
  return Uint8Array.from({ length }, (_, i) => bytes[i % bytes.length]);
}

/** Tensors as [name, dtype, shape] in the order of their data. */
function safetensors(tensors, prefix, metadata) {
  const header = metadata ? { __metadata__: { format: 'pt' } } : {};
  const data = [];
  let offset = 0;
  for (const [name, dtype, shape] of tensors) {
    const count = shape.reduce((product, size) => product * size, 1);
    const bytes = repeat(VALUES[dtype], (count * VALUES[dtype].length) / 2);
    header[prefix + name] = { dtype, shape, data_offsets: [offset, offset + bytes.length] };
    offset += bytes.length;
    data.push(bytes);
  }
  const json = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  return Buffer.concat([length, json, ...data]);
}

/** Every matrix in `dtype`, the vectors in F32; `scaleShape` gives the shape of an I8 matrix's scales. */
function model(dtype, scaleShape, scaleDtype = 'F32') {
  return Object.entries(SHAPES).flatMap(([name, shape]) => {
    if (shape.length === 1) {
      return [[name, 'F32', shape]];
    }
    const matrix = [name, dtype, shape];
    return dtype === 'I8' ? [matrix, [`${name}.scale`, scaleDtype, scaleShape(shape)]] : [matrix];
  });
}

mkdirSync(FOLDER, { recursive: true });
const write = (name, bytes) => writeFileSync(new URL(name, FOLDER), bytes);
write('empty', safetensors([], '', false));
write('f32', safetensors(model('F32'), '', true));
write('f16', safetensors(model('F16'), 'transformer.', false));
write('bf16', safetensors(model('BF16'), '', false));
write(
  'i8-rows',
  safetensors(
    model('I8', ([rows]) => [rows]),
    '',
    false,
  ),
);
write(
  'i8-columns',
  safetensors(
    model('I8', ([, columns]) => [1, columns]),
    '',
    true,
  ),
);
write(
  'i8-blocks',
  safetensors(
    model('I8', ([rows, columns]) => [rows, columns % 2 === 0 ? columns / 2 : 1], 'F16'),
    'transformer.',
    false,
  ),
);
