/** What the model predicts: the next token, or the one replaced by [MASK]; with edits, before and after. */
import { html, nothing, type TemplateResult } from 'lit';
import type { Prediction } from '../../core/types.js';
import type { Translate } from '../i18n/index.js';
import { tokenProbability } from '../maps.js';
import { isCausal } from '../mask.js';
import { formatWeight } from '../pictures/format.js';
import { tokenText } from '../pictures/token-text.js';
import { resetEdits } from '../state.js';
import type { LensContext } from './context.js';

export function output(lens: LensContext): TemplateResult {
  return html`
    <section class="panel output" part="output" aria-labelledby="output-title">
      ${body(lens)}
    </section>
  `;
}

function body(lens: LensContext): TemplateResult {
  const { answer, t } = lens;
  if (!answer) return html`<h2 id="output-title">${t('output')}</h2>`;
  const top = answer.result.topK[0];
  if (!top) return invitation(lens);
  const { baseline, result, state } = answer;
  const replaced = isCausal(state.mask) ? undefined : result.tokens[top.position];
  const word = replaced && tokenText({ text: state.text.slice(replaced.start, replaced.end) });
  return html`
    <div class="row spread">
      <h2 id="output-title">${word ? t('output.replaced', { token: word }) : t('output.next')}</h2>
      ${
        word
          ? html`<button class="small" @click=${() => lens.set((now) => ({ ...now, replaced: null }))}>
              ${t('output.putBack', { token: word })}
            </button>`
          : nothing
      }
      ${baseline ? html`<button class="small" @click=${() => lens.set(resetEdits)}>${t('output.reset')}</button>` : nothing}
    </div>
    <table class="predictions">
      <thead class=${baseline ? '' : 'unseen'}>
        <tr>
          <td></td>
          ${baseline ? html`<th scope="col">${t('output.before')}</th>` : nothing}
          <th scope="col">${t('output.after')}</th>
        </tr>
      </thead>
      <tbody>
        ${top.predictions.map((prediction) =>
          row(prediction, baseline ? tokenProbability(baseline, prediction.id) : null, t),
        )}
      </tbody>
    </table>
  `;
}

/** How tokenizers write that a text ends here. */
const endTokens: readonly string[] = ['</s>', '<|endoftext|>'];

function row({ text, probability }: Prediction, before: number | null, t: Translate): TemplateResult {
  return html`
    <tr>
      <th scope="row">${endTokens.includes(text) ? html`<i>${t('output.end')}</i>` : tokenText({ text })}</th>
      ${before === null ? nothing : html`<td>${formatWeight(before)}</td>`}
      <td style="--share: ${probability}; --share-before: ${before ?? probability}">
        <span class="share"></span>${formatWeight(probability)}
      </td>
    </tr>
  `;
}

function invitation(lens: LensContext): TemplateResult {
  const { answer, state, t } = lens;
  const { query } = state;
  const pinned = query === null ? undefined : answer?.result.tokens[query];
  return html`
    <h2 id="output-title">${t('output')}</h2>
    <p class="note">${state.mask.preset === 'window' ? t('output.noReplacedWindow') : t('output.noReplaced')}</p>
    ${
      pinned
        ? html`<button @click=${() => lens.set((now) => ({ ...now, replaced: query }))}>
            ${t('output.replaceThis', { token: tokenText(pinned) })}
          </button>`
        : html`<button @click=${() => lens.set((now) => ({ ...now, tokenTool: 'replace' }))}>
            ${t('output.choose')}
          </button>`
    }
  `;
}
