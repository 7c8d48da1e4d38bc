/** A map as an HTML table, for those who read numbers rather than colours. */
import { html, nothing, type TemplateResult } from 'lit';
import { formatChange, formatNumber, formatWeight } from './format.js';
import { isVisible, rowWeights } from './map-words.js';
import { tokenText } from './token-text.js';
import type { MapPicture, Words } from './types.js';
import { unitName } from './words.js';

/** A table of more rows or columns than this helps nobody and stops the browser; the export has them all. */
export const MOST_IN_TABLE = 128;

export function mapTable(picture: MapPicture, label: string, words: Words): TemplateResult {
  const rows = picture.queries.slice(0, MOST_IN_TABLE);
  const keys = picture.keys.slice(0, MOST_IN_TABLE);
  const cut = rows.length < picture.queries.length || keys.length < picture.keys.length;
  const { rowValues } = picture;
  return html`<div class="table" tabindex="0" role="region" aria-label=${label}>
    <table>
      <caption>
        ${label}${cut ? html`<br />${words('tableCut', { rows: rows.length, columns: keys.length })}` : nothing}
      </caption>
      <thead>
        <tr>
          <th scope="col">${words('tableCorner')}</th>
          ${keys.map((key, k) => html`<th scope="col">${k + 1} ${tokenText(key)}</th>`)}
          ${rowValues ? html`<th scope="col">${words('tableEntropy', { unit: unitName(rowValues.unit, words) })}</th>` : nothing}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (query, q) => html`<tr>
            <th scope="row">${q + 1} ${tokenText(query)}</th>
            ${keys.map((_, k) => tableCell(picture, q, k, words))}
            ${rowValues ? html`<td>${formatNumber(rowValues.values[q] as number)}</td>` : nothing}
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

function tableCell(picture: MapPicture, query: number, key: number, words: Words): TemplateResult {
  if (!isVisible(picture, query, key)) return html`<td class="masked">${words('tableMasked')}</td>`;
  const weight = rowWeights(picture, query)?.[key];
  if (weight === undefined) return html`<td>…</td>`;
  const before = picture.baseline?.[query * picture.keys.length + key];
  return html`<td>${before === undefined ? formatWeight(weight) : formatChange(weight - before)}</td>`;
}
