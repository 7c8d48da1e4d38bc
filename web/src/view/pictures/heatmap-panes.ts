/**
 * The panes around the cells: labels of rows and columns, and the bars at the end of the rows. There are hundreds of them
 * and they move while one types, so they are painted on a canvas each; the browser lays out only the few that are marked.
 */
import { scaleLinear } from 'd3-scale';
import { select } from 'd3-selection';
import { formatNumber } from './format.js';
import { LABEL, type PlacedLabel } from './labels.js';
import type { MapLayout } from './map-layout.js';
import { drawSoon } from './page-canvas.js';
import type { PictureTheme } from './theme.js';
import type { EntropyValues } from './types.js';

/** A part of a pane, in CSS pixels from the pane's corner. */
export interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

interface ShownLabels {
  readonly labels: readonly PlacedLabel[];
  /** Holds all of them. */
  readonly box: Box;
  readonly theme: PictureTheme;
}

/** From the middle of a line of text to its baseline, as SVG's `dy`. */
const BASELINE = 0.35;

/** The labels of one side: plain ones on a canvas, marked ones as SVG text, which styles and readers can find. */
export class LabelPane {
  readonly #canvas: HTMLCanvasElement;
  readonly #svg: SVGSVGElement;
  #shown: ShownLabels | null = null;
  #stale = false;
  #lit: number | null = null;
  #chosen: number | null = null;

  constructor(pane: HTMLElement) {
    this.#canvas = pane.querySelector('canvas') as HTMLCanvasElement;
    this.#svg = pane.querySelector('svg') as SVGSVGElement;
  }

  get labels(): readonly PlacedLabel[] {
    return this.#shown?.labels ?? [];
  }

  /** Other labels, drawn by the next `mark`. */
  show(shown: ShownLabels): void {
    this.#shown = shown;
    this.#stale = true;
  }

  /** Marks the label of the row or column under the pointer, and the chosen one. */
  mark(lit: number | null, chosen: number | null): void {
    if (!this.#stale && lit === this.#lit && chosen === this.#chosen) return;
    this.#lit = lit;
    this.#chosen = chosen;
    this.#draw();
  }

  #draw(): void {
    if (!this.#shown) return;
    this.#stale = false;
    const { labels, box, theme } = this.#shown;
    const isMarked = ({ index }: PlacedLabel) => index === this.#lit || index === this.#chosen;
    drawOver(this.#canvas, box, (context) => drawLabels(context, labels, isMarked, theme));
    this.#drawMarked(labels.filter(isMarked));
  }

  #drawMarked(labels: readonly PlacedLabel[]): void {
    select(this.#svg)
      .selectAll<SVGTextElement, PlacedLabel>('text')
      .data(labels, (label) => label.index)
      .join('text')
      .classed('lit', ({ index }) => index === this.#lit)
      .classed('chosen', ({ index }) => index === this.#chosen)
      .attr('text-anchor', (label) => label.anchor)
      .attr('transform', ({ rotate, lines: [line] }) =>
        rotate && line ? `rotate(${rotate} ${line.x} ${line.y})` : null,
      )
      .selectAll<SVGTSpanElement, PlacedLabel['lines'][number]>('tspan')
      .data((label) => label.lines)
      .join('tspan')
      .attr('x', (line) => line.x)
      .attr('y', (line) => line.y)
      .attr('dy', `${BASELINE}em`)
      .text((line) => line.text);
  }
}

const ALIGN = { start: 'left', middle: 'center', end: 'right' } as const;

function drawLabels(
  context: CanvasRenderingContext2D,
  labels: readonly PlacedLabel[],
  isMarked: (label: PlacedLabel) => boolean,
  theme: PictureTheme,
): void {
  context.font = `${LABEL.fontSize}px ${theme.font}`;
  context.fillStyle = theme.strong ? theme.ink : theme.muted;
  for (const label of labels) {
    if (isMarked(label)) continue;
    context.textAlign = ALIGN[label.anchor];
    for (const { text, x, y } of label.lines) {
      if (label.rotate === 0) {
        context.fillText(text, x, y + BASELINE * LABEL.fontSize);
        continue;
      }
      context.save();
      context.translate(x, y);
      context.rotate((label.rotate * Math.PI) / 180);
      context.fillText(text, 0, BASELINE * LABEL.fontSize);
      context.restore();
    }
  }
}

/** Places a canvas over a box of its pane and has it drawn anew, in coordinates of the pane. */
function drawOver(canvas: HTMLCanvasElement, box: Box, draw: (context: CanvasRenderingContext2D) => void): void {
  const ratio = devicePixelRatio;
  // Whole device pixels, or the text would be smoothed twice.
  const left = Math.floor(box.left * ratio) / ratio;
  const top = Math.floor(box.top * ratio) / ratio;
  const width = Math.ceil((box.left + box.width - left) * ratio);
  const height = Math.ceil((box.top + box.height - top) * ratio);
  const { style } = canvas;
  style.left = `${left}px`;
  style.top = `${top}px`;
  style.width = `${width / ratio}px`;
  style.height = `${height / ratio}px`;
  drawSoon(canvas, width, height, (context) => {
    context.setTransform(ratio, 0, 0, ratio, -left * ratio, -top * ratio);
    draw(context);
  });
}

/** Room for a number beside a bar, and around both. */
const VALUE = { numberWidth: 34, inset: 4, maxThickness: 10 };
/** What is left of a bar's track. */
const TRACK_OPACITY = 0.35;

/** Draws a bar a row against `max`, with its number where there is room. */
export function drawRowValues(
  canvas: HTMLCanvasElement,
  entropy: EntropyValues,
  layout: MapLayout,
  rows: { readonly from: number; readonly to: number },
  theme: PictureTheme,
): void {
  const { cell, valuesWidth: width } = layout;
  const box = { left: 0, top: rows.from * cell, width, height: (rows.to - rows.from) * cell };
  drawOver(canvas, box, (context) => drawBars(context, entropy, layout, rows, theme));
}

function drawBars(
  context: CanvasRenderingContext2D,
  entropy: EntropyValues,
  { cell, valuesWidth }: MapLayout,
  { from, to }: { readonly from: number; readonly to: number },
  theme: PictureTheme,
): void {
  const numbers = cell >= LABEL.pitch && valuesWidth > 2 * VALUE.numberWidth;
  const room = valuesWidth - VALUE.inset * 2 - (numbers ? VALUE.numberWidth : 0);
  const length = scaleLinear([0, entropy.max || 1], [0, room]).clamp(true);
  const thickness = Math.max(1, Math.min(VALUE.maxThickness, cell - 3));
  const bars = (width: (row: number) => number) => {
    for (let row = from; row < to; row++) {
      context.fillRect(VALUE.inset, (row + 0.5) * cell - thickness / 2, width(row), thickness);
    }
  };
  context.globalAlpha = TRACK_OPACITY;
  context.fillStyle = theme.line;
  bars(() => room);
  context.globalAlpha = 1;
  context.fillStyle = theme.muted;
  bars((row) => length(entropy.values[row] as number));
  if (!numbers) return;
  context.font = `${LABEL.fontSize}px ${theme.font}`;
  context.fillStyle = theme.strong ? theme.ink : theme.muted;
  context.textAlign = 'right';
  for (let row = from; row < to; row++) {
    const y = (row + 0.5) * cell + BASELINE * LABEL.fontSize;
    context.fillText(formatNumber(entropy.values[row] as number), valuesWidth - VALUE.inset, y);
  }
}
