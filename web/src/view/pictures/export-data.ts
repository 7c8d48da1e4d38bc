/** The map that is shown, as CSV and as JSON. Pure. Numbers are exact: the shortest text that gives the same f32 again. */
import { isVisible } from './map-words.js';
import { tokenText } from './token-text.js';
import type { MapPicture, PictureToken } from './types.js';

/** What produced a map: whatever the page wants to keep with the numbers. */
export type ExportSettings = Readonly<Record<string, unknown>>;

const QUERY_AND_KEY = 'query \\ key';

/**
 * CSV after RFC 4180, with a byte order mark so that spreadsheets read Chinese: a row a query, a column a key, hidden
 * cells empty, and the entropy of the row last, if there is one. Differences where the picture shows differences. Labels
 * begin with their number, so that a spreadsheet never takes a token for a formula.
 */
export function mapCsv(picture: MapPicture): string {
  const { queries, keys, rowValues } = picture;
  const label = (token: PictureToken, index: number) => quote(`${index + 1} ${tokenText(token)}`);
  const head = [quote(QUERY_AND_KEY), ...keys.map(label)];
  if (rowValues) head.push(quote(`entropy (${rowValues.unit})`));
  const lines = queries.map((query, q) => {
    const cells = keys.map((_, k) => (isVisible(picture, q, k) ? shortest(shownValue(picture, q, k)) : ''));
    if (rowValues) cells.push(shortest(rowValues.values[q] as number));
    return [label(query, q), ...cells];
  });
  return `\ufeff${[head, ...lines].map((line) => line.join(',')).join('\r\n')}\r\n`;
}

const quote = (text: string) => `"${text.replaceAll('"', '""')}"`;

function shownValue({ weights, baseline, keys }: MapPicture, query: number, key: number): number {
  const at = query * keys.length + key;
  return (weights[at] as number) - (baseline ? (baseline[at] as number) : 0);
}

/** JSON with everything the map holds; matrices are arrays of rows, and what a mask hides has the score null. */
export function mapJson(picture: MapPicture, title: string, settings: ExportSettings): string {
  const { queries, keys, rowValues } = picture;
  const rows = (flat: ArrayLike<number> | null) =>
    flat && queries.map((_, q) => keys.map((_, k) => exact(flat[q * keys.length + k] as number)));
  const content = {
    title,
    settings,
    queries: queries.map((token) => token.text),
    keys: keys.map((token) => token.text),
    weights: rows(picture.weights),
    baseline: rows(picture.baseline),
    scores: rows(picture.scores),
    rawScores: rows(picture.rawScores),
    visible: rows(picture.visible),
    entropy: rowValues && { unit: rowValues.unit, values: Array.from(rowValues.values, exact) },
  };
  const lines = Object.entries(content).map(([name, value]) => `  ${JSON.stringify(name)}: ${jsonLines(value)}`);
  return `{\n${lines.join(',\n')}\n}\n`;
}

/** JSON on one line; a matrix has a line a row, which people can read and tools can compare. */
function jsonLines(value: unknown): string {
  if (!Array.isArray(value) || !Array.isArray(value[0])) return JSON.stringify(value);
  return `[\n${value.map((row) => `    ${JSON.stringify(row)}`).join(',\n')}\n  ]`;
}

/** The f32 as a short double; null (as JSON has no infinities) if it is not finite. */
function exact(value: number): number | null {
  return Number.isFinite(value) ? Number(shortest(value)) : null;
}

/** The shortest decimal text that reads back as the same f32. */
export function shortest(value: number): string {
  const single = Math.fround(value);
  for (let digits = 1; digits < 9; digits++) {
    const text = single.toPrecision(digits);
    if (Math.fround(Number(text)) === single) return String(Number(text));
  }
  return String(Number(single.toPrecision(9)));
}
