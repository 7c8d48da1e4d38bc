/** One cell in numbers: query, key, weight and the scores it comes from. */
import { html, nothing, type TemplateResult } from 'lit';
import { copyText } from '../clipboard.js';
import type { PointedCell } from '../drawing.js';
import { formatChange, formatNumber, formatWeight } from '../pictures/format.js';
import { tokenText } from '../pictures/token-text.js';
import { unitName } from '../pictures/words.js';
import { ablationOf } from '../state.js';
import type { LensContext } from './context.js';
import { scaleFactor } from './steps.js';

export function reading(lens: LensContext): TemplateResult {
  const { pointed, t } = lens;
  return html`
    <section class="panel reading" part="reading" aria-labelledby="reading-title">
      ${pointed ? cell(lens, pointed) : html`<h2 id="reading-title">${t('reading')}</h2><p class="note">${t('reading.none')}</p>`}
    </section>
  `;
}

/** Every number of a cell, unrounded. */
function exactValues(lens: LensContext, { map, query, key }: PointedCell) {
  const tokens = lens.answer?.result.tokens ?? [];
  const at = query * tokens.length + key;
  return {
    query: tokens[query]?.text ?? '',
    key: tokens[key]?.text ?? '',
    heads: map.heads.map(({ layer, head }) => `${layer + 1}.${head + 1}`),
    weight: map.weights[at] ?? Number.NaN,
    before: map.baseline?.[at] ?? null,
    score: map.scores?.[at] ?? null,
    rawScore: map.rawScores?.[at] ?? null,
    masked: map.visible[at] === 0,
    rowEntropy: map.rowEntropy.values[query] ?? 0,
    entropyUnit: map.rowEntropy.unit,
  };
}

function cell(lens: LensContext, pointed: PointedCell): TemplateResult {
  const { state, t } = lens;
  const exact = exactValues(lens, pointed);
  const { map } = pointed;
  const only = map.heads[0];
  const ablated = map.heads.length === 1 && only !== undefined && ablationOf(state, only) !== null;
  return html`
    <div class="row spread">
      <h2 id="reading-title">
        ${t('reading.cell', { query: tokenText({ text: exact.query }), key: tokenText({ text: exact.key }) })}
      </h2>
      <button
        class="small"
        title=${t('reading.copy')}
        @click=${async () => {
          if (await copyText(JSON.stringify(exact))) lens.say(t('reading.copied'));
        }}
      >
        ${t('reading.copyShort')}
      </button>
    </div>
    <dl>
      ${
        exact.rawScore === null
          ? nothing
          : html`<dt>${t('reading.raw')}</dt>
              <dd>${formatNumber(exact.rawScore)}</dd>
              <dt>${t('reading.scaled', { factor: formatNumber(scaleFactor(lens)) })}</dt>
              <dd>${exact.masked ? html`<s>${formatNumber(exact.rawScore * scaleFactor(lens))}</s> −∞` : formatNumber(exact.score ?? Number.NaN)}</dd>`
      }
      <dt><strong>${t('reading.weight')}</strong></dt>
      <dd><strong>${formatWeight(exact.weight)}</strong></dd>
      ${
        exact.before === null
          ? nothing
          : html`<dt>${t('output.before')}</dt>
              <dd>${formatWeight(exact.before)} <small>(${formatChange(exact.weight - exact.before)})</small></dd>`
      }
      <dt>${t('reading.row')}</dt>
      <dd>${formatNumber(exact.rowEntropy)} ${unitName(exact.entropyUnit, lens.words)}</dd>
    </dl>
    ${exact.masked ? html`<p class="note">${t('reading.masked')}</p>` : nothing}
    ${exact.rawScore === null ? html`<p class="note">${t('reading.average', { count: map.heads.length })}</p>` : nothing}
    ${ablated ? html`<p class="note">${t('reading.ablated')}</p>` : nothing}
  `;
}
