/**
 * Colour scales of the pictures: 256-entry tables of packed pixels, and the text colour that reads on each entry.
 * The stops are in luts.gen.ts; make-luts.mjs tells how they were chosen.
 */
import { STOPS } from './luts.gen.js';
import type { MapPicture, Palette, ScaleType } from './types.js';

export type Theme = 'light' | 'dark';
export type ScaleKind = 'sequential' | 'diverging';

/** Entries of a lookup table. */
export const LUT_SIZE = 256;
/** A log scale spans this many decades below its maximum; what is smaller takes the lowest colour. */
export const LOG_DECADES = 3;

export interface ColourScale {
  readonly kind: ScaleKind;
  readonly type: ScaleType;
  /** Value of the last entry; a diverging scale begins at −max, the others at 0. */
  readonly max: number;
  /** Pixels as they lie in an ImageData read through a Uint32Array: 0xAABBGGRR. */
  readonly lut: Uint32Array;
}

/** Settings that choose a scale. */
export interface ScaleOptions {
  readonly kind: ScaleKind;
  readonly max: number;
  readonly palette: Palette;
  readonly type: ScaleType;
  readonly theme: Theme;
}

const tables = new Map<string, Uint32Array>();

/** The lookup table of a palette, or of differences; made once. */
export function lookupTable(name: Palette | 'difference', theme: Theme): Uint32Array {
  const key = `${name}${theme === 'light' ? 'Light' : 'Dark'}` as keyof typeof STOPS;
  const made = tables.get(key);
  if (made) return made;
  const table = interpolateStops(STOPS[key]);
  tables.set(key, table);
  return table;
}

/** 256 packed pixels between stops written as rrggbb, linear in RGB. */
function interpolateStops(stops: string): Uint32Array {
  const last = stops.length / 6 - 1;
  const channel = (stop: number, at: number) => Number.parseInt(stops.slice(stop * 6 + at, stop * 6 + at + 2), 16);
  return Uint32Array.from({ length: LUT_SIZE }, (_, i) => {
    const position = (i / (LUT_SIZE - 1)) * last;
    const low = Math.min(Math.floor(position), last - 1);
    const mix = (at: number) =>
      Math.round(channel(low, at) + (position - low) * (channel(low + 1, at) - channel(low, at)));
    return packPixel(mix(0), mix(2), mix(4));
  });
}

const packPixel = (red: number, green: number, blue: number) => (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0;

/** Red, green and blue, 0…255, of a packed pixel. */
export function unpackPixel(pixel: number): [red: number, green: number, blue: number] {
  return [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255];
}

/** A packed pixel as CSS, `#rrggbb`. */
export function pixelToCss(pixel: number): string {
  return `#${unpackPixel(pixel)
    .map((part) => part.toString(16).padStart(2, '0'))
    .join('')}`;
}

export function colourScale({ kind, max, palette, type, theme }: ScaleOptions): ColourScale {
  if (!(max > 0)) throw new RangeError(`The top of a colour scale must be above 0, not ${max}`);
  const lut = lookupTable(kind === 'diverging' ? 'difference' : palette, theme);
  return { kind, type: kind === 'diverging' ? 'linear' : type, max, lut };
}

/** The scale a map is drawn with: sequential up to its `max`, or diverging over the range of its differences. */
export function pictureScale(picture: MapPicture, theme: Theme): ColourScale {
  const { weights, baseline, max, palette, scaleType: type } = picture;
  if (!baseline) return colourScale({ kind: 'sequential', max, palette, type, theme });
  return colourScale({ kind: 'diverging', max: differenceMax(weights, baseline), palette, type, theme });
}

/** Table entry, 0…255, of a value. Values outside the scale take its ends; NaN takes entry 0. */
export function lutIndex(scale: ColourScale, value: number): number {
  const { kind, type, max } = scale;
  let share: number;
  if (kind === 'diverging') share = 0.5 + value / (2 * max);
  else if (type === 'log') share = 1 + Math.log10(value / max) / LOG_DECADES;
  else share = value / max;
  return share > 0 ? Math.min(LUT_SIZE - 1, (share * LUT_SIZE) | 0) : 0;
}

/** Packed pixel of a value. */
export function colourOf(scale: ColourScale, value: number): number {
  return scale.lut[lutIndex(scale, value)] as number;
}

/** Black or white, whichever reads better on a pixel (WCAG relative luminance; 0.179 is where their contrasts meet). */
export function textColourOn(pixel: number): '#000000' | '#ffffff' {
  return luminance(pixel) > 0.179 ? '#000000' : '#ffffff';
}

/** WCAG 2 relative luminance, 0…1, of a packed pixel. */
export function luminance(pixel: number): number {
  const [red, green, blue] = unpackPixel(pixel).map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

const ROUND_MAXIMA = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1];

/** The round number at or above a value that a scale should end with: one of .01 .02 .05 .1 .2 .5 1. */
export function roundMax(value: number): number {
  // Weights are f32: 0.1f is a hair above 0.1 and must not jump to 0.2.
  return ROUND_MAXIMA.find((round) => value <= round * (1 + 1e-6)) ?? 1;
}

/** A round top for the sequential scale of one or many maps of weights. */
export function weightMax(weights: Float32Array): number {
  let max = 0;
  for (const weight of weights) if (weight > max) max = weight;
  return roundMax(max);
}

/** A round top for the diverging scale of `weights − baseline`. */
export const differenceMax = (weights: Float32Array, baseline: Float32Array): number =>
  roundMax(largestChange(weights, baseline));

/** The largest |weights − baseline|, rounded up to one digit: nearer to the data than `roundMax`, for small pictures. */
export function closeDifferenceMax(weights: Float32Array, baseline: Float32Array): number {
  const change = largestChange(weights, baseline);
  if (change === 0) return 1;
  const digit = 10 ** Math.floor(Math.log10(change) + 1e-6);
  // Weights are f32: 0.3f is a hair above 0.3 and must not become 0.4.
  return Number((Math.ceil(change / digit - 1e-5) * digit).toPrecision(1));
}

function largestChange(weights: Float32Array, baseline: Float32Array): number {
  if (weights.length !== baseline.length) {
    throw new RangeError(`A difference needs maps of one size: ${weights.length} weights, ${baseline.length} before`);
  }
  let max = 0;
  for (let i = 0; i < weights.length; i++) {
    const difference = Math.abs((weights[i] as number) - (baseline[i] as number));
    if (difference > max) max = difference;
  }
  return max;
}
