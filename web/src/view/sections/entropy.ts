/** How spread out attention is: every head by layer, the unit, and what entropy means. */
import { html, type TemplateResult } from 'lit';
import type { EntropyUnit } from '../pictures/types.js';
import { entropyUnits, selectHead } from '../state.js';
import type { LensContext } from './context.js';
import { segments } from './fields.js';

export function entropy(lens: LensContext): TemplateResult {
  const { state, t } = lens;
  return html`
    <section class="panel entropy" part="entropy" aria-labelledby="entropy-title">
      <div class="row">
        <h2 id="entropy-title">${t('entropy')}</h2>
        ${segments<EntropyUnit>({
          name: 'unit',
          label: t('entropy.unit'),
          value: state.unit,
          choices: entropyUnits.map((unit) => ({ value: unit, label: t(`entropy.${unit}`) })),
          choose: (unit) => lens.set((now) => ({ ...now, unit })),
        })}
      </div>
      ${chart(lens)}
      <details>
        <summary>${t('entropy.question')}</summary>
        <p>${t('entropy.what')}</p>
        <p>${t('entropy.unitNote')}</p>
        <p>${t('caveat')}</p>
      </details>
    </section>
  `;
}

function chart({ answer, entropies, state, set, words }: LensContext): TemplateResult {
  if (!answer) return html`<div class="blank-chart"></div>`;
  return html`
    <mh-entropy
      .layers=${answer.result.layers}
      .heads=${answer.result.heads}
      .entropy=${entropies}
      .selected=${state.heads}
      .ablated=${state.ablations}
      .words=${words}
      @mh-head-select=${({ detail: { add, ...head } }: HTMLElementEventMap['mh-head-select']) =>
        set((now) => selectHead(now, head, add))}
    ></mh-entropy>
  `;
}
