/** The shipped readers of digits, and how ink becomes a picture. */
import fc from 'fast-check';
import { digits, gridSide, patchesOf, pictureSide, samples } from 'multihead/models/digits';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { centred, drawStroke, readSamples } from '../../web/src/view/digits/ink.js';
import { DigitReader, type ReaderName } from '../../web/src/view/digits/reader.js';

const blank = new Float32Array(pictureSide ** 2);
const written = readSamples(samples);

describe.each(Object.keys(digits) as ReaderName[])('%s', (name) => {
  let reader: DigitReader;

  beforeAll(async () => {
    reader = await DigitReader.load(name);
  });
  afterAll(() => reader?.dispose());

  test('reads ten written digits, and says so with weights that sum to 1', () => {
    expect(written).toHaveLength(10);
    const read = written.map((picture) => {
      const { probabilities } = reader.read(picture);
      expect(probabilities.reduce((sum, value) => sum + value, 0)).toBeCloseTo(1, 5);
      return probabilities.indexOf(Math.max(...probabilities));
    });
    expect(read).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test('every row of every head sums to 1, and sees its own window alone', () => {
    const { attention } = reader.read(written[3] as Float32Array);
    const { places, layers, heads } = reader;
    expect(attention).toHaveLength(layers * heads * places ** 2);
    let seen = 0;
    for (let row = 0; row < layers * heads * places; row++) {
      const weights = attention.subarray(row * places, (row + 1) * places);
      expect(weights.reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 4);
      const windows = reader.windows(Math.floor(row / (heads * places)));
      if (!windows) continue;
      weights.forEach((weight, key) => {
        if (windows[key] === windows[row % places]) seen++;
        else expect(weight).toBe(0);
      });
    }
    expect(seen > 0).toBe(name === 'windowed');
  });

  test('a blank picture, and one all ink, are read too', () => {
    for (const picture of [blank, blank.map(() => 1)]) {
      expect(reader.read(picture).probabilities.every(Number.isFinite)).toBe(true);
    }
  });
});

test('windows of the twin: squares of 4 x 4, and shifted by 2 those of the same squares cut at the border', () => {
  const sizes = digits.windowed.layerMasks.map(({ keyBlocks }) => {
    const counts = new Map<number, number>();
    for (const block of keyBlocks) counts.set(block, (counts.get(block) ?? 0) + 1);
    return [...counts.values()].sort((a, b) => a - b);
  });
  const shifted = [4, 4, 4, 4, 8, 8, 8, 8, 16];
  expect(sizes).toEqual([[16, 16, 16, 16], shifted, [16, 16, 16, 16], shifted]);
});

test('patches hold the picture and an empty border: every pixel once', () => {
  const picture = Float32Array.from({ length: pictureSide ** 2 }, (_, i) => i + 1);
  const patches = patchesOf(picture);
  expect(patches).toHaveLength(gridSide ** 2 * 16);
  expect([...patches].filter((value) => value > 0).sort((a, b) => a - b)).toEqual([...picture]);
  // The first pixel of the picture is the last of the first patch's third row, two pixels in.
  expect(patches[2 * 4 + 2]).toBe(1);
  expect(() => patchesOf(new Float32Array(10))).toThrow('28 x 28');
});

test('ink: a stroke adds, never takes away, and a digit in a corner comes to the middle', () => {
  const point = fc.record({
    x: fc.double({ min: -5, max: 33, noNaN: true }),
    y: fc.double({ min: -5, max: 33, noNaN: true }),
  });
  fc.assert(
    fc.property(point, point, (from, to) => {
      const before = written[2] as Float32Array;
      const after = drawStroke(before, from, to);
      return after.every((ink, i) => ink >= (before[i] ?? 0) && ink <= 1);
    }),
    { numRuns: 30 },
  );
  const corner = drawStroke(blank, { x: 3, y: 3 }, { x: 3, y: 9 });
  const middle = centred(corner);
  const mean = (picture: Float32Array, of: (i: number) => number) =>
    picture.reduce((sum, ink, i) => sum + ink * of(i), 0) / picture.reduce((sum, ink) => sum + ink, 0);
  expect(mean(middle, (i) => i % pictureSide)).toBeCloseTo(13.5, 0);
  expect(mean(middle, (i) => Math.floor(i / pictureSide))).toBeCloseTo(13.5, 0);
  expect(centred(blank)).toEqual(blank);
});
