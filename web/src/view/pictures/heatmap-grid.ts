/**
 * The accessible side of a map: an HTML grid laid over the canvas with one tab stop, of which only the row with the focus
 * is in the document. The keyboard model is grid-nav.ts; columns and rows count from 1 in ARIA, labels being the first.
 */
import { html, type TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import type { GridPosition } from './grid-nav.js';
import { cellName, keyName, queryName } from './map-words.js';
import type { MapPicture, Words } from './types.js';

/** So many cells to each side of the focus are in the document. */
const REACH = 40;

export interface GridOptions {
  readonly picture: MapPicture;
  readonly at: GridPosition;
  readonly label: string;
  readonly words: Words;
}

/** The grid; its cells are placed by the custom properties `--q` and `--k`. */
export function mapGrid({ picture, at, label, words }: GridOptions): TemplateResult {
  const from = Math.max(0, at.column - REACH);
  const to = Math.min(picture.keys.length, at.column + REACH + 1);
  const columns = Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);
  return html`<div
    class="grid"
    role="grid"
    aria-label=${label}
    aria-describedby="help"
    aria-rowcount=${picture.queries.length + 1}
    aria-colcount=${picture.keys.length + 1}
  >
    ${
      at.row < 0
        ? html`<div role="row" aria-rowindex="1">
            ${repeat(
              columns,
              (key) => `${at.row} ${key}`,
              (key) => gridElement('columnheader', { row: -1, column: key }, at, keyName(picture, key, words)),
            )}
          </div>`
        : html`<div role="row" aria-rowindex=${at.row + 2} aria-selected=${picture.selectedQuery === at.row}>
            ${gridElement('rowheader', { row: at.row, column: -1 }, at, queryName(picture, at.row, words))}
            ${repeat(
              columns,
              (key) => `${at.row} ${key}`,
              (key) => gridElement('gridcell', { row: at.row, column: key }, at, cellName(picture, at.row, key, words)),
            )}
          </div>`
    }
  </div>`;
}

function gridElement(role: string, { row, column }: GridPosition, at: GridPosition, name: string): TemplateResult {
  const active = row === at.row && column === at.column;
  return html`<div
    role=${role}
    class=${role}
    aria-colindex=${column + 2}
    tabindex=${active ? 0 : -1}
    ?data-active=${active}
    style="--q:${row};--k:${column}"
  >
    <span class="hidden-words">${name}</span>
  </div>`;
}
