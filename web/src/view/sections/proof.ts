/** What shows that the numbers are real: sums, times, the engine that made them. */
import { html, nothing, type TemplateResult } from 'lit';
import { formatError, formatMilliseconds, formatTiny } from '../format.js';
import type { LensContext } from './context.js';

export function proof(lens: LensContext): TemplateResult {
  const { answer, model, t } = lens;
  return html`
    <section class="proof" part="proof" aria-labelledby="proof-title">
      <h2 id="proof-title">${t('proof')}</h2>
      ${answer && model ? html`<dl>${facts(lens).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>` : nothing}
    </section>
  `;
}

function facts({ answer, model, deviation, latency, t }: LensContext): readonly (readonly [string, string])[] {
  if (!answer || !model) return [];
  const { result } = answer;
  const ms = (value: number) => t('proof.ms', { value: formatMilliseconds(value) });
  return [
    [t('proof.tokens'), `${result.tokens.length} / ${model.info.positions}`],
    [t('proof.heads'), `${result.layers} × ${result.heads}`],
    [t('proof.compute'), ms(result.milliseconds)],
    [t('proof.pixels'), latency === null ? '–' : ms(latency)],
    [t('proof.engine'), `${t(`proof.${result.build}`)}, ${t(`proof.${model.thread}`)}`],
    [t('proof.sums'), `± ${formatTiny(deviation ?? 0)}`],
    // The engine looks at every number of a run, and fails the run if one is not finite.
    [t('proof.finite'), t('proof.allFinite')],
    [t('proof.masked'), String(result.maskedRows)],
    ...(model.info.attentionError > 0
      ? [[t('proof.compressed'), `± ${formatError(model.info.attentionError)}`] as const]
      : []),
  ];
}
