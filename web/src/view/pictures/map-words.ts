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
  if (picture.rows) return picture.rows.visible(query, key);
  return picture.visible === null || picture.visible[query * picture.keys.length + key] !== 0;
}

/** `[S]`, the weights of a query; undefined while they are still to come. */
export function rowWeights({ rows, weights, keys }: MapPicture, query: number): Float32Array | undefined {
  return rows ? rows.get(query) : weights.subarray(query * keys.length, (query + 1) * keys.length);
}

/** "query 3 “cat” attends to key 1 “the”: .42, rank 1 of 6", or that it is masked, or how it changed. */
export function cellName(picture: MapPicture, query: number, key: number, words: Words): string {
  const names = { query: queryName(picture, query, words), key: keyName(picture, key, words) };
  if (!isVisible(picture, query, key)) return words('cellMaskedName', names);
  const row = rowWeights(picture, query);
  if (!row) return words('cellAwaitedName', names);
  const weight = row[key] as number;
  if (picture.baseline) {
    const before = picture.baseline[query * picture.keys.length + key] as number;
    const change = formatChange(weight - before);
    return words('cellChangeName', { ...names, after: formatWeight(weight), before: formatWeight(before), change });
  }
  return words('cellName', { ...names, weight: formatWeight(weight), ...rankInRow(picture, query, key) });
}

/** Rank of a key among the visible keys of its row, 1 for the largest weight; equal weights share a rank. */
export function rankInRow(picture: MapPicture, query: number, key: number): { rank: number; count: number } {
  const row = rowWeights(picture, query) ?? [];
  const weight = row[key] as number;
  let rank = 1;
  let count = 0;
  for (let other = 0; other < picture.keys.length; other++) {
    if (!isVisible(picture, query, other)) continue;
    count++;
    if ((row[other] as number) > weight) rank++;
  }
  return { rank, count };
}

/** The visible key with the largest weight of a row; null if every key is hidden or the row is still to come. */
export function strongestKey(picture: MapPicture, query: number): number | null {
  const row = rowWeights(picture, query);
  if (!row) return null;
  let best: number | null = null;
  for (let key = 0; key < picture.keys.length; key++) {
    if (!isVisible(picture, query, key)) continue;
    if (best === null || (row[key] as number) > (row[best] as number)) best = key;
  }
  return best;
}

/** "query 3 “cat”: strongest key 1 “the” .42, entropy 1.31 bits" */
export function rowSummary(picture: MapPicture, query: number, words: Words): string {
  const name = queryName(picture, query, words);
  const row = rowWeights(picture, query);
  if (!row) return words('rowAwaitedSummary', { query: name });
  const strongest = strongestKey(picture, query);
  if (strongest === null) return words('rowMaskedSummary', { query: name });
  const weight = formatWeight(row[strongest] as number);
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
  const row = rowWeights(picture, query);
  if (!row) return [{ name: words('tipAwaited'), value: '' }];
  const weight = row[key] as number;
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
  lines.push({ name: words('tipRowSum'), value: formatNumber(row.reduce((sum, w) => sum + w, 0)) });
  return lines;
}
