/** Numbers of the proof panel and of loading, in words. Pure. */

/** A tiny deviation in one digit: `2e-7`, `0`. */
export const formatTiny = (value: number): string => (value === 0 ? '0' : value.toExponential(0));

/** A bound of an error, two digits: `.0073`. */
export const formatError = (value: number): string => value.toPrecision(2).replace(/^0\./, '.');

/** A factor, four digits at most: `0.25`, `0.1768`. */
export const formatFactor = (value: number): string => String(Number(value.toPrecision(4))).replace('-', '−');

/** Milliseconds: `0.42`, `3.1`, `48`. */
export const formatMilliseconds = (value: number): string =>
  value < 1 ? value.toFixed(2) : value < 10 ? value.toFixed(1) : value.toFixed(0);

/** Megabytes, one decimal. */
export const formatMegabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);
