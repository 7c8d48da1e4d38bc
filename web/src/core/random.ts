/** Seeded random numbers, to initialise weights: the same seed gives the same weights on every host. */

/** Numbers in [0, 1) from a 32-bit counter and a mixing function (splitmix32: the finaliser of MurmurHash3). */
export function uniform(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let x = state;
    x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
    x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
    return ((x ^ (x >>> 16)) >>> 0) / 2 ** 32;
  };
}

/** `length` values, uniform in [-bound, bound). */
export function uniformValues(random: () => number, length: number, bound: number): Float32Array {
  return Float32Array.from({ length }, () => (2 * random() - 1) * bound);
}

/** `length` values of a normal distribution with mean 0 (Box and Muller 1958). */
export function normalValues(random: () => number, length: number, deviation: number): Float32Array {
  return Float32Array.from({ length }, () => {
    const radius = Math.sqrt(-2 * Math.log(1 - random()));
    return deviation * radius * Math.cos(2 * Math.PI * random());
  });
}
