/** Reads the safetensors files of the tests: what is needed of the format, without our own C reader. */
import { readFileSync } from 'node:fs';

export interface StoredTensor {
  readonly shape: readonly number[];
  readonly data: Float32Array | Int32Array | Uint8Array;
}

interface Entry {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data_offsets: readonly [number, number];
}

export function readSafetensors(path: string | URL): ReadonlyMap<string, StoredTensor> {
  const file = readFileSync(path);
  const headerBytes = Number(file.readBigUInt64LE(0));
  const header = JSON.parse(file.toString('utf8', 8, 8 + headerBytes)) as Record<string, Entry>;
  const tensors = new Map<string, StoredTensor>();
  for (const [name, entry] of Object.entries(header)) {
    if (name === '__metadata__') continue;
    const [begin, end] = entry.data_offsets.map((offset) => offset + 8 + headerBytes) as [number, number];
    // A copy, so that the typed array is aligned.
    const bytes = new Uint8Array(file.subarray(begin, end));
    tensors.set(name, { shape: entry.shape, data: elements(entry.dtype, bytes, name) });
  }
  return tensors;
}

function elements(dtype: string, bytes: Uint8Array<ArrayBuffer>, name: string): StoredTensor['data'] {
  if (dtype === 'F32') return new Float32Array(bytes.buffer);
  if (dtype === 'I32') return new Int32Array(bytes.buffer);
  if (dtype === 'U8') return bytes;
  throw new Error(`${name}: the tests read no ${dtype}`);
}
