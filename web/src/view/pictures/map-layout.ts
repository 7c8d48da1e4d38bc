/**
 * Geometry of an attention map: the side of a cell, the room for labels, and what a scrolled view shows. Pure; all
 * lengths in CSS pixels unless they say device.
 *
 * Cells are squares of whole device pixels, so that every one is equally large and crisp at any pixel ratio. Below one
 * device pixel (an overview of thousands of tokens) a device pixel stands for a square of `bin` × `bin` cells.
 */
import { type ColumnMode, columnLabelRoom, columnMode, LABEL } from './labels.js';
import type { Measure } from './token-text.js';

/** Cells are at least this large while the view is left to itself; smaller ones are the reader's own zoom. */
export const MIN_CELL = 14;
/** Cells grow no further by themselves: five tokens should not fill a projector. */
export const MAX_CELL = 48;
/** The largest cell by zooming. */
export const MAX_ZOOM = 72;

/** `auto`: fit, but never below MIN_CELL. `fit`: all of it. A number: the side of a cell. */
export type Zoom = 'auto' | 'fit' | number;

interface MapSpace {
  readonly width: number;
  /** Infinity where nothing limits it. */
  readonly height: number;
  /** Device pixels per CSS pixel. */
  readonly pixelRatio: number;
}

export interface MapInput {
  readonly queryTexts: readonly string[];
  readonly keyTexts: readonly string[];
  readonly space: MapSpace;
  readonly zoom: Zoom;
  /** Whether bars stand at the end of the rows. */
  readonly rowValues: boolean;
  readonly measure: Measure;
}

export interface MapLayout {
  readonly cell: number;
  /** Cells per side of a drawn square; 1 unless cells are below a device pixel. */
  readonly bin: number;
  /** Device pixels per side of a drawn square. */
  readonly devicePixels: number;
  readonly mapWidth: number;
  readonly mapHeight: number;
  readonly rowLabelWidth: number;
  readonly columnLabelHeight: number;
  readonly columnMode: ColumnMode;
  /** Room right of the map: for bars, and for slanted labels that lean over it. */
  readonly rightWidth: number;
  readonly valuesWidth: number;
  /** Whether the whole map is in view without scrolling. */
  readonly fits: boolean;
}

const VALUES_WIDTH = 76;
/** Without room for the numbers beside the bars. */
const NARROW_VALUES_WIDTH = 36;
const NARROW = 480;
/** Room beside the last cell, so that its outline is not cut. */
const EDGE = 2;

/** Lays out a map. The result always has cells; it scrolls where `fits` is false. */
export function layoutMap(input: MapInput): MapLayout {
  const { queryTexts, keyTexts, space, zoom, measure } = input;
  const valuesWidth = input.rowValues ? (space.width < NARROW ? NARROW_VALUES_WIDTH : VALUES_WIDTH) : 0;
  const rowLabelWidth = rowLabelRoom(input, valuesWidth);
  const fixed = { rowLabelWidth, valuesWidth };

  // The room for column labels depends on the cell and the cell on that room: start wide, shrink until both agree.
  let side = snapCell(zoom === 'auto' || zoom === 'fit' ? MAX_CELL : zoom, space.pixelRatio);
  let mode = columnMode(keyTexts, side.cell, measure);
  let room = columnLabelRoom(keyTexts, side.cell, mode, measure);
  let fit = fitCell(input, fixed, room);
  for (let round = 0; round < 4 && typeof zoom !== 'number'; round++) {
    const wanted = zoom === 'auto' ? Math.max(MIN_CELL, fit) : fit;
    side = snapCell(Math.min(side.cell, wanted), space.pixelRatio);
    mode = columnMode(keyTexts, side.cell, measure);
    room = columnLabelRoom(keyTexts, side.cell, mode, measure);
    fit = fitCell(input, fixed, room);
    if (side.cell <= fit) break;
  }
  return {
    ...side,
    mapWidth: keyTexts.length * side.cell,
    mapHeight: queryTexts.length * side.cell,
    ...fixed,
    columnLabelHeight: room.height,
    columnMode: mode,
    rightWidth: Math.max(valuesWidth, room.overhang, EDGE),
    fits: side.cell <= fit + 1e-6,
  };
}

/** Row labels give way, down to a few letters, before cells fall below MIN_CELL. */
function rowLabelRoom({ queryTexts, keyTexts, space, measure }: MapInput, valuesWidth: number): number {
  const longest = queryTexts.reduce((max, text) => Math.max(max, measure(text)), 0);
  const natural = Math.min(LABEL.maxRowWidth, longest + LABEL.gap * 2);
  const left = space.width - valuesWidth - keyTexts.length * MIN_CELL;
  return Math.ceil(Math.min(natural, Math.max(LABEL.minRowWidth, left)));
}

/** The largest cell with which everything is in view. */
function fitCell(
  { queryTexts, keyTexts, space }: MapInput,
  { rowLabelWidth, valuesWidth }: { readonly rowLabelWidth: number; readonly valuesWidth: number },
  room: { readonly height: number; readonly overhang: number },
): number {
  const right = Math.max(valuesWidth, room.overhang, EDGE);
  const across = (space.width - rowLabelWidth - right) / Math.max(1, keyTexts.length);
  const down = (space.height - room.height - EDGE) / Math.max(1, queryTexts.length);
  return Math.max(1e-3, Math.min(MAX_CELL, across, down));
}

/** The largest side that is not above `cell` and is whole in device pixels (or a whole part of one). */
export function snapCell(
  cell: number,
  pixelRatio: number,
): { readonly cell: number; readonly bin: number; readonly devicePixels: number } {
  const device = cell * pixelRatio + 1e-6;
  if (device >= 1) {
    const devicePixels = Math.floor(device);
    return { cell: devicePixels / pixelRatio, bin: 1, devicePixels };
  }
  const bin = Math.ceil(1 / device);
  return { cell: 1 / (bin * pixelRatio), bin, devicePixels: 1 };
}

/** A range of cells, ends exclusive. */
export interface MapWindow {
  readonly queryFrom: number;
  readonly queryTo: number;
  readonly keyFrom: number;
  readonly keyTo: number;
}

/** What of the map is in view: the scroll offset and the size of the part of the view that shows cells. */
export interface MapView {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** The cells in view and `margin` around them; its corner is on a drawn square. */
export function windowOf(layout: MapLayout, view: MapView, size: { T: number; S: number }, margin: number): MapWindow {
  const { cell, bin } = layout;
  const from = (start: number) => Math.max(0, Math.floor((start - margin) / cell / bin) * bin);
  const to = (end: number, count: number) => Math.min(count, Math.ceil((end + margin) / cell / bin) * bin);
  return {
    queryFrom: Math.min(size.T, from(view.top)),
    queryTo: to(view.top + view.height, size.T),
    keyFrom: Math.min(size.S, from(view.left)),
    keyTo: to(view.left + view.width, size.S),
  };
}

/** Whether a window still covers what is in view. */
export function covers(outer: MapWindow, inner: MapWindow): boolean {
  return (
    outer.queryFrom <= inner.queryFrom &&
    outer.queryTo >= inner.queryTo &&
    outer.keyFrom <= inner.keyFrom &&
    outer.keyTo >= inner.keyTo
  );
}

/** The scroll offset along one axis that brings cell `index` into view; the old one where it is in view already. */
export function scrollToCell(index: number, cell: number, offset: number, viewSize: number): number {
  const start = index * cell;
  if (start < offset) return start;
  if (start + cell > offset + viewSize) return start + cell - viewSize;
  return offset;
}
