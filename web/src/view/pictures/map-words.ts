/** What a map says in words: names of its cells and rows, for screen readers and the tooltip. Pure. */
import { formatChange, formatNumber, formatWeight } from './format.js';
import { tokenText } from './token-text.js';
import type { MapPicture, Words } from './types.js';
import { unitName } from './words.js';

/** "query 3 “cat”" */
export function queryName(picture: MapPicture, query: number, words: Words): string {
  return words('queryName', { query: query + 1, text: tokenText(picture.queries[query]) });
}

/** "key 1 “the”" */
export function keyName(picture: MapPicture, key: number, words: Words): string {
  return words('keyName', { key: key + 1, text: tokenText(picture.keys[key]) });
}

export function isVisible(picture: MapPicture, query: number, key: number): boolean {
  return picture.visible === null || picture.visible[query * picture.keys.length + key] !== 0;
}

/** "query 3 “cat” attends to key 1 “the”: .42, rank 1 of 6", or that it is masked, or how it changed. */
export function cellName(picture: MapPicture, query: number, key: number, words: Words): string {
  const names = { query: queryName(picture, query, words), key: keyName(picture, key, words) };
  if (!isVisible(picture, query, key)) return words('cellMaskedName', names);
  const at = query * picture.keys.length + key;
  const weight = picture.weights[at] as number;
  if (picture.baseline) {
    const before = picture.baseline[at] as number;
    const change = formatChange(weight - before);
    return words('cellChangeName', { ...names, after: formatWeight(weight), before: formatWeight(before), change });
  }
  return words('cellName', { ...names, weight: formatWeight(weight), ...rankInRow(picture, query, key) });
}

/** Rank of a key among the visible keys of its row, 1 for the largest weight; equal weights share a rank. */
export function rankInRow(picture: MapPicture, query: number, key: number): { rank: number; count: number } {
  const row = query * picture.keys.length;
  const weight = picture.weights[row + key] as number;
  let rank = 1;
  let count = 0;
  for (let other = 0; other < picture.keys.length; other++) {
    if (!isVisible(picture, query, other)) continue;
    count++;
    if ((picture.weights[row + other] as number) > weight) rank++;
  }
  return { rank, count };
}

/** The visible key with the largest weight of a row; null if every key is hidden. */
export function strongestKey(picture: MapPicture, query: number): number | null {
  const row = query * picture.keys.length;
  let best: number | null = null;
  for (let key = 0; key < picture.keys.length; key++) {
    if (!isVisible(picture, query, key)) continue;
    if (best === null || (picture.weights[row + key] as number) > (picture.weights[row + best] as number)) best = key;
  }
  return best;
}

/** "query 3 “cat”: strongest key 1 “the” .42, entropy 1.31 bits" */
export function rowSummary(picture: MapPicture, query: number, words: Words): string {
  const name = queryName(picture, query, words);
  const strongest = strongestKey(picture, query);
  if (strongest === null) return words('rowMaskedSummary', { query: name });
  const weight = formatWeight(picture.weights[query * picture.keys.length + strongest] as number);
  const values = { query: name, key: keyName(picture, strongest, words), weight };
  const { rowValues } = picture;
  if (!rowValues) return words('rowSummary', values);
  const entropy = formatNumber(rowValues.values[query] as number);
  return words('rowSummaryEntropy', { ...values, entropy, unit: unitName(rowValues.unit, words) });
}

/** One line of the tooltip. */
export interface TipLine {
  readonly name: string;
  readonly value: string;
}

/** What the tooltip tells of a cell, below the two tokens. */
export function cellFacts(picture: MapPicture, query: number, key: number, words: Words): TipLine[] {
  const at = query * picture.keys.length + key;
  const weight = picture.weights[at] as number;
  const lines: TipLine[] = [];
  if (!isVisible(picture, query, key)) {
    lines.push({ name: words('tipMasked'), value: '' });
  } else if (picture.baseline) {
    const before = picture.baseline[at] as number;
    lines.push({ name: words('tipChange'), value: formatChange(weight - before) });
    lines.push({ name: words('tipBefore'), value: formatWeight(before) });
    lines.push({ name: words('tipAfter'), value: formatWeight(weight) });
  } else {
    lines.push({ name: words('tipWeight'), value: formatWeight(weight) });
    lines.push({ name: words('tipRank', rankInRow(picture, query, key)), value: '' });
  }
  if (picture.scores) lines.push({ name: words('tipScore'), value: formatNumber(picture.scores[at] as number) });
  if (picture.rawScores)
    lines.push({ name: words('tipRawScore'), value: formatNumber(picture.rawScores[at] as number) });
  lines.push({ name: words('tipRowSum'), value: formatNumber(rowSum(picture, query)) });
  return lines;
}

function rowSum(picture: MapPicture, query: number): number {
  const row = query * picture.keys.length;
  let sum = 0;
  for (let key = 0; key < picture.keys.length; key++) sum += picture.weights[row + key] as number;
  return sum;
}
