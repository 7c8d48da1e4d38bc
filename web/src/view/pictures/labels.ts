/**
 * Where the labels of a map go and how they are turned: horizontal while every one fits above its column, slanted while
 * lines keep apart, else vertical; Chinese, Japanese, Korean and emoji always stand upright, stacked where the rest is
 * vertical, and what is short enough is never turned.
 * Pure; used by the live map and by the SVG export alike. Lengths in CSS pixels.
 */
import { characters, ellipsise, isUpright, type Measure } from './token-text.js';

export const LABEL = {
  fontSize: 12,
  /** Between a label and the map. */
  gap: 6,
  /** Least distance of two lines of text. */
  pitch: 12,
  /** Least distance of two columns whose labels are slanted: a line of text seen at 45°. */
  slantPitch: 19,
  lineHeight: 13,
  minRowWidth: 44,
  maxRowWidth: 132,
  maxSlanted: 110,
  maxVertical: 92,
} as const;

export type ColumnMode = 'horizontal' | 'slanted' | 'vertical';

/** A label ready to draw. `lines` has one entry, or a character each when stacked. */
export interface PlacedLabel {
  readonly index: number;
  /** The whole text, where `lines` shows only its beginning. */
  readonly full: string;
  readonly cut: boolean;
  readonly lines: readonly { readonly text: string; readonly x: number; readonly y: number }[];
  readonly anchor: 'start' | 'middle' | 'end';
  /** Degrees about the first line's (x, y). */
  readonly rotate: 0 | -45 | -90;
}

/** Every how many cells a label stands. */
const labelStep = (cell: number) => Math.max(1, Math.ceil(LABEL.pitch / cell));

export function columnMode(texts: readonly string[], cell: number, measure: Measure): ColumnMode {
  if (texts.every((text) => fitsAcross(text, cell, measure))) return 'horizontal';
  // Stacks of upright characters would run into the slanted line of their left neighbour.
  const upright = texts.filter(isUpright);
  const stacked = upright.some((text) => characters(text).length > 1);
  const mostlyUpright = upright.length * 2 > texts.length;
  return cell >= LABEL.slantPitch && !stacked && !mostlyUpright ? 'slanted' : 'vertical';
}

/** Whether a label has room above its column as it is. A single character always has. */
const fitsAcross = (text: string, cell: number, measure: Measure) =>
  measure(text) <= cell - 4 || characters(text).length === 1;

/** Height of the pane of column labels, and how far slanted ones lean over the right edge of the map. */
export function columnLabelRoom(
  texts: readonly string[],
  cell: number,
  mode: ColumnMode,
  measure: Measure,
): { readonly height: number; readonly overhang: number } {
  if (mode === 'horizontal') return { height: LABEL.fontSize + LABEL.gap * 2, overhang: 0 };
  if (mode === 'vertical') {
    const longest = texts.reduce((max, text) => Math.max(max, verticalLength(text, measure)), 0);
    return { height: Math.ceil(Math.min(LABEL.maxVertical, longest)) + LABEL.gap * 2, overhang: 0 };
  }
  let height = 0;
  let overhang = 0;
  for (const [index, text] of texts.entries()) {
    const reach = Math.min(LABEL.maxSlanted, measure(text)) * Math.SQRT1_2;
    height = Math.max(height, reach);
    overhang = Math.max(overhang, reach + LABEL.fontSize - (texts.length - index - 0.5) * cell);
  }
  return { height: Math.ceil(height + LABEL.fontSize + LABEL.gap), overhang: Math.ceil(overhang) };
}

const verticalLength = (text: string, measure: Measure) =>
  isUpright(text) ? characters(text).length * LABEL.lineHeight : measure(text);

/** Column labels `from`…`to` (exclusive), in a pane `height` high whose lower edge touches the map. */
export function placeColumnLabels(
  texts: readonly string[],
  range: { readonly from: number; readonly to: number },
  { cell, mode, height }: { readonly cell: number; readonly mode: ColumnMode; readonly height: number },
  measure: Measure,
): PlacedLabel[] {
  const step = labelStep(cell);
  const placed: PlacedLabel[] = [];
  for (let index = Math.ceil(range.from / step) * step; index < range.to; index += step) {
    placed.push(placeColumnLabel(texts[index] as string, index, { cell, mode, height }, measure));
  }
  return placed;
}

function placeColumnLabel(
  full: string,
  index: number,
  { cell, mode, height }: { readonly cell: number; readonly mode: ColumnMode; readonly height: number },
  measure: Measure,
): PlacedLabel {
  const x = (index + 0.5) * cell;
  const y = height - LABEL.gap;
  const middle = y - LABEL.fontSize * 0.4;
  if (fitsAcross(full, mode === 'slanted' ? 0 : cell, measure)) {
    return { index, full, cut: false, lines: [{ text: full, x, y: middle }], anchor: 'middle', rotate: 0 };
  }
  if (isUpright(full)) {
    const signs = characters(full);
    const shown = cutStack(signs);
    const first = middle - (shown.length - 1) * LABEL.lineHeight;
    const lines = shown.map((text, line) => ({ text, x, y: first + line * LABEL.lineHeight }));
    return { index, full, cut: shown.length < signs.length, lines, anchor: 'middle', rotate: 0 };
  }
  const room = mode === 'slanted' ? LABEL.maxSlanted : LABEL.maxVertical;
  const text = ellipsise(full, room, measure);
  const lines = [{ text, x, y }];
  return { index, full, cut: text !== full, lines, anchor: 'start', rotate: mode === 'slanted' ? -45 : -90 };
}

function cutStack(signs: string[]): string[] {
  const room = Math.floor(LABEL.maxVertical / LABEL.lineHeight);
  return signs.length <= room ? signs : [...signs.slice(0, room - 1), '⋮'];
}

/** Row labels `from`…`to` (exclusive), ending at the right edge of a pane `width` wide. */
export function placeRowLabels(
  texts: readonly string[],
  range: { readonly from: number; readonly to: number },
  { cell, width }: { readonly cell: number; readonly width: number },
  measure: Measure,
): PlacedLabel[] {
  const step = labelStep(cell);
  const placed: PlacedLabel[] = [];
  for (let index = Math.ceil(range.from / step) * step; index < range.to; index += step) {
    const full = texts[index] as string;
    const text = ellipsise(full, width - LABEL.gap * 2, measure);
    const lines = [{ text, x: width - LABEL.gap, y: (index + 0.5) * cell }];
    placed.push({ index, full, cut: text !== full, lines, anchor: 'end', rotate: 0 });
  }
  return placed;
}
