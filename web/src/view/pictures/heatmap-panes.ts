/** The panes around the cells, drawn with D3: labels of rows and columns, and the bars at the end of the rows. */
import { scaleLinear } from 'd3-scale';
import { select } from 'd3-selection';
import { formatNumber } from './format.js';
import { LABEL, type PlacedLabel } from './labels.js';
import type { MapLayout } from './map-layout.js';
import type { EntropyValues } from './types.js';

/** Draws labels; each text element keeps its index in `data-index`. */
export function drawLabels(svg: SVGSVGElement, labels: readonly PlacedLabel[]): void {
  select(svg)
    .selectAll<SVGTextElement, PlacedLabel>('text')
    .data(labels, (label) => label.index)
    .join('text')
    .attr('data-index', (label) => label.index)
    .attr('text-anchor', (label) => label.anchor)
    .attr('transform', ({ rotate, lines: [line] }) => (rotate && line ? `rotate(${rotate} ${line.x} ${line.y})` : null))
    .selectAll<SVGTSpanElement, PlacedLabel['lines'][number]>('tspan')
    .data((label) => label.lines)
    .join('tspan')
    .attr('x', (line) => line.x)
    .attr('y', (line) => line.y)
    .attr('dy', '.35em')
    .text((line) => line.text);
}

/** Marks the label of the row or column under the pointer, and the chosen one. */
export function markLabels(svg: SVGSVGElement, lit: number | null, chosen: number | null): void {
  mark(svg, 'lit', lit);
  mark(svg, 'chosen', chosen);
}

function mark(svg: SVGSVGElement, name: string, index: number | null): void {
  for (const old of svg.querySelectorAll(`.${name}`)) old.classList.remove(name);
  if (index !== null) svg.querySelector(`[data-index="${index}"]`)?.classList.add(name);
}

/** Room for a number beside a bar, and around both. */
const VALUE = { numberWidth: 34, inset: 4, maxThickness: 10 };

/** Draws a bar a row against `max`, with its number where there is room. All bars are one path: there may be many. */
export function drawRowValues(
  svg: SVGSVGElement,
  entropy: EntropyValues,
  layout: MapLayout,
  range: { readonly from: number; readonly to: number },
): void {
  const { cell, valuesWidth } = layout;
  const numbers = cell >= LABEL.pitch && valuesWidth > 2 * VALUE.numberWidth;
  const room = valuesWidth - VALUE.inset * 2 - (numbers ? VALUE.numberWidth : 0);
  const length = scaleLinear([0, entropy.max || 1], [0, room]).clamp(true);
  const thickness = Math.max(1, Math.min(VALUE.maxThickness, cell - 3));
  const rows = Array.from({ length: range.to - range.from }, (_, i) => range.from + i);
  const bar = (row: number, width: number) =>
    `M${VALUE.inset} ${(row + 0.5) * cell - thickness / 2}h${width}v${thickness}h${-width}z`;
  const root = select(svg);
  const path = (name: string, shape: string) =>
    root.selectAll(`path.${name}`).data([shape]).join('path').attr('class', name).attr('d', String);
  path('track', rows.map((row) => bar(row, room)).join(''));
  path('bar', rows.map((row) => bar(row, length(entropy.values[row] as number))).join(''));
  root
    .selectAll<SVGTextElement, number>('text')
    .data(numbers ? rows : [], (row) => row)
    .join('text')
    .attr('x', valuesWidth - VALUE.inset)
    .attr('y', (row) => (row + 0.5) * cell)
    .text((row) => formatNumber(entropy.values[row] as number));
}
