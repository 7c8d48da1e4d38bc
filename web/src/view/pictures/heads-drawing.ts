/**
 * The thumbnails of all heads with their entropies, on one canvas over the grid of heads: a canvas and a line of text for
 * each of them would cost the browser more than the model takes.
 */
import { type ColourScale, closeDifferenceMax, colourScale, roundMax } from './colour.js';
import { formatNumber } from './format.js';
import { cellPixels, toImage } from './map-pixels.js';
import { drawSoon } from './page-canvas.js';
import type { PictureTheme } from './theme.js';
import type { Measure } from './token-text.js';
import type { HeadRef, HeadsProperties } from './types.js';

/** With fewer device pixels a cell, squares of uneven size would show: then the browser smooths. */
const CRISP_FROM = 3;
const ABLATED_OPACITY = 0.35;
export const ENTROPY_FONT_SIZE = 10;
const TRACK_HEIGHT = 4;
/** Between a bar and its number. */
const GAP = 4;

/** Where the parts of a head are, in CSS pixels from the corner of the canvas. */
export interface HeadPlace {
  /** The square of its map. */
  readonly left: number;
  readonly top: number;
  readonly side: number;
  /** Middle of the line with its entropy. */
  readonly entropyAt: number;
}

/** Places of all heads, layer by layer, and the size of the canvas. */
export interface HeadsLayout {
  readonly places: readonly HeadPlace[];
  readonly width: number;
  readonly height: number;
}

type Context = CanvasRenderingContext2D;

/** Draws all heads on a canvas, which it resizes to fit, once the page has rendered. */
export function drawHeads(
  canvas: HTMLCanvasElement,
  layout: HeadsLayout,
  picture: HeadsProperties,
  theme: PictureTheme,
  measure: Measure,
): void {
  const ratio = devicePixelRatio;
  const [width, height] = [Math.ceil(layout.width * ratio), Math.ceil(layout.height * ratio)];
  canvas.style.width = `${width / ratio}px`;
  canvas.style.height = `${height / ratio}px`;
  const isAblated = (index: number) =>
    picture.ablated.some(({ layer, head }: HeadRef) => layer * picture.heads + head === index);
  drawSoon(canvas, width, height, (context) => {
    drawMaps(context, layout, picture, theme, isAblated);
    context.scale(ratio, ratio);
    drawEntropies(context, layout, picture, theme, measure, isAblated);
  });
}

function drawMaps(
  context: Context,
  { places }: HeadsLayout,
  picture: HeadsProperties,
  theme: PictureTheme,
  isAblated: (index: number) => boolean,
): void {
  const ratio = devicePixelRatio;
  const { queryCount, keyCount } = picture;
  const side = (places[0]?.side ?? 0) * ratio;
  if (side < 1) return;
  // More cells than pixels: a pixel shows the largest of several, or thin lines would be lost.
  const bin = Math.ceil(Math.max(queryCount, keyCount) / side);
  const columns = Math.ceil(keyCount / bin);
  const rows = Math.ceil(queryCount / bin);
  const image = toImage(allPixels(picture, theme, bin), columns, rows * places.length);
  context.imageSmoothingEnabled = side / Math.max(columns, rows) < CRISP_FROM;
  for (const [index, place] of places.entries()) {
    const [left, top] = [Math.round(place.left * ratio), Math.round(place.top * ratio)];
    const size = Math.round(place.side * ratio);
    context.globalAlpha = isAblated(index) ? ABLATED_OPACITY : 1;
    context.drawImage(image, 0, index * rows, columns, rows, left, top, size, size);
    context.globalAlpha = 1;
    if (isAblated(index)) strike(context, theme, ratio, [left, top, left + size, top + size]);
  }
}

/** The pixels of all maps, one below the other. */
function allPixels(picture: HeadsProperties, { theme }: PictureTheme, bin: number): Uint32Array {
  const { attention, baseline, queryCount, keyCount, layers, heads } = picture;
  const window = { queryFrom: 0, queryTo: queryCount, keyFrom: 0, keyTo: keyCount };
  const shared = sharedScale(picture, theme);
  const size = Math.ceil(keyCount / bin) * Math.ceil(queryCount / bin);
  const pixels = new Uint32Array(size * layers * heads);
  for (let index = 0; index < layers * heads; index++) {
    const offset = index * queryCount * keyCount;
    const source = { weights: attention, baseline, visible: null, keyCount, offset };
    pixels.set(cellPixels(source, shared ?? ownScale(picture, offset, theme), window, bin), index * size);
  }
  return pixels;
}

/** One scale for all heads; null: each its own. Differences always share one, or noise would look like change. */
function sharedScale(
  { palette, scaleType: type, attention, baseline, max }: HeadsProperties,
  theme: PictureTheme['theme'],
): ColourScale | null {
  if (baseline) {
    const top = max ?? closeDifferenceMax(attention, baseline);
    return colourScale({ kind: 'diverging', max: top, palette, type, theme });
  }
  return max === null ? null : colourScale({ kind: 'sequential', max, palette, type, theme });
}

function ownScale(
  { attention, queryCount, keyCount, palette, scaleType: type }: HeadsProperties,
  offset: number,
  theme: PictureTheme['theme'],
): ColourScale {
  let max = 0;
  for (let i = offset; i < offset + queryCount * keyCount; i++) {
    if ((attention[i] as number) > max) max = attention[i] as number;
  }
  return colourScale({ kind: 'sequential', max: roundMax(max), palette, type, theme });
}

function strike(context: Context, { ink }: PictureTheme, ratio: number, line: [number, number, number, number]): void {
  context.strokeStyle = ink;
  context.lineWidth = 2 * ratio;
  context.beginPath();
  context.moveTo(line[0], line[1]);
  context.lineTo(line[2], line[3]);
  context.stroke();
}

/** A bar against the largest possible entropy and the number, under every map. */
function drawEntropies(
  context: Context,
  { places }: HeadsLayout,
  { entropy }: HeadsProperties,
  theme: PictureTheme,
  measure: Measure,
  isAblated: (index: number) => boolean,
): void {
  if (!entropy) return;
  context.font = `${ENTROPY_FONT_SIZE}px ${theme.font}`;
  context.textAlign = 'right';
  for (const [index, { left, side, entropyAt }] of places.entries()) {
    const value = entropy.values[index] as number;
    const text = formatNumber(value);
    const room = Math.max(0, side - measure(text) - GAP);
    const share = entropy.max > 0 ? Math.min(1, Math.max(0, value / entropy.max)) : 0;
    const top = entropyAt - TRACK_HEIGHT / 2;
    context.globalAlpha = 0.5;
    context.fillStyle = theme.line;
    context.fillRect(left, top, room, TRACK_HEIGHT);
    context.globalAlpha = 1;
    context.fillStyle = theme.muted;
    context.fillRect(left, top, room * share, TRACK_HEIGHT);
    context.fillStyle = theme.ink;
    context.fillText(text, left + side, entropyAt + 0.36 * ENTROPY_FONT_SIZE);
    if (isAblated(index)) context.fillRect(left + room + GAP, entropyAt, side - room - GAP, 1);
  }
}
