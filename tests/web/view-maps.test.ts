import { describe, expect, it } from 'vitest';
import { drawer, pointedCell, shownRow } from '../../web/src/view/drawing.js';
import { headEntropies, rowSumDeviation, shownMaps, tokenProbability } from '../../web/src/view/maps.js';
import { paint } from '../../web/src/view/mask.js';
import type { Answer } from '../../web/src/view/session.js';
import { defaultState, type LensState, runOptions, uneditedState } from '../../web/src/view/state.js';
import { mockInfo, mockModel } from './view-mock-model.js';

const size = 6;
const text = 'a b c d e';

async function answerFor(part: Partial<LensState> = {}): Promise<Answer> {
  const state = { ...defaultState, text, query: null, ...part };
  const model = mockModel();
  const result = await model.run(text, runOptions(state, size, mockInfo));
  const baseline = await model.run(text, runOptions(uneditedState(state), size, mockInfo));
  return { state, result, baseline, roundingError: null, arrived: 0 };
}

const rowOf = (data: Float32Array | Uint8Array, row: number) => [...data.subarray(row * size, (row + 1) * size)];

describe('shown maps', () => {
  it('of one head are the engine’s own numbers', async () => {
    const answer = await answerFor();
    const [map] = shownMaps(answer, { heads: [{ layer: 2, head: 3 }], combine: 'average', unit: 'bits' });
    const start = (2 * 8 + 3) * size * size;
    expect(map?.weights).toEqual(answer.result.attention.subarray(start, start + size * size));
    expect(map?.scores).toEqual(answer.result.scores?.subarray(start, start + size * size));
    expect(map?.rowEntropy.max).toBe(Math.log2(size));
    expect(map && rowOf(map.visible, 2)).toEqual([1, 1, 1, 0, 0, 0]);
  });

  it('of several heads are their mean, with the entropy of the mean', async () => {
    const answer = await answerFor({ temperature: 2 });
    const heads = [
      { layer: 0, head: 1 },
      { layer: 3, head: 7 },
    ];
    const single = shownMaps(answer, { heads, combine: 'side', unit: 'nats' });
    expect(single.map((map) => map.heads)).toEqual([[heads[0]], [heads[1]]]);
    const [mean] = shownMaps(answer, { heads, combine: 'average', unit: 'nats' });
    expect(mean?.heads).toEqual(heads);
    expect(mean?.scores).toBeNull();
    const weights = rowOf(mean?.weights ?? new Float32Array(), 4);
    weights.forEach((weight, key) => {
      const [a, b] = single.map((map) => map.weights[4 * size + key] ?? 0);
      expect(weight).toBeCloseTo(((a ?? 0) + (b ?? 0)) / 2, 6);
    });
    const entropy = -weights.reduce((sum, weight) => sum + (weight > 0 ? weight * Math.log(weight) : 0), 0);
    expect(mean?.rowEntropy.values[4]).toBeCloseTo(entropy, 5);
    const [normalised] = shownMaps(answer, { heads, combine: 'average', unit: 'normalised' });
    expect(normalised?.rowEntropy.values[4]).toBeCloseTo(entropy / Math.log(5), 5);
    expect(normalised?.rowEntropy.values[0]).toBe(0);
  });

  it('know what an edit hid', async () => {
    const mask = paint(defaultState.mask, [{ query: 3, key: 1 }], true, ['1.0']);
    const answer = await answerFor({ mask });
    const at = { combine: 'average', unit: 'nats' } as const;
    const [edited] = shownMaps(answer, { heads: [{ layer: 1, head: 0 }], ...at });
    expect(edited && rowOf(edited.visible, 3)).toEqual([1, 0, 1, 1, 0, 0]);
    expect(edited && rowOf(edited.everVisible, 3)).toEqual([1, 1, 1, 1, 0, 0]);
    expect(edited?.weights[3 * size + 1]).toBe(0);
    expect(edited?.baseline?.[3 * size + 1]).toBeGreaterThan(0);
    const [other] = shownMaps(answer, { heads: [{ layer: 1, head: 1 }], ...at });
    expect(other && rowOf(other.visible, 3)).toEqual([1, 1, 1, 1, 0, 0]);
  });
});

describe('numbers of a result', () => {
  it('head entropies are columns of the engine’s statistics', async () => {
    const { result } = await answerFor();
    const { values, max } = headEntropies(result, 'nats');
    expect(values).toHaveLength(32);
    expect(values[5]).toBe(result.headStatistics[5 * result.statisticNames.head.length]);
    expect(max).toBe(Math.log(size));
  });

  it('row sums are off by what is off', async () => {
    const { result } = await answerFor();
    expect(rowSumDeviation(result)).toBeLessThan(1e-6);
    const attention = result.attention.slice();
    attention[size] = (attention[size] ?? 0) + 0.25;
    expect(rowSumDeviation({ ...result, attention })).toBeCloseTo(0.25, 5);
    attention[size] = Number.NaN;
    expect(rowSumDeviation({ ...result, attention })).toBeNaN();
  });

  it('empty rows are as many as the engine says saw no key', async () => {
    const mask = { ...defaultState.mask, padding: [0, 1, 2] };
    const { result } = await answerFor({ mask });
    expect(result.maskedRows).toBe(3 * 4 * 8);
    expect(rowSumDeviation(result)).toBeLessThan(1e-6);
    const attention = result.attention.slice();
    attention.fill(0, 5 * size, 6 * size);
    expect(rowSumDeviation({ ...result, attention })).toBe(1);
    expect(rowSumDeviation({ ...result, maskedRows: 0 })).toBe(1);
  });

  it('probabilities are the softmax of the logits', async () => {
    const { result } = await answerFor();
    const logits = Float32Array.of(1, 2, 3);
    expect(tokenProbability({ ...result, logits, logitPositions: [5] }, 2)).toBeCloseTo(0.66524, 5);
    expect(tokenProbability({ ...result, logitPositions: [] }, 2)).toBeNull();
  });
});

describe('a drawing', () => {
  it('is made once for what matters to it', async () => {
    const answer = await answerFor();
    const draw = drawer();
    const first = draw(answer, answer.state);
    expect(draw(answer, { ...answer.state, query: 3, view: 'difference' })).toBe(first);
    expect(draw(answer, { ...answer.state, unit: 'bits' })).not.toBe(first);
    expect(draw(null, answer.state).maps).toEqual([]);
  });

  it('reads the cell under the pointer, else the strongest of the pinned row', async () => {
    const answer = await answerFor();
    const drawing = drawer()(answer, answer.state);
    const row = rowOf(drawing.maps[0]?.weights ?? new Float32Array(), 4);
    const strongest = row.indexOf(Math.max(...row));
    expect(pointedCell(drawing, { index: 0, query: 2, key: 1 }, 4)).toMatchObject({ query: 2, key: 1 });
    expect(pointedCell(drawing, null, 4)).toMatchObject({ query: 4, key: strongest });
    // The text has become shorter than where the pointer was.
    expect(pointedCell(drawing, { index: 0, query: 9, key: 1 }, 4)).toMatchObject({ query: 4 });
    expect(pointedCell(drawing, null, null)).toBeNull();
    expect(pointedCell(drawing, null, 9)).toBeNull();
    const shown = shownRow(drawing, null, 4);
    expect([...(shown?.weights ?? [])]).toEqual(row);
    expect(shown?.max).toBeGreaterThanOrEqual(Math.max(...row));
  });
});
