/** Reads digits: loads a classifier of pictures, and says for a picture what it is and what every head looked at. */
import { digits, patchesOf } from 'multihead/models/digits';
import { readFile } from '../../core/assets.js';
import { Trainer } from '../../train/index.js';

export type ReaderName = keyof typeof digits;

export interface Reading {
  /** [L, H, T, T]; with a class token, T counts it as place 0. */
  readonly attention: Float32Array;
  /** [L, H], 0 to 1: normalised by the log of the keys that each row sees. */
  readonly entropies: Float32Array;
  /** [10] */
  readonly probabilities: Float32Array;
  readonly milliseconds: number;
}

export class DigitReader {
  readonly #trainer: Trainer;
  readonly #name: ReaderName;

  private constructor(name: ReaderName, trainer: Trainer) {
    this.#name = name;
    this.#trainer = trainer;
  }

  /** @throws {MultiheadError} if the weights or the engine cannot be loaded. */
  static async load(name: ReaderName): Promise<DigitReader> {
    const { network, weights } = digits[name];
    const [trainer, file] = await Promise.all([Trainer.create(network), readFile(weights, { code: 'model-fetch' })]);
    trainer.load(file);
    return new DigitReader(name, trainer);
  }

  get layers(): number {
    return this.#trainer.network.layers;
  }

  get heads(): number {
    return this.#trainer.network.heads;
  }

  /** Places of a map: the patches, after a class token if there is one. */
  get places(): number {
    return this.#trainer.network.positions;
  }

  get hasClassToken(): boolean {
    return this.#trainer.network.classToken;
  }

  get build(): string {
    return this.#trainer.engine.build;
  }

  /** The window of each patch in a layer; null: every patch sees every other. */
  windows(layer: number): readonly number[] | null {
    return digits[this.#name].layerMasks?.[layer]?.keyBlocks ?? null;
  }

  /** Reads a picture [28, 28] of ink from 0 to 1. */
  read(picture: Float32Array): Reading {
    const { layerMasks } = digits[this.#name];
    const start = performance.now();
    const probe = this.#trainer.probe(
      { patches: patchesOf(picture), ...(layerMasks && { layerMasks }) },
      { logits: true },
    );
    const milliseconds = performance.now() - start;
    return {
      attention: probe.attention,
      entropies: this.#entropies(probe.headStatistics),
      probabilities: softmax(probe.logits ?? new Float32Array(10)),
      milliseconds,
    };
  }

  #entropies(statistics: Float32Array): Float32Array {
    const names = this.#trainer.engine.statisticNames.head;
    const at = names.indexOf('entropyNormalised');
    return Float32Array.from(
      { length: this.layers * this.heads },
      (_, head) => statistics[head * names.length + at] ?? 0,
    );
  }

  dispose(): void {
    this.#trainer.dispose();
  }
}

function softmax(logits: Float32Array): Float32Array {
  const most = Math.max(...logits);
  const powers = logits.map((logit) => Math.exp(logit - most));
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
}
