/** The numbers of tests/golden/streams.py, bit for bit: inputs that no file has to hold. */

/** Element i is mix(key + i · 0x9E3779B9), where the key is the FNV-1a hash of the name; uniform on 0..2³²-1. */
function integers(stream: string, count: number): Uint32Array {
  const key = keyOf(stream);
  return Uint32Array.from({ length: count }, (_, i) => mix(key + Math.imul(i, 0x9e3779b9)));
}

/** f32, uniform on [-amplitude, amplitude). */
export function uniform(stream: string, count: number, amplitude: number): Float32Array {
  return Float32Array.from(integers(stream, count), (x) => ((x >>> 8) * 2 ** -23 - 1) * amplitude);
}

/** A running source of random choices for one test configuration. */
export class Random {
  readonly #key: number;
  #at = 0;

  constructor(stream: string) {
    this.#key = keyOf(stream);
  }

  /** An integer, low..high inclusive. */
  between(low: number, high: number): number {
    return low + Math.floor(this.unit() * (high - low + 1));
  }

  /** True with this probability. */
  chance(probability: number): boolean {
    return this.unit() < probability;
  }

  pick<T>(values: readonly [T, ...T[]]): T {
    return values[this.between(0, values.length - 1)] ?? values[0];
  }

  /** Uniform on [0, 1). */
  unit(): number {
    return mix(this.#key + Math.imul(this.#at++, 0x9e3779b9)) / 2 ** 32;
  }
}

function keyOf(stream: string): number {
  let key = 0x811c9dc5;
  for (let i = 0; i < stream.length; i++) key = Math.imul(key ^ stream.charCodeAt(i), 0x01000193);
  return key >>> 0;
}

/** The finaliser of MurmurHash3. */
function mix(value: number): number {
  let x = value | 0;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}
