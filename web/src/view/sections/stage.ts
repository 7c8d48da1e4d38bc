/** The middle of the lens: the chosen view of the selected heads, or what stands in its way. */
import { html, nothing, type TemplateResult } from 'lit';
import { guard } from 'lit/directives/guard.js';
import type { ShownMap } from '../maps.js';
import { paint, scopeOf } from '../mask.js';
import { differenceMax, roundMax } from '../pictures/colour.js';
import type { HeadRef, PaintDetail } from '../pictures/types.js';
import { type LensState, paintScopes, palettes, scaleTypes, setMask, stepHead, type View, views } from '../state.js';
import type { LensContext } from './context.js';
import { failure, loading } from './failure.js';
import { checkbox, choiceList, segments } from './fields.js';
import { headList } from './heads.js';
import { steps } from './steps.js';

export function stage(lens: LensContext): TemplateResult {
  const { maps, state, t } = lens;
  const shown = maps.length > 0 ? maps.flatMap(({ heads }) => heads) : state.heads;
  return html`
    <section class="stage" part="stage" aria-label=${t('view')}>
      ${guard([state.view, state.palette, state.scaleType, state.asTable, t], () => pictureTools(lens))}
      <div class="row title">
        <h2>${shown.length === 1 || state.combine === 'average' ? mapName(shown, lens) : headList(shown, t)}</h2>
        <p class="hint" role="status">${lens.message || hint(lens)}</p>
      </div>
      <div class="picture">${content(lens)}</div>
      <div class="foot">
        ${legend(lens, lens.maps)}
        <p class="caveat" part="caveat">${t('caveat')}</p>
      </div>
    </section>
  `;
}

function pictureTools(lens: LensContext): TemplateResult {
  const { state, t } = lens;
  return html`
    <div class="row spread">
      ${segments<View>({
        name: 'view',
        label: t('view'),
        value: state.view,
        choices: views.map((view) => ({ value: view, label: t(`view.${view}`) })),
        choose: (view) => lens.set((now) => ({ ...now, view })),
      })}
      ${colourTools(lens)}
    </div>
  `;
}

function colourTools({ state, t, set }: LensContext): TemplateResult {
  return html`
    <div class="row">
      ${choiceList({
        label: t('palette'),
        value: state.palette,
        choices: palettes.map((value) => ({ value, label: t(`palette.${value}`) })),
        choose: (palette) => set((now) => ({ ...now, palette })),
      })}
      ${choiceList({
        label: t('colours'),
        value: state.scaleType,
        choices: scaleTypes.map((value) => ({ value, label: t(`colours.${value}`) })),
        choose: (scaleType) => set((now) => ({ ...now, scaleType })),
      })}
      ${checkbox({
        label: t('view.table'),
        checked: state.asTable,
        change: (asTable) => set((now) => ({ ...now, asTable })),
      })}
    </div>
  `;
}

function mapName(heads: readonly HeadRef[], { t }: LensContext): string {
  const [first, ...others] = heads;
  if (!first) return '';
  if (others.length > 0) return t('heads.averageOf', { heads: headList(heads, t) });
  return t('headName', { layer: first.layer + 1, head: first.head + 1 });
}

function hint({ state, t, answer, explored }: LensContext): string {
  if (!answer) return '';
  if (state.view === 'difference') return t('view.differenceOf');
  return explored || state.view !== 'heatmap'
    ? ''
    : t(matchMedia('(hover: none)').matches ? 'view.hintTouch' : 'view.hint');
}

function content(lens: LensContext): TemplateResult | readonly TemplateResult[] {
  const { status, answer, maps, state, t } = lens;
  if (status.kind === 'failed') return failure(lens, status.error);
  if (status.kind === 'loading') return loading(lens, status);
  if (!answer) return html`<p class="hint">${t('sentence.empty')}</p>`;
  if (state.view === 'steps') return steps(lens);
  if (isDifference(lens) && maps.every((map) => map.baseline === null))
    return html`<p class="note">${t('view.noDifference')}</p>`;
  return html`<div class="maps ${maps.length > 1 ? 'several' : ''}" style="--rows: ${Math.ceil(maps.length / 2)}">${maps.map((map) => heatmap(lens, map))}</div>`;
}

const isDifference = ({ state }: LensContext): boolean => state.view === 'difference';

/** A round top for all maps, so that colours change little while one types, and compare between maps. */
const sharedMax = (maps: readonly ShownMap[]): number =>
  roundMax(maps.reduce((most, { max }) => Math.max(most, max), 0));

/** Weights share a legend; a difference has the range of its own map. */
function legend(lens: LensContext, maps: readonly ShownMap[]): TemplateResult | typeof nothing {
  const [first] = maps;
  const { state } = lens;
  const difference = isDifference(lens);
  if (!first || state.view === 'steps' || (difference && (first.baseline === null || maps.length > 1))) return nothing;
  return html`
    <mh-legend
      part="legend"
      .kind=${difference ? 'diverging' : 'sequential'}
      .max=${first.baseline && difference ? differenceMax(first.weights, first.baseline) : sharedMax(maps)}
      .palette=${state.palette}
      .scaleType=${state.scaleType}
      .masked=${maps.some((map) => (difference ? map.everVisible : map.visible).includes(0))}
      .words=${lens.words}
    ></mh-legend>
  `;
}

/** Painting "selected heads" in a picture of one head paints that head alone. */
function paintCells(state: LensState, map: ShownMap, { cells, hide }: PaintDetail, stroke: string): LensState {
  const scopes = state.paintScope === 'selected' ? map.heads.map(scopeOf) : paintScopes(state);
  const painted = paint(
    state.mask,
    cells.map(([query, key]) => ({ query, key })),
    hide,
    scopes,
  );
  return setMask(state, painted, stroke);
}

function heatmap(lens: LensContext, map: ShownMap): TemplateResult {
  const { answer, maps, pointed, state } = lens;
  const difference = isDifference(lens);
  const tokens = answer?.result.tokens ?? [];
  const name = mapName(map.heads, lens);
  return html`
    <figure class="map">
      ${maps.length > 1 ? html`<figcaption>${name}</figcaption>` : nothing}
      <mh-heatmap
        .queries=${tokens}
        .keys=${tokens}
        .weights=${map.weights}
        .baseline=${difference ? map.baseline : null}
        .scores=${map.scores}
        .rawScores=${map.rawScores}
        .visible=${difference ? map.everVisible : map.visible}
        .rowValues=${map.rowEntropy}
        .selectedQuery=${state.query}
        .cell=${pointed}
        .palette=${state.palette}
        .scaleType=${state.scaleType}
        .max=${sharedMax(maps)}
        .tool=${state.tool}
        .asTable=${state.asTable}
        .label=${name}
        .words=${lens.words}
        @mh-cell=${(event: HTMLElementEventMap['mh-cell']) => lens.point(event.detail && { ...event.detail, map })}
        @mh-query=${({ detail }: HTMLElementEventMap['mh-query']) => lens.set((now) => ({ ...now, query: detail.query }))}
        @mh-paint=${({ detail }: HTMLElementEventMap['mh-paint']) => {
          const stroke = lens.stroke(detail.done);
          lens.set((now) => paintCells(now, map, detail, stroke));
        }}
        @mh-head-step=${({ detail: { by, of } }: HTMLElementEventMap['mh-head-step']) => {
          if (answer) lens.set((now) => stepHead(now, of === 'head' ? { heads: by } : { layers: by }, answer.result));
        }}
        @mh-table=${({ detail }: HTMLElementEventMap['mh-table']) =>
          lens.set((now) => ({ ...now, asTable: detail.asTable }))}
      ></mh-heatmap>
      ${difference && maps.length > 1 ? legend(lens, [map]) : nothing}
    </figure>
  `;
}
