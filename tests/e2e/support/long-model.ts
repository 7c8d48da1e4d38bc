/** A model that takes thousands of tokens: the shipped one, with positions drawn at random in place of its own. */
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';

const shipped = 'web/models/bilingual';

interface TensorEntry {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data_offsets: readonly [number, number];
}

/** Writes the files of the model into a folder. */
export async function writeLongModel(folder: string, positions: number): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const name of ['tokenizer.json', 'tokenizer_config.json']) await cp(`${shipped}/${name}`, `${folder}/${name}`);
  const config = JSON.parse(await readFile(`${shipped}/config.json`, 'utf8'));
  await writeFile(`${folder}/config.json`, JSON.stringify({ ...config, n_positions: positions, n_ctx: positions }));
  const weights = await readFile(`${shipped}/model.safetensors`);
  await writeFile(`${folder}/model.safetensors`, withPositions(weights, positions, config.n_embd));
}

/** A safetensors file with another table of positions in place of its own, as f16 of ± 1/32…1/16. */
function withPositions(file: Buffer, positions: number, width: number): Buffer {
  const headerEnd = 8 + Number(file.readBigUInt64LE(0));
  const header: Record<string, TensorEntry> = JSON.parse(file.subarray(8, headerEnd).toString('utf8'));
  const table = new Uint16Array(positions * width);
  let seed = 1;
  for (let i = 0; i < table.length; i++) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    // Sign, exponent −5, and ten bits of the mantissa.
    table[i] = ((seed >>> 31) << 15) | (10 << 10) | ((seed >>> 12) & 1023);
  }
  const parts: Buffer[] = [];
  let end = 0;
  const entries = Object.entries(header)
    .filter(([name]) => name !== '__metadata__')
    .sort(([, a], [, b]) => a.data_offsets[0] - b.data_offsets[0]);
  for (const [name, entry] of entries) {
    const own = name === 'wpe.weight';
    const [from, to] = entry.data_offsets;
    const part = own ? Buffer.from(table.buffer) : file.subarray(headerEnd + from, headerEnd + to);
    const changed = own ? { dtype: 'F16', shape: [positions, width] } : {};
    header[name] = { ...entry, ...changed, data_offsets: [end, end + part.length] };
    parts.push(part);
    end += part.length;
  }
  const json = Buffer.from(JSON.stringify(header));
  const padded = Buffer.concat([json, Buffer.alloc((8 - (json.length % 8)) % 8, ' ')]);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(padded.length));
  return Buffer.concat([length, padded, ...parts]);
}
