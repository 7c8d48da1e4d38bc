import { interpolateCividis, interpolateViridis } from 'd3-scale-chromatic';
import { describe, expect, it, test } from 'vitest';
import {
  closeDifferenceMax,
  colourOf,
  colourScale,
  differenceMax,
  LUT_SIZE,
  lookupTable,
  luminance,
  lutIndex,
  pixelToCss,
  roundMax,
  textColourOn,
  unpackPixel,
  weightMax,
} from '../../web/src/view/pictures/colour.js';

const sequential = ['cividis', 'viridis', 'grey'] as const;
const themes = ['light', 'dark'] as const;
const paper = { light: 1, dark: luminance(0xff1c1714) };

const contrast = (a: number, b: number) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);

const parse = (css: string): number[] => {
  const hex = /^#(..)(..)(..)$/.exec(css);
  return hex ? hex.slice(1).map((part) => Number.parseInt(part, 16)) : (css.match(/\d+/g) ?? []).map(Number);
};

/** What a viewer without red (protan) or green (deutan) cones sees; Machado et al. 2009, severity 1. */
const deficiencies = {
  protan: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
  deutan: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
};

function seenBy(matrix: readonly number[], pixel: number): number[] {
  const linear = unpackPixel(pixel).map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return [0, 1, 2].map((row) => [0, 1, 2].reduce((sum, i) => sum + (matrix[row * 3 + i] ?? 0) * (linear[i] ?? 0), 0));
}

describe('lookup tables', () => {
  it.each(themes)('sequential scales are monotone in lightness, from near the paper away from it (%s)', (theme) => {
    for (const palette of sequential) {
      const lights = Array.from(lookupTable(palette, theme), luminance);
      expect(lights).toHaveLength(LUT_SIZE);
      // A rounded colour may be a hair off; a fold in the scale is not a hair.
      const direction = theme === 'light' ? -1 : 1;
      for (let i = 1; i < LUT_SIZE; i++) {
        expect(direction * ((lights[i] as number) - (lights[i - 1] as number))).toBeGreaterThan(-0.004);
      }
      expect(contrast(lights[0] as number, paper[theme])).toBeLessThan(1.5);
      expect(contrast(lights[LUT_SIZE - 1] as number, paper[theme])).toBeGreaterThan(9);
    }
  });

  it('follow the published palettes above the fade into the paper', () => {
    const published = { cividis: interpolateCividis, viridis: interpolateViridis };
    for (const [name, scale] of Object.entries(published)) {
      for (const theme of themes) {
        for (const t of [0.4, 0.55, 0.7, 0.85, 1]) {
          const entry = Math.round(t * (LUT_SIZE - 1));
          const ours = unpackPixel(lookupTable(name as 'cividis', theme)[entry] as number);
          const theirs = parse(scale(theme === 'light' ? 1 - entry / 255 : entry / 255));
          for (const i of [0, 1, 2]) expect(Math.abs((ours[i] ?? 0) - (theirs[i] ?? 0))).toBeLessThanOrEqual(2);
        }
      }
    }
  });

  it.each(themes)('differences fade into the paper at 0 and keep their ends apart for every viewer (%s)', (theme) => {
    const table = lookupTable('difference', theme);
    expect(contrast(luminance(table[128] as number), paper[theme])).toBeLessThan(1.5);
    for (const end of [0, LUT_SIZE - 1]) {
      expect(contrast(luminance(table[end] as number), luminance(table[128] as number))).toBeGreaterThan(5);
    }
    for (const matrix of Object.values(deficiencies)) {
      const [less, more] = [seenBy(matrix, table[48] as number), seenBy(matrix, table[208] as number)];
      const distance = Math.hypot(...less.map((part, i) => part - (more[i] ?? 0)));
      expect(distance).toBeGreaterThan(0.25);
      expect((less[2] ?? 0) < (more[2] ?? 0)).toBe(true);
    }
  });

  it('text on any entry has a contrast of at least 4.5', () => {
    for (const name of [...sequential, 'difference'] as const) {
      for (const theme of themes) {
        for (const pixel of lookupTable(name, theme)) {
          const text = textColourOn(pixel) === '#000000' ? 0 : 1;
          expect(contrast(luminance(pixel), text)).toBeGreaterThanOrEqual(4.5);
        }
      }
    }
  });
});

describe('scales', () => {
  const scale = (options: object) =>
    colourScale({ kind: 'sequential', max: 1, palette: 'grey', type: 'linear', theme: 'light', ...options });

  it('take their ends at and beyond the ends of their domain', () => {
    const half = scale({ max: 0.5 });
    expect([-1, 0, 0.25, 0.5, 1].map((value) => lutIndex(half, value))).toEqual([0, 0, 128, 255, 255]);
    const difference = scale({ kind: 'diverging', max: 0.2 });
    expect([-1, -0.2, 0, 0.1, 0.2, 1].map((value) => lutIndex(difference, value))).toEqual([0, 0, 128, 192, 255, 255]);
    expect(lutIndex(half, Number.NaN)).toBe(0);
  });

  it('spread three decades when logarithmic', () => {
    const log = scale({ type: 'log' });
    expect([0, 1e-4, 1e-3, 1].map((value) => lutIndex(log, value))).toEqual([0, 0, 0, 255]);
    const third = LUT_SIZE / 3;
    expect(Math.abs(lutIndex(log, 0.01) - third)).toBeLessThanOrEqual(1);
    expect(Math.abs(lutIndex(log, 0.1) - 2 * third)).toBeLessThanOrEqual(1);
  });

  it('refuse a top that is not above 0', () => {
    for (const max of [0, -1, Number.NaN]) expect(() => scale({ max })).toThrow(RangeError);
  });

  it('give colours as CSS', () => {
    expect(pixelToCss(colourOf(scale({}), 1))).toBe('#0c0c0c');
  });
});

describe('tops of scales', () => {
  it('are round, at or above the largest value', () => {
    expect([0, 0.004, 0.01, 0.011, 0.1, 0.3, 0.5, 0.6, 1].map(roundMax)).toEqual([
      0.01, 0.01, 0.01, 0.02, 0.1, 0.5, 0.5, 1, 1,
    ]);
    expect(weightMax(Float32Array.of(0.05, 0.1, 0.02))).toBe(0.1);
    expect(differenceMax(Float32Array.of(0.5, 0.1), Float32Array.of(0.5, 0.4))).toBe(0.5);
  });

  it('refuse maps of different sizes', () => {
    expect(() => differenceMax(new Float32Array(4), new Float32Array(9))).toThrow('4 weights, 9 before');
  });
});

test.each([
  [0.3, 0.3],
  [0.31, 0.4],
  [0.96, 1],
  [1, 1],
  [0.0123, 0.02],
  [0.00051, 0.0006],
])('thumbnails of differences up to %f go to %f', (change, top) => {
  expect(closeDifferenceMax(Float32Array.of(0.5, 0), Float32Array.of(0.5, change))).toBe(top);
});
