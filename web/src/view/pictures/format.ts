/** Numbers as people read them: two decimals, no leading zero for weights, a true minus sign. Pure. */

const MINUS = '−';
const NOT_A_NUMBER = '–';

const tidy = (text: string): string => text.replace(/^(-?)0\./, '$1.').replace('-', MINUS);

/** A weight or probability: `.62`, `1.00`, `0`; what would round to .00 is `<.01`. */
export function formatWeight(weight: number): string {
  if (!Number.isFinite(weight)) return NOT_A_NUMBER;
  if (weight === 0) return '0';
  if (weight > 0 && weight < 0.005) return '<.01';
  return tidy(weight.toFixed(2));
}

/** A change of weight with its sign: `+.31`, `−.02`, `0`; what would round to .00 is `±0`. */
export function formatChange(change: number): string {
  if (!Number.isFinite(change)) return NOT_A_NUMBER;
  if (change === 0) return '0';
  if (Math.abs(change) < 0.005) return '±0';
  return (change > 0 ? '+' : MINUS) + formatWeight(Math.abs(change));
}

/** A score or an entropy: `2.19`, `−0.40`; −Infinity, which a mask leaves, is `−∞`. */
export function formatNumber(value: number): string {
  if (value === Number.NEGATIVE_INFINITY) return `${MINUS}∞`;
  if (!Number.isFinite(value)) return NOT_A_NUMBER;
  return value
    .toFixed(2)
    .replace(/^-0\.00$/, '0.00')
    .replace('-', MINUS);
}

/** A tick of a scale: `.5`, `1`, `.001`, `−.2`. */
export function formatTick(value: number): string {
  return tidy(String(Number(value.toPrecision(3))));
}
