/** Controls on the arithmetic: the scale, the temperature, the precision, and heads switched off. */
import { html, nothing, type TemplateResult } from 'lit';
import { guard } from 'lit/directives/guard.js';
import type { AblationKind, Precision } from '../../core/types.js';
import { formatError } from '../format.js';
import { formatNumber } from '../pictures/format.js';
import { ablateSelected, ablationKinds, ablationOf, precisions, primaryHead, temperatureRange } from '../state.js';
import type { LensContext } from './context.js';
import { numberField, segments, slider } from './fields.js';
import { headList } from './heads.js';

/** Rendered only when something about it changes: typing does not concern it. */
export function arithmetic(lens: LensContext): unknown {
  const { scale, temperature, precision, ablations, heads } = lens.state;
  const error = lens.answer?.roundingError;
  return guard([scale, temperature, precision, error, ablations, heads, lens.model, lens.t], () => panel(lens));
}

function panel(lens: LensContext): TemplateResult {
  return html`
    <section class="panel" part="arithmetic" aria-labelledby="arithmetic-title">
      <h2 id="arithmetic-title">${lens.t('arithmetic')}</h2>
      ${scale(lens)} ${temperature(lens)} ${precision(lens)} ${ablation(lens)}
    </section>
  `;
}

function scale(lens: LensContext): TemplateResult {
  const { state, model, t } = lens;
  const usual = 1 / Math.sqrt(model?.info.headDim ?? 16);
  return html`
    <div class="row">
      ${segments<'default' | 'none' | 'value'>({
        name: 'scale',
        label: t('scale'),
        showLabel: true,
        value: typeof state.scale === 'number' ? 'value' : state.scale,
        choices: [
          { value: 'default', label: t('scale.default') },
          { value: 'none', label: t('scale.none') },
          { value: 'value', label: t('scale.value') },
        ],
        choose: (choice) => lens.set((now) => ({ ...now, scale: choice === 'value' ? usual : choice })),
      })}
      ${
        typeof state.scale === 'number'
          ? numberField({
              label: t('scale.factor'),
              value: state.scale,
              min: -1000,
              max: 1000,
              change: (value) => lens.set((now) => ({ ...now, scale: value })),
            })
          : nothing
      }
    </div>
  `;
}

/** The slider is logarithmic: the same way left or right of 1 halves or doubles. */
function temperature(lens: LensContext): TemplateResult {
  const { state, t } = lens;
  const set = (value: number) => lens.set((now) => ({ ...now, temperature: value }));
  return html`
    <div class="row">
      ${slider({
        label: t('temperature'),
        value: Math.log10(state.temperature),
        text: formatNumber(state.temperature),
        min: Math.log10(temperatureRange.min),
        max: Math.log10(temperatureRange.max),
        step: 0.01,
        change: (exponent) => set(Math.round(10 ** exponent * 100) / 100),
      })}
      <button
        class="small"
        title=${t('temperature.reset')}
        aria-label=${t('temperature.reset')}
        ?disabled=${state.temperature === 1}
        @click=${() => set(1)}
      >
        1
      </button>
    </div>
  `;
}

function precision(lens: LensContext): TemplateResult {
  const { state, answer, t } = lens;
  const error = answer?.roundingError ?? null;
  return html`
    ${segments<Precision>({
      name: 'precision',
      label: t('precision'),
      showLabel: true,
      value: state.precision,
      choices: precisions.map((value) => ({
        value,
        label: t(`precision.${value}`),
        title: t(`precision.${value}Note`),
      })),
      choose: (choice) => lens.set((now) => ({ ...now, precision: choice })),
    })}
    ${
      state.precision === 'int8' && error !== null
        ? html`<p class="note" part="rounding-error">${t('precision.error', { value: formatError(error) })}</p>`
        : nothing
    }
  `;
}

function ablation(lens: LensContext): TemplateResult {
  const { state, t } = lens;
  const kind = ablationOf(state, primaryHead(state));
  return html`
    ${segments<AblationKind | 'off'>({
      name: 'ablate',
      label: t('ablate', { heads: headList(state.heads, t) }),
      showLabel: true,
      value: kind ?? 'off',
      choices: [
        { value: 'off', label: t('ablate.off') },
        ...ablationKinds.map((value) => ({ value, label: t(`ablate.${value}`), title: t(`ablate.${value}Note`) })),
      ],
      choose: (choice) => lens.set((now) => ablateSelected(now, choice === 'off' ? null : choice)),
    })}
    ${kind ? html`<p class="note">${t(`ablate.${kind}Note`)}</p>` : nothing}
    ${
      state.ablations.length > 0
        ? html`
            <div class="row note">
              <span>${t('ablate.list', { heads: headList(state.ablations, t) })}</span>
              <button class="small" @click=${() => lens.set((now) => ({ ...now, ablations: [] }))}>
                ${t('ablate.clear')}
              </button>
            </div>
          `
        : nothing
    }
  `;
}
