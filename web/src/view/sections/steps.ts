/** One row of attention as a table of its arithmetic (row-steps.ts), with bars over it. */
import { html, type TemplateResult } from 'lit';
import { formatFactor } from '../format.js';
import { mapRow, type ShownMap } from '../maps.js';
import { formatNumber, formatWeight } from '../pictures/format.js';
import { tokenText } from '../pictures/token-text.js';
import { rowSteps, type StepKind, seesKey } from '../row-steps.js';
import { ablationOf } from '../state.js';
import type { LensContext } from './context.js';

/** The factor on q·k that the engine used. */
export function scaleFactor({ answer, state, model }: LensContext): number {
  const { scale } = answer?.state ?? state;
  if (typeof scale === 'number') return scale;
  return scale === 'none' ? 1 : 1 / Math.sqrt(model?.info.headDim ?? 1);
}

/** Is this one head, ablated so that its weights are equal? */
export function isUniform({ answer, state }: LensContext, { heads }: ShownMap): boolean {
  const [head] = heads;
  return heads.length === 1 && head !== undefined && ablationOf(answer?.state ?? state, head) === 'uniform';
}

/** What stands before a row of the table. */
function stepName(kind: StepKind, lens: LensContext, seesAnyKey: boolean): { name: string; note: string } {
  const { t } = lens;
  switch (kind) {
    case 'raw':
      return { name: 'q·k', note: t('steps.rawNote') };
    case 'scaled':
      return { name: `× ${formatFactor(scaleFactor(lens))}`, note: t('steps.scoresNote') };
    case 'heated':
      return { name: `÷ ${formatFactor(lens.answer?.state.temperature ?? 1)}`, note: t('temperature') };
    case 'uniform':
      return { name: t('ablate.uniform'), note: t('steps.uniformNote') };
    case 'exponents':
      return { name: 'e^(x − max)', note: t('steps.exponentNote') };
    case 'weights':
      return seesAnyKey
        ? { name: '÷ Σ', note: t('steps.weightsNote') }
        : { name: t('reading.weight'), note: t('steps.noKeyNote') };
  }
}

const formats: Record<StepKind, (value: number) => string> = {
  raw: formatNumber,
  scaled: formatNumber,
  heated: formatNumber,
  uniform: formatNumber,
  exponents: formatWeight,
  weights: formatWeight,
};

export function steps(lens: LensContext): TemplateResult {
  const { answer, maps, state, t } = lens;
  const map = maps[0];
  const tokens = answer?.result.tokens ?? [];
  const size = tokens.length;
  const query = state.query ?? size - 1;
  const queryToken = tokens[query];
  if (map && map.heads.length > 1)
    return html`<p class="note">${t('reading.average', { count: map.heads.length })}</p>`;
  // The scores of a head just selected are still to come.
  if (!map?.scores || !map.rawScores || !queryToken) return html``;

  const scores = mapRow(map.scores, query, size);
  const weights = mapRow(map.weights, query, size);
  const all = rowSteps({
    rawScores: mapRow(map.rawScores, query, size),
    scores,
    weights,
    factor: scaleFactor(lens),
    temperature: answer?.state.temperature ?? 1,
    uniform: isUniform(lens, map),
  });
  return html`
    <p class="note">${t('steps.hint', { token: tokenText(queryToken) })}</p>
    <mh-bars
      .keys=${tokens}
      .query=${query}
      .queryText=${tokenText(queryToken)}
      .weights=${weights}
      .baseline=${map.baseline?.subarray(query * size, (query + 1) * size) ?? null}
      .visible=${map.visible.subarray(query * size, (query + 1) * size)}
      .cell=${lens.pointed}
      .words=${lens.words}
      @mh-cell=${(event: HTMLElementEventMap['mh-cell']) => lens.point(event.detail && { ...event.detail, map })}
    ></mh-bars>
    <div class="scroll" tabindex="0" role="region" aria-label=${t('view.steps')}>
      <table class="steps">
        <thead>
          <tr>
            <td></td>
            ${tokens.map((token) => html`<th scope="col">${tokenText(token)}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${all.map(({ kind, values }) => {
            const { name, note } = stepName(kind, lens, seesKey(scores));
            return html`<tr>
              <th scope="row">${name}<small>${note}</small></th>
              ${values.map(
                (value, key) =>
                  html`<td style="--weight: ${weights[key] ?? 0}" class=${map.visible[query * size + key] ? '' : 'masked'}>
                    ${formats[kind](value)}
                  </td>`,
              )}
            </tr>`;
          })}
        </tbody>
      </table>
    </div>
  `;
}
