/** How far results are from what they should be. */

/** The largest |actual - expected|; Infinity if the lengths differ or `actual` has a NaN. */
export function maxError(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  if (actual.length !== expected.length) return Number.POSITIVE_INFINITY;
  let worst = 0;
  for (let i = 0; i < expected.length; i++) {
    const [a, e] = [actual[i] ?? Number.NaN, expected[i] ?? Number.NaN];
    const difference = a === e ? 0 : Math.abs(a - e);
    if (!(difference <= worst)) worst = Number.isNaN(difference) ? Number.POSITIVE_INFINITY : difference;
  }
  return worst;
}

/** The same bits, -0 and NaN included. */
export function sameBits(a: Float32Array, b: Float32Array): boolean {
  const bytes = ({ buffer, byteOffset, byteLength }: Float32Array) => Buffer.from(buffer, byteOffset, byteLength);
  return bytes(a).equals(bytes(b));
}

/** Keeps the largest error of many comparisons, and what made it. */
export class Worst {
  error = 0;
  of = 'nothing';
  count = 0;

  note(of: string, error: number): void {
    this.count++;
    if (error > this.error) {
      this.error = error;
      this.of = of;
    }
  }

  toString(): string {
    return `${this.count} comparisons, largest error ${this.error.toExponential(2)} (${this.of})`;
  }
}
