/** One cell in numbers: query, key, weight and the scores it comes from. */
import { html, nothing, type TemplateResult } from 'lit';
import { copyText } from '../clipboard.js';
import type { PointedCell } from '../drawing.js';
import { formatFactor } from '../format.js';
import type { ShownMap } from '../maps.js';
import { formatChange, formatNumber, formatWeight } from '../pictures/format.js';
import { tokenText } from '../pictures/token-text.js';
import { unitName } from '../pictures/words.js';
import { ablationOf } from '../state.js';
import type { LensContext } from './context.js';
import { isUniform, scaleFactor } from './steps.js';

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
  const { t } = lens;
  const exact = exactValues(lens, pointed);
  const { map } = pointed;
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
      ${exact.rawScore === null ? nothing : scoreLines(lens, pointed, exact.rawScore)}
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
    ${map.heads.length > 1 ? html`<p class="note">${t('reading.average', { count: map.heads.length })}</p>` : nothing}
    ${ablationNote(lens, map)}
  `;
}

/** From q·k to the score that softmax takes, line by line. */
function scoreLines(lens: LensContext, { map, query, key }: PointedCell, rawScore: number): TemplateResult {
  const { answer, t } = lens;
  const at = query * (answer?.result.tokens.length ?? 0) + key;
  const hidden = map.visible[at] === 0;
  const score = map.scores?.[at] ?? Number.NaN;
  if (isUniform(lens, map))
    return html`<dt>${t('reading.uniform')}</dt>
      <dd>${formatNumber(score)}</dd>`;
  const factor = scaleFactor(lens);
  const temperature = answer?.state.temperature ?? 1;
  // What is crossed out is what the score would be if the key were not hidden.
  const number = (value: number) => (hidden ? html`<s>${formatNumber(value)}</s> −∞` : formatNumber(value));
  const names = { factor: formatFactor(factor), temperature: formatFactor(temperature) };
  return html`<dt>${t('reading.raw')}</dt>
    <dd>${formatNumber(rawScore)}</dd>
    <dt>${t('reading.scaled', names)}</dt>
    <dd>${number(rawScore * factor)}</dd>
    ${
      temperature === 1
        ? nothing
        : html`<dt>${t('reading.heated', names)}</dt>
            <dd>${hidden ? number((rawScore * factor) / temperature) : formatNumber(score)}</dd>`
    }`;
}

function ablationNote(lens: LensContext, map: ShownMap): TemplateResult | typeof nothing {
  const [only] = map.heads;
  if (map.heads.length > 1 || !only || ablationOf(lens.state, only) === null) return nothing;
  return html`<p class="note">${lens.t(isUniform(lens, map) ? 'steps.uniformNote' : 'reading.ablated')}</p>`;
}
