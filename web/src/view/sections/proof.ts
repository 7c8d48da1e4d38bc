/** What shows that the numbers are real: sums, times, the engine that made them. */
import { html, nothing, type TemplateResult } from 'lit';
import type { Model } from '../../core/types.js';
import { formatError, formatMilliseconds, formatTiny } from '../format.js';
import type { Translate } from '../i18n/index.js';
import type { Answer } from '../session.js';
import type { LensContext } from './context.js';

interface Fact {
  readonly name: string;
  readonly value: string;
  /** What it means and where it comes from. */
  readonly title: string;
}

export function proof(lens: LensContext): TemplateResult {
  const { answer, model, t } = lens;
  return html`
    <section class="proof" part="proof" aria-labelledby="proof-title">
      <h2 id="proof-title">${t('proof')}</h2>
      ${
        answer && model
          ? html`<dl>${facts(lens, answer, model).map(({ name, value, title }) => html`<div title=${title}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`
          : nothing
      }
    </section>
  `;
}

function facts(lens: LensContext, answer: Answer, model: Model): readonly Fact[] {
  const { deviation, drawTime, latency, runTimes, t } = lens;
  const { result } = answer;
  const ms = (value: number) => t('proof.ms', { value: formatMilliseconds(value) });
  const fact = (name: ProofName, value: string, values: Readonly<Record<string, number>> = {}): Fact => ({
    name: t(`proof.${name}`),
    value,
    title: t(`proof.${name}Note`, values),
  });
  return [
    fact('tokens', `${result.tokens.length} / ${model.info.positions}`),
    fact('heads', `${result.layers} × ${result.heads}`),
    fact('compute', ms(median(runTimes)), { count: runTimes.length }),
    fact('pixels', latency === null ? '–' : ms(latency)),
    ...(drawTime === null ? [] : [fact('stages', stages(answer, drawTime, t))]),
    fact(
      'engine',
      `${t(`proof.${result.build}`)}, ${t(`proof.${model.thread}`)}, ${t('proof.threads', { count: model.threads })}`,
    ),
    fact('sums', `± ${formatTiny(deviation ?? 0)}`),
    // A run that was checked and still has an answer had none: the engine fails it otherwise.
    fact('finite', t(result.checkedFinite ? 'proof.allFinite' : 'proof.unchecked')),
    fact('masked', String(result.maskedRows)),
    ...(model.info.attentionError !== null ? [fact('compressed', `± ${formatError(model.info.attentionError)}`)] : []),
  ];
}

type ProofName =
  | 'tokens'
  | 'heads'
  | 'compute'
  | 'pixels'
  | 'stages'
  | 'engine'
  | 'sums'
  | 'finite'
  | 'masked'
  | 'compressed';

/** Where the time of the last change went. */
function stages({ result: { times } }: Answer, drawTime: number, t: Translate): string {
  return t('proof.stagesOf', {
    tokens: formatMilliseconds(times.tokenize),
    pass: formatMilliseconds(times.forward),
    transfer: formatMilliseconds(times.prepare + times.results + times.transfer),
    draw: formatMilliseconds(drawTime),
  });
}

/** The middle of some numbers; the upper of two. */
function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
