/** One row of attention as arithmetic: q·k, scaled and masked, over temperature, softmax. Every number follows from the one above. */
import { html, nothing, type TemplateResult } from 'lit';
import { formatNumber, formatWeight } from '../pictures/format.js';
import { tokenText } from '../pictures/token-text.js';
import type { LensContext } from './context.js';

interface Step {
  readonly name: string;
  readonly note: string;
  readonly values: readonly string[];
}

/** The factor on q·k that the engine used. */
export function scaleFactor({ state, model }: LensContext): number {
  if (typeof state.scale === 'number') return state.scale;
  return state.scale === 'none' ? 1 : 1 / Math.sqrt(model?.info.headDim ?? 1);
}

export function steps(lens: LensContext): TemplateResult {
  const { answer, maps, state, t } = lens;
  const map = maps[0];
  const tokens = answer?.result.tokens ?? [];
  const query = state.query ?? tokens.length - 1;
  const queryToken = tokens[query];
  if (!map?.scores || !map.rawScores || !queryToken)
    return html`<p class="note">${t('reading.average', { count: map?.heads.length ?? 0 })}</p>`;

  const size = tokens.length;
  const row = <T extends Float32Array>(data: T) => [...data.subarray(query * size, (query + 1) * size)];
  const scores = row(map.scores);
  const weights = row(map.weights);
  const heated = state.temperature !== 1;
  const exponents = scores.map((score) =>
    Math.exp(score / state.temperature - Math.max(...scores) / state.temperature),
  );
  const all: (Step | null)[] = [
    { name: 'q·k', note: t('steps.rawNote'), values: row(map.rawScores).map(formatNumber) },
    {
      name: `× ${formatNumber(scaleFactor(lens))}`,
      note: t('steps.scoresNote'),
      values: scores.map(formatNumber),
    },
    heated
      ? {
          name: `÷ ${formatNumber(state.temperature)}`,
          note: t('temperature'),
          values: scores.map((score) => formatNumber(score / state.temperature)),
        }
      : null,
    { name: 'e^(x − max)', note: t('steps.exponentNote'), values: exponents.map(formatWeight) },
    { name: '÷ Σ', note: t('steps.weightsNote'), values: weights.map(formatWeight) },
  ];
  return html`
    <p class="note">${t('steps.hint', { token: tokenText(queryToken) })}</p>
    <mh-bars
      .keys=${tokens}
      .query=${query}
      .queryText=${tokenText(queryToken)}
      .weights=${map.weights.subarray(query * size, (query + 1) * size)}
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
          ${all.map((step) =>
            step === null
              ? nothing
              : html`<tr>
                  <th scope="row">${step.name}<small>${step.note}</small></th>
                  ${step.values.map(
                    (value, key) =>
                      html`<td style="--weight: ${weights[key] ?? 0}" class=${map.visible[query * size + key] ? '' : 'masked'}>
                        ${value}
                      </td>`,
                  )}
                </tr>`,
          )}
        </tbody>
      </table>
    </div>
  `;
}
