/** The cases of tests/golden/attention: their settings, their inputs made anew, and what PyTorch gave. */
import { readFileSync } from 'node:fs';
import { bilingual } from '../../web/models/bilingual/index.js';
import type { BoolTensor, Tensor } from '../../web/src/core/types.js';
import { readSafetensors, type StoredTensor } from './safetensors.js';
import { uniform } from './streams.js';

export const GOLDEN = new URL('../golden/', import.meta.url);

/** The default model with the weights it was trained to, not those that are stored in fewer bits. */
export const bilingualF32 = {
  ...bilingual,
  name: 'bilingual in F32',
  weights: new URL('bilingual/model.safetensors', GOLDEN),
};

/** One line of cases.txt, with its tensors. */
export class GoldenCase {
  readonly name: string;
  readonly kind: string;
  readonly #settings: ReadonlyMap<string, string>;
  readonly #values: ReadonlyMap<string, StoredTensor>;

  constructor(line: string, values: ReadonlyMap<string, StoredTensor>) {
    const [name = '', ...words] = line.split(' ');
    this.name = name;
    this.kind = name.replace(/-\d+$/, '');
    this.#settings = new Map(words.map((word) => word.split('=') as [string, string]));
    this.#values = values;
  }

  word(setting: string): string {
    const word = this.#settings.get(setting);
    if (word === undefined) throw new Error(`${this.name} has no setting ${setting}`);
    return word;
  }

  number(setting: string): number {
    return Number(this.word(setting));
  }

  flag(setting: string): boolean {
    return this.number(setting) !== 0;
  }

  /** What PyTorch gave; undefined where the case did not ask for it. */
  recorded(name: string): Tensor | undefined {
    return this.#values.get(`${this.name}/${name}`) as Tensor | undefined;
  }

  /** A stored mask: 1 hides. */
  hidden(name: string): BoolTensor {
    const stored = this.#values.get(`${this.name}/${name}`);
    if (stored === undefined) throw new Error(`${this.name} has no ${name}`);
    return stored as BoolTensor;
  }

  input(name: string, shape: readonly number[], amplitude: number): Tensor {
    const count = shape.reduce((product, size) => product * size, 1);
    return { shape, data: uniform(`${this.name}/${name}`, count, amplitude) };
  }

  /** An additive mask: numbers where the stored one shows, -Infinity where it hides. */
  additive(name: string, hidden: BoolTensor): Tensor {
    const mask = this.input(name, hidden.shape, 2);
    return {
      shape: mask.shape,
      data: mask.data.map((value, i) => (hidden.data[i] ? Number.NEGATIVE_INFINITY : value)),
    };
  }
}

export function readGoldenCases(): readonly GoldenCase[] {
  const values = readSafetensors(new URL('attention/values.safetensors', GOLDEN));
  const lines = readFileSync(new URL('attention/cases.txt', GOLDEN), 'utf8').split('\n');
  return lines.filter((line) => line !== '' && !line.startsWith('#')).map((line) => new GoldenCase(line, values));
}
