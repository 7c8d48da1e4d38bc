/**
 * The pixels of a map: weights through a lookup table into a small image, one pixel a cell, and that image onto a canvas,
 * one square of device pixels a cell. `cellPixels` is pure; the rest draws on a canvas it is given.
 */

import { type ColourScale, LOG_DECADES, LUT_SIZE, textColourOn } from './colour.js';
import { formatChange, formatWeight } from './format.js';
import type { MapLayout, MapWindow } from './map-layout.js';
import { drawSoon } from './page-canvas.js';
import type { WeightRows } from './weight-rows.js';

/** The numbers of one map, as far as its pixels need them. All `[T, S]`. */
export interface CellSource {
  /** Other than a `RowSource`. */
  readonly rows?: null;
  readonly weights: Float32Array;
  readonly baseline: Float32Array | null;
  readonly visible: Uint8Array | null;
  /** S, the length of a row. */
  readonly keyCount: number;
  /** Index of the map's first number: maps of many heads lie in one array. */
  readonly offset: number;
}

/** A map of which single rows are there. */
export interface RowSource {
  readonly rows: WeightRows;
  /** One query in so many is drawn, in the place of all of them; a multiple of the layout's `bin`. */
  readonly step: number;
  readonly baseline: null;
}

/** The query that is drawn in the place of `query`. */
export const drawnQuery = (query: number, step: number): number => query - (query % step);

const TRANSPARENT = 0;

/**
 * Packed pixels of a window of cells, row by row; a hidden cell is transparent. With `bin` > 1 a pixel stands for
 * bin × bin cells and shows the largest (the largest change, of differences), so that a thin line does not vanish; it
 * is transparent only if all of them are hidden.
 */
export function cellPixels(source: CellSource, scale: ColourScale, window: MapWindow, bin = 1): Uint32Array {
  return toPixels(mapValues(source, window, bin), scale);
}

function mapValues(source: CellSource | RowSource, window: MapWindow, bin: number): Float32Array {
  if (source.rows) return sampledValues(source, window, bin);
  return bin === 1 ? windowValues(source, window) : binnedValues(source, window, bin);
}

/** A line of values for each `bin` queries: the largest of each `bin` keys of the query drawn there; NaN where it is not there. */
function sampledValues({ rows, step }: RowSource, window: MapWindow, bin: number): Float32Array {
  const columns = Math.ceil((window.keyTo - window.keyFrom) / bin);
  const lines = Math.ceil((window.queryTo - window.queryFrom) / bin);
  const values = new Float32Array(lines * columns).fill(Number.NaN);
  for (let line = 0; line < lines; line++) {
    const query = drawnQuery(window.queryFrom + line * bin, step);
    const row = rows.get(query);
    if (!row) continue;
    for (let key = window.keyFrom; key < window.keyTo; key++) {
      const at = line * columns + Math.floor((key - window.keyFrom) / bin);
      // NaN compares false: the first visible weight always gets in.
      if (!((row[key] as number) <= (values[at] as number)) && rows.visible(query, key))
        values[at] = row[key] as number;
    }
  }
  return values;
}

/** Values of a window, NaN where hidden. */
function windowValues({ weights, baseline, visible, keyCount, offset }: CellSource, window: MapWindow): Float32Array {
  const columns = window.keyTo - window.keyFrom;
  const values = new Float32Array((window.queryTo - window.queryFrom) * columns);
  let at = 0;
  for (let query = window.queryFrom; query < window.queryTo; query++) {
    const row = query * keyCount;
    for (let cell = row + window.keyFrom; cell < row + window.keyTo; cell++, at++) {
      if (visible && visible[cell] === 0) values[at] = Number.NaN;
      else values[at] = (weights[offset + cell] as number) - (baseline ? (baseline[offset + cell] as number) : 0);
    }
  }
  return values;
}

function binnedValues({ weights, baseline, visible, keyCount, offset }: CellSource, window: MapWindow, bin: number) {
  const columns = Math.ceil((window.keyTo - window.keyFrom) / bin);
  const rows = Math.ceil((window.queryTo - window.queryFrom) / bin);
  const binned = new Float32Array(rows * columns).fill(Number.NaN);
  for (let query = window.queryFrom; query < window.queryTo; query++) {
    let at = Math.floor((query - window.queryFrom) / bin) * columns;
    const rowEnd = query * keyCount + window.keyTo;
    for (let from = query * keyCount + window.keyFrom; from < rowEnd; from += bin, at++) {
      let largest = binned[at] as number;
      for (let cell = from; cell < from + bin && cell < rowEnd; cell++) {
        if (visible && visible[cell] === 0) continue;
        const value = (weights[offset + cell] as number) - (baseline ? (baseline[offset + cell] as number) : 0);
        // NaN compares false: the first visible value of a bin always gets in.
        if (Math.abs(value) > Math.abs(largest) || Number.isNaN(largest)) largest = value;
      }
      binned[at] = largest;
    }
  }
  return binned;
}

/** Values through the lookup table; NaN becomes transparent. The same rule as `lutIndex`, without a call per cell. */
function toPixels(values: Float32Array, { kind, type, max, lut }: ColourScale): Uint32Array {
  const pixels = new Uint32Array(values.length);
  const last = LUT_SIZE - 1;
  const log = type === 'log';
  const factor = kind === 'diverging' ? LUT_SIZE / (2 * max) : LUT_SIZE / max;
  const shift = kind === 'diverging' ? LUT_SIZE / 2 : 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number;
    if (Number.isNaN(value)) {
      pixels[i] = TRANSPARENT;
      continue;
    }
    const position = log ? (1 + Math.log10(value / max) / LOG_DECADES) * LUT_SIZE : shift + value * factor;
    pixels[i] = lut[position > 0 ? Math.min(last, position | 0) : 0] as number;
  }
  return pixels;
}

/** The colours of a picture's page, resolved. */
export interface MapInk {
  readonly paper: string;
  readonly line: string;
  readonly ink: string;
  /** Hidden cells get heavier hatching. */
  readonly strong: boolean;
  readonly font: string;
}

type Context = CanvasRenderingContext2D;

interface MapPlace {
  readonly layout: MapLayout;
  readonly window: MapWindow;
  readonly ink: MapInk;
}

/** Draws a window of a map on a canvas, which it resizes to fit (`devicePixels` a drawn square), once the page has rendered. */
export function drawMap(
  canvas: HTMLCanvasElement,
  source: CellSource | RowSource,
  scale: ColourScale,
  place: MapPlace,
): void {
  const { bin, devicePixels } = place.layout;
  const columns = Math.ceil((place.window.keyTo - place.window.keyFrom) / bin);
  const rows = Math.ceil((place.window.queryTo - place.window.queryFrom) / bin);
  drawSoon(canvas, columns * devicePixels, rows * devicePixels, (context) =>
    drawCells(context, source, scale, place, { columns, rows }),
  );
}

function drawCells(
  context: Context,
  source: CellSource | RowSource,
  scale: ColourScale,
  { layout, window, ink }: MapPlace,
  { columns, rows }: { readonly columns: number; readonly rows: number },
): void {
  const { bin, devicePixels } = layout;
  const [width, height] = [columns * devicePixels, rows * devicePixels];
  const pixelRatio = devicePixels / (layout.cell * bin);
  if (source.rows ? source.rows.masked : source.visible) {
    const phase = { x: window.keyFrom * devicePixels, y: window.queryFrom * devicePixels, pixelRatio };
    fillHatch(context, ink, { width, height }, phase);
  }
  const values = mapValues(source, window, bin);
  const pixels = toPixels(values, scale);
  context.imageSmoothingEnabled = false;
  context.drawImage(toImage(pixels, columns, rows), 0, 0, width, height);
  if (source.rows) coverAwaited(context, source, { layout, window, ink }, width);

  if (layout.cell >= GRID_FROM) drawGrid(context, ink, { columns, rows, devicePixels });
  if (layout.cell < NUMBERS_FROM) return;
  drawNumbers(context, source.baseline !== null, { values, pixels, columns, layout, ink, pixelRatio });
}

/** Plain paper where rows are still to come: they are not hidden. */
function coverAwaited(
  context: Context,
  { rows, step }: RowSource,
  { layout, window, ink }: MapPlace,
  width: number,
): void {
  const { bin, devicePixels } = layout;
  context.fillStyle = ink.paper;
  for (let line = 0; window.queryFrom + line * bin < window.queryTo; line++) {
    if (rows.has(drawnQuery(window.queryFrom + line * bin, step))) continue;
    context.fillRect(0, line * devicePixels, width, devicePixels);
  }
}

/** Cells from this size get lines between them. */
const GRID_FROM = 8;
/** Cells from this size show their number. */
const NUMBERS_FROM = 32;

let scratch: HTMLCanvasElement | undefined;

/** The shared one-pixel-a-cell image. Valid until the next call. */
export function toImage(pixels: Uint32Array, columns: number, rows: number): HTMLCanvasElement {
  scratch ??= document.createElement('canvas');
  if (scratch.width !== columns) scratch.width = columns;
  if (scratch.height !== rows) scratch.height = rows;
  putPixels(scratch, pixels, columns, rows);
  return scratch;
}

/** Puts packed pixels on a canvas, one to one. */
export function putPixels(canvas: HTMLCanvasElement, pixels: Uint32Array, columns: number, rows: number): void {
  const bytes = new Uint8ClampedArray(pixels.buffer as ArrayBuffer, pixels.byteOffset, pixels.byteLength);
  canvas.getContext('2d', { willReadFrequently: true })?.putImageData(new ImageData(bytes, columns, rows), 0, 0);
}

/** Distance of two hatching lines and their width, in CSS pixels. */
const HATCH = { distance: 5, width: 0.8 };

/** Fills with diagonal lines that continue from window to window: `x`, `y` is the canvas's place in the whole map. */
export function fillHatch(
  context: Context,
  ink: Pick<MapInk, 'paper' | 'line' | 'ink' | 'strong'>,
  { width, height }: { readonly width: number; readonly height: number },
  { x, y, pixelRatio }: { readonly x: number; readonly y: number; readonly pixelRatio: number },
): void {
  // Whole device pixels, or the distance would be uneven.
  const distance = Math.max(4, Math.round(HATCH.distance * pixelRatio));
  const pattern = context.createPattern(hatchTile(ink, distance, pixelRatio), 'repeat');
  if (!pattern) return;
  const shift = (x + y) % distance;
  context.setTransform(1, 0, 0, 1, -shift, 0);
  context.fillStyle = pattern;
  context.fillRect(shift, 0, width, height);
  context.setTransform(1, 0, 0, 1, 0, 0);
}

let tile: { readonly key: string; readonly canvas: HTMLCanvasElement } | undefined;

/** One period of the hatching: a square with a line from corner to corner, and those of its neighbours that reach in. */
function hatchTile(
  { paper, line, ink, strong }: Pick<MapInk, 'paper' | 'line' | 'ink' | 'strong'>,
  distance: number,
  pixelRatio: number,
): HTMLCanvasElement {
  const key = [paper, strong ? ink : line, distance, pixelRatio].join();
  if (tile?.key === key) return tile.canvas;
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = distance;
  const context = canvas.getContext('2d');
  if (context) {
    context.fillStyle = paper;
    context.fillRect(0, 0, distance, distance);
    context.strokeStyle = strong ? ink : line;
    context.lineWidth = Math.max(1, HATCH.width * pixelRatio);
    context.beginPath();
    for (const start of [0, distance, 2 * distance]) {
      context.moveTo(start + distance, -distance);
      context.lineTo(start - 2 * distance, 2 * distance);
    }
    context.stroke();
  }
  tile = { key, canvas };
  return canvas;
}

/** Lines of paper between the cells, a device pixel wide. */
function drawGrid(
  context: Context,
  { paper, ink, strong }: MapInk,
  { columns, rows, devicePixels }: { readonly columns: number; readonly rows: number; readonly devicePixels: number },
): void {
  context.globalAlpha = strong ? 1 : 0.5;
  context.fillStyle = strong ? ink : paper;
  for (let column = 1; column < columns; column++) context.fillRect(column * devicePixels, 0, 1, rows * devicePixels);
  for (let row = 1; row < rows; row++) context.fillRect(0, row * devicePixels, columns * devicePixels, 1);
  context.globalAlpha = 1;
}

interface NumberedCells {
  readonly values: Float32Array;
  readonly pixels: Uint32Array;
  readonly columns: number;
  readonly layout: MapLayout;
  readonly ink: MapInk;
  readonly pixelRatio: number;
}

/** The weight (or difference) in every visible cell, in black or white by contrast. */
function drawNumbers(context: Context, change: boolean, cells: NumberedCells): void {
  const { values, pixels, columns, layout, ink, pixelRatio } = cells;
  context.font = `${Math.round(11 * pixelRatio)}px ${ink.font}`;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number;
    if (Number.isNaN(value)) continue;
    context.fillStyle = textColourOn(pixels[i] as number);
    const x = ((i % columns) + 0.5) * layout.devicePixels;
    const y = (Math.floor(i / columns) + 0.5) * layout.devicePixels;
    context.fillText(change ? formatChange(value) : formatWeight(value), x, y);
  }
}
