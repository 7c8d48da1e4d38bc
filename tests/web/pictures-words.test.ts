import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { formatChange, formatNumber, formatTick, formatWeight } from '../../web/src/view/pictures/format.js';
import {
  cellFacts,
  cellName,
  queryName,
  rankInRow,
  rowSummary,
  strongestKey,
} from '../../web/src/view/pictures/map-words.js';
import type { MapPicture } from '../../web/src/view/pictures/types.js';
import { picturesEn, picturesZh, wordsFrom } from '../../web/src/view/pictures/words.js';

const places = (text: string) => [...text.matchAll(/\{\{(\w+)\}\}/g)].map((match) => match[1]).sort();

describe('the two languages', () => {
  it('have the same keys and fill in the same values', () => {
    expect(Object.keys(picturesZh)).toEqual(Object.keys(picturesEn));
    for (const key of Object.keys(picturesEn) as (keyof typeof picturesEn)[]) {
      expect([key, places(picturesZh[key])]).toEqual([key, places(picturesEn[key])]);
    }
  });

  it('have no key that nothing asks for', () => {
    const folder = new URL('../../web/src/view/pictures/', import.meta.url);
    const sources = readdirSync(folder)
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(new URL(name, folder), 'utf8'))
      .join('\n');
    // Each is in words.ts once a language; anything more is a use.
    const unused = Object.keys(picturesEn).filter(
      (key) => (sources.match(new RegExp(`\\b${key}\\b`, 'g')) ?? []).length < 3,
    );
    expect(unused).toEqual([]);
  });

  it('refuse a key they do not have', () => {
    expect(() => wordsFrom(picturesEn)('nothing')).toThrow('nothing');
  });
});

describe('numbers', () => {
  it('of weights, changes, scores and ticks', () => {
    expect([0, 0.001, 0.005, 0.42, 0.999, 1, Number.NaN].map(formatWeight)).toEqual([
      '0',
      '<.01',
      '.01',
      '.42',
      '1.00',
      '1.00',
      '–',
    ]);
    expect([0, 0.12, -0.05, 0.002, -1].map(formatChange)).toEqual(['0', '+.12', '−.05', '±0', '−1.00']);
    expect([1.313, -0.4, -0.001, Number.NEGATIVE_INFINITY].map(formatNumber)).toEqual(['1.31', '−0.40', '0.00', '−∞']);
    expect([0, 0.5, 1, 0.001, -0.2, 5.954196].map(formatTick)).toEqual(['0', '.5', '1', '.001', '−.2', '5.95']);
  });
});

describe('what a map says', () => {
  const words = wordsFrom(picturesEn);
  const tokens = ['the', 'cat', 'sat'].map((text) => ({ text }));
  const picture: MapPicture = {
    queries: tokens,
    keys: tokens,
    weights: Float32Array.of(1, 0, 0, 0.42, 0.58, 0, 0.2, 0.4, 0.4),
    baseline: null,
    scores: Float32Array.of(1, -Infinity, -Infinity, 0.5, 0.82, -Infinity, 0, 0.7, 0.7),
    rawScores: null,
    visible: Uint8Array.of(1, 0, 0, 1, 1, 0, 1, 1, 1),
    rowValues: { values: Float32Array.of(0, 0.98, 1.52), max: Math.log2(3), unit: 'bits' },
    selectedQuery: null,
    palette: 'cividis',
    scaleType: 'linear',
    max: 1,
  };

  it('names a cell with its weight and rank, or as masked', () => {
    expect(cellName(picture, 1, 0, words)).toBe('query 2 “cat” attends to key 1 “the”: .42, rank 2 of 2');
    expect(cellName(picture, 0, 2, words)).toBe('query 1 “the” attends to key 3 “sat”: masked');
    expect(cellName(picture, 1, 0, wordsFrom(picturesZh))).toBe('查询 2“cat”对键 1“the”：.42，第 2 名，共 2 个');
  });

  it('names a cell with its change', () => {
    const changed = { ...picture, baseline: Float32Array.of(1, 0, 0, 0.5, 0.5, 0, 0.2, 0.4, 0.4) };
    expect(cellName(changed, 1, 0, words)).toBe('query 2 “cat” attends to key 1 “the”: .42, before .50, change −.08');
  });

  it('ranks equal weights equally and leaves hidden keys out', () => {
    expect(rankInRow(picture, 2, 1)).toEqual({ rank: 1, count: 3 });
    expect(rankInRow(picture, 2, 2)).toEqual({ rank: 1, count: 3 });
    expect(rankInRow(picture, 2, 0)).toEqual({ rank: 3, count: 3 });
    expect(strongestKey(picture, 2)).toBe(1);
  });

  it('sums up a row', () => {
    expect(rowSummary(picture, 1, words)).toBe('query 2 “cat”: strongest key 2 “cat” .58, entropy 0.98 bits');
    expect(rowSummary({ ...picture, rowValues: null }, 1, words)).toBe('query 2 “cat”: strongest key 2 “cat” .58');
    const dead = { ...picture, visible: new Uint8Array(9), weights: new Float32Array(9) };
    expect(rowSummary(dead, 0, words)).toBe('query 1 “the”: every key is masked');
    expect(strongestKey(dead, 0)).toBeNull();
  });

  it('gives the facts of a cell', () => {
    const facts = (query: number, key: number) =>
      cellFacts(picture, query, key, words).map(({ name, value }) => `${name} ${value}`.trim());
    expect(facts(1, 1)).toEqual(['weight .58', 'rank 1 of 2', 'score 0.82', 'row sum 1.00']);
    expect(facts(0, 1)).toEqual(['masked', 'score −∞', 'row sum 1.00']);
  });

  it('shows white space and special tokens by visible signs', () => {
    expect(queryName({ ...picture, queries: [{ text: '\n' }] }, 0, words)).toBe('query 1 “⏎”');
  });
});
