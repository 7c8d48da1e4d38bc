/** Numbers as people read them: two decimals, no leading zero for weights, a true minus sign. Pure. */

const minus = (text: string): string => text.replace('-', '−');

/** A weight or probability: `.62`, `1.0`, `<.01`; `0` only if it is exactly zero. */
export function formatWeight(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (value === 0) return '0';
  if (value > 0 && value < 0.005) return '<.01';
  if (value >= 0.995) return value.toFixed(1);
  return minus(value.toFixed(2).replace(/^(-?)0\./, '$1.'));
}

/** A score or an entropy: `2.19`, `−0.40`, `−∞`. */
export function formatNumber(value: number): string {
  if (value === Number.NEGATIVE_INFINITY) return '−∞';
  if (!Number.isFinite(value)) return '–';
  return minus(value.toFixed(2));
}

/** A change with its sign: `+.31`, `−.02`, `0`. */
export function formatChange(value: number): string {
  if (Math.abs(value) < 0.005) return '±0';
  return `${value > 0 ? '+' : '−'}${formatWeight(Math.abs(value))}`;
}

/** A tiny deviation in one digit: `2e-7`, `0`. */
export const formatTiny = (value: number): string => (value === 0 ? '0' : value.toExponential(0));

/** Milliseconds: `0.42`, `3.1`, `48`. */
export const formatMilliseconds = (value: number): string =>
  value < 1 ? value.toFixed(2) : value < 10 ? value.toFixed(1) : value.toFixed(0);

/** Megabytes, one decimal. */
export const formatMegabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);
