/** All layers × heads as thumbnails, and how several are shown. */
import { html, nothing, type TemplateResult } from 'lit';
import type { Translate } from '../i18n/index.js';
import { formatTick } from '../pictures/format.js';
import type { HeadRef } from '../pictures/types.js';
import type { Answer } from '../session.js';
import { type Combination, selectHead } from '../state.js';
import type { LensContext } from './context.js';
import { checkbox, segments } from './fields.js';

/** `L2·H1`, or with several `L2·H1, L3·H7`. */
export const headList = (heads: readonly HeadRef[], t: Translate): string =>
  heads.map(({ layer, head }) => t('head.short', { layer: layer + 1, head: head + 1 })).join(', ');

export function heads(lens: LensContext): TemplateResult {
  const { state, t } = lens;
  return html`
    <section class="heads" part="heads" aria-labelledby="heads-title">
      <div class="row">
        <h2 id="heads-title">${t('heads')}</h2>
        ${checkbox({
          label: t('heads.adding'),
          title: t('heads.addingHint'),
          checked: lens.adding,
          change: (on) => lens.setAdding(on),
        })}
        ${
          state.heads.length > 1
            ? segments<Combination>({
                name: 'combine',
                label: t('heads.combine'),
                value: state.combine,
                choices: [
                  { value: 'average', label: t('heads.average') },
                  { value: 'side', label: t('heads.side') },
                ],
                choose: (combine) => lens.set((now) => ({ ...now, combine })),
              })
            : nothing
        }
      </div>
      ${changeNote(lens)} ${overviewNote(lens)} ${thumbnails(lens)}
    </section>
  `;
}

/** Of a long text: what the thumbnails leave out. */
function overviewNote({ answer, overview, t }: LensContext): TemplateResult | typeof nothing {
  if (!overview || !answer?.result.chosenAttention) return nothing;
  return html`<p class="note">${t('heads.overview', { every: overview.every })}</p>`;
}

/** In the view of differences: what the strongest colours of the thumbnails stand for. */
function changeNote({ answer, state, changeMax, t }: LensContext): TemplateResult | typeof nothing {
  if (state.view !== 'difference' || changeMax === null || answer?.result.chosenAttention) return nothing;
  return html`<p class="note">${t('heads.change', { max: formatTick(changeMax) })}</p>`;
}

interface HeadMaps {
  /** `[L, H, rows, columns]` */
  readonly attention: Float32Array;
  readonly baseline: Float32Array | null;
  readonly rows: number;
  readonly columns: number;
}

/** The maps of all heads: whole ones, or of a long text those in little, which come later; until then, blank ones. */
function headMaps({ overview, state }: LensContext, { result, baseline }: Answer): HeadMaps {
  const size = result.tokens.length;
  if (!result.chosenAttention) {
    const before = state.view === 'difference' ? (baseline?.attention ?? null) : null;
    return { attention: result.attention, baseline: before, rows: size, columns: size };
  }
  return overview
    ? { ...overview, baseline: null }
    : { attention: new Float32Array(result.layers * result.heads), baseline: null, rows: 1, columns: 1 };
}

function thumbnails(lens: LensContext): TemplateResult {
  const { answer, state } = lens;
  if (!answer) return html`<div class="blank-heads" aria-hidden="true"></div>`;
  const { result } = answer;
  const maps = headMaps(lens, answer);
  return html`
    <mh-heads
      .layers=${result.layers}
      .heads=${result.heads}
      .queryCount=${maps.rows}
      .keyCount=${maps.columns}
      .attention=${maps.attention}
      .baseline=${maps.baseline}
      .entropy=${lens.entropies}
      .selected=${state.heads}
      .ablated=${state.ablations}
      .palette=${state.palette}
      .scaleType=${state.scaleType}
      .max=${maps.baseline ? lens.changeMax : null}
      .layout=${lens.narrow ? 'strip' : 'grid'}
      .adding=${lens.adding}
      .words=${lens.words}
      @mh-head-select=${({ detail: { add, ...head } }: HTMLElementEventMap['mh-head-select']) =>
        lens.set((now) => selectHead(now, head, add))}
    ></mh-heads>
  `;
}
