/** All layers × heads as thumbnails, and how several are shown. */
import { html, nothing, type TemplateResult } from 'lit';
import type { Translate } from '../i18n/index.js';
import { formatTick } from '../pictures/format.js';
import type { HeadRef } from '../pictures/types.js';
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
      ${changeNote(lens)} ${thumbnails(lens)}
    </section>
  `;
}

/** In the view of differences: what the strongest colours of the thumbnails stand for. */
function changeNote({ state, changeMax, t }: LensContext): TemplateResult | typeof nothing {
  if (state.view !== 'difference' || changeMax === null) return nothing;
  return html`<p class="note">${t('heads.change', { max: formatTick(changeMax) })}</p>`;
}

function thumbnails(lens: LensContext): TemplateResult {
  const { answer, state } = lens;
  if (!answer) return html`<div class="blank-heads" aria-hidden="true"></div>`;
  const { result, baseline } = answer;
  return html`
    <mh-heads
      .layers=${result.layers}
      .heads=${result.heads}
      .queryCount=${result.tokens.length}
      .keyCount=${result.tokens.length}
      .attention=${result.attention}
      .baseline=${state.view === 'difference' ? (baseline?.attention ?? null) : null}
      .entropy=${lens.entropies}
      .selected=${state.heads}
      .ablated=${state.ablations}
      .palette=${state.palette}
      .scaleType=${state.scaleType}
      .max=${state.view === 'difference' ? lens.changeMax : null}
      .layout=${lens.narrow ? 'strip' : 'grid'}
      .adding=${lens.adding}
      .words=${lens.words}
      @mh-head-select=${({ detail: { add, ...head } }: HTMLElementEventMap['mh-head-select']) =>
        lens.set((now) => selectHead(now, head, add))}
    ></mh-heads>
  `;
}
