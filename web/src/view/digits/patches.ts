/** The picture with what the chosen head looks at over it: 8 x 8 patches, a grid that pointer and keys walk. */

import { html, nothing, type TemplateResult } from 'lit';
import { gridSide } from 'multihead/models/digits';
import { colourOf, colourScale, pixelToCss, weightMax } from '../pictures/colour.js';
import { formatWeight } from '../pictures/format.js';
import { type Desk, shownRow } from './context.js';

const steps: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
};

/** Place of the first patch in a map. */
export const firstPatch = ({ reader }: Desk): number => Number(reader.hasClassToken);

const patchName = ({ t }: Desk, patch: number): string =>
  t('query.patch', { row: Math.floor(patch / gridSide) + 1, column: (patch % gridSide) + 1 });

export const placeName = (desk: Desk, place: number): string =>
  place < firstPatch(desk) ? desk.t('query.class') : patchName(desk, place - firstPatch(desk));

/** Moves the focus from patch to patch. */
function walk(event: KeyboardEvent): void {
  const step = steps[event.key];
  const button = (event.target as Element).closest<HTMLElement>('button[data-patch]');
  if (!step || !button || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const patch = Number(button.dataset.patch);
  const [row, column] = [Math.floor(patch / gridSide) + step[0], (patch % gridSide) + step[1]];
  if (row < 0 || column < 0 || row >= gridSide || column >= gridSide) return;
  const grid = button.closest('.patches');
  grid?.querySelector<HTMLElement>(`[data-patch="${row * gridSide + column}"]`)?.focus();
}

export function patches(desk: Desk): TemplateResult {
  const { t, reader, head } = desk;
  const row = shownRow(desk);
  const windows = reader.windows(head.layer);
  const scale = colourScale({
    kind: 'sequential',
    max: weightMax(row.slice(firstPatch(desk))),
    palette: 'cividis',
    type: 'linear',
    theme: desk.dark ? 'dark' : 'light',
  });
  const chosen = desk.query - firstPatch(desk);
  return html`<div class="picture">
    <div class="patches" role="group" aria-label=${t('patches')} @keydown=${walk}>
      ${Array.from({ length: gridSide ** 2 }, (_, patch) => {
        const weight = row[patch + firstPatch(desk)] ?? 0;
        const hidden = windows !== null && chosen >= 0 && windows[patch] !== windows[chosen];
        const [rowNumber, column] = [Math.floor(patch / gridSide) + 1, (patch % gridSide) + 1];
        const label = t(hidden ? 'patch.hidden' : 'patch', { row: rowNumber, column, weight: formatWeight(weight) });
        return html`<button
          type="button"
          data-patch=${patch}
          class=${classesOf(patch, windows, hidden)}
          style=${hidden ? nothing : `--weight: ${pixelToCss(colourOf(scale, weight))}`}
          tabindex=${patch === Math.max(0, chosen) ? 0 : -1}
          aria-pressed=${patch === chosen}
          aria-label=${label}
          title=${label}
          @click=${() => desk.look(patch + firstPatch(desk))}
        ></button>`;
      })}
    </div>
    <canvas class="ink" aria-hidden="true"></canvas>
  </div>`;
}

/** A patch has a line where a window ends. */
function classesOf(patch: number, windows: readonly number[] | null, hidden: boolean): string {
  const names = [hidden ? 'hidden-patch' : ''];
  if (windows && patch % gridSide > 0 && windows[patch - 1] !== windows[patch]) names.push('edge-left');
  if (windows && patch >= gridSide && windows[patch - gridSide] !== windows[patch]) names.push('edge-top');
  return names.filter(Boolean).join(' ');
}
