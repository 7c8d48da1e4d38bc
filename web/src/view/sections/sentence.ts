/** The text field, the examples, and the tokens as chips with the chosen row's weights as bars over them. */
import { html, nothing, type TemplateResult } from 'lit';
import { guard } from 'lit/directives/guard.js';
import type { Token } from '../../core/types.js';
import { examples, withExample } from '../examples.js';
import { languages, languageTag, type Translate } from '../i18n/index.js';
import { isCausal, togglePadding } from '../mask.js';
import { formatWeight } from '../pictures/format.js';
import { tokenText } from '../pictures/token-text.js';
import { type LensState, setMask, type TokenTool, usedTokenTool } from '../state.js';
import type { LensContext } from './context.js';
import { segments, textField } from './fields.js';

/** Of the tokens that are over the limit, so many are shown; a book may have been pasted. */
const shownOver = 20;

export function sentence(lens: LensContext): TemplateResult {
  const { t } = lens;
  return html`
    <section class="sentence" part="sentence" aria-label=${t('sentence')}>
      <div class="write">${field(lens)} ${guard([t], () => exampleList(lens))} ${tokenTool(lens)} ${count(lens)}</div>
      <div
        class="chips"
        role="group"
        aria-label=${t('sentence.tokens')}
        tabindex=${lens.answer?.result.overflow.length ? 0 : nothing}
        @keydown=${walk}
      >
        ${chips(lens)}
      </div>
    </section>
  `;
}

function field({ state, composing, compose, set, t }: LensContext): TemplateResult {
  return textField({
    label: t('sentence'),
    placeholder: t('sentence.placeholder'),
    value: state.text,
    composing,
    compose,
    change: (text) => set((now) => (text === now.text ? now : { ...now, text })),
  });
}

function exampleList(lens: LensContext): TemplateResult {
  const { t } = lens;
  const choose = (event: Event) => {
    const select = event.target as HTMLSelectElement;
    const example = examples[Number(select.value)];
    select.value = '';
    if (example) lens.start((state) => withExample(state, example));
  };
  return html`
    <select class="examples" aria-label=${t('sentence.examples')} @change=${choose}>
      <option value="" selected>${t('sentence.examples')}</option>
      ${languages.map(
        (language) => html`
          <optgroup label=${language === 'zh' ? '中文' : 'English'} lang=${languageTag(language)}>
            ${examples.map((example, index) =>
              example.language === language ? html`<option value=${index}>${example.text}</option>` : nothing,
            )}
          </optgroup>
        `,
      )}
    </select>
  `;
}

function tokenTool(lens: LensContext): TemplateResult {
  const { state, model, t } = lens;
  const causal = isCausal(state.mask);
  const hasMaskToken = model?.info.hasMaskToken ?? true;
  return segments<TokenTool>({
    name: 'token-tool',
    label: t('token.tool'),
    showLabel: true,
    value: usedTokenTool(state, hasMaskToken),
    choices: [
      { value: 'look', label: t('token.look') },
      {
        value: 'replace',
        label: t('token.replace'),
        disabled: causal || !hasMaskToken,
        ...(causal ? { title: t('token.replaceNeedsBidirectional') } : {}),
      },
      { value: 'pad', label: t('token.pad') },
    ],
    choose: (tokenTool) => lens.set((now) => ({ ...now, tokenTool })),
  });
}

function count({ answer, model, state, composing, t }: LensContext): TemplateResult {
  if (composing) return html`<p class="count">${t('sentence.composing')}</p>`;
  if (!answer || !model || state.text.trim() === '') return html`<p class="count"></p>`;
  const over = answer.result.overflow.length;
  const tokens = t('sentence.count', { count: answer.result.tokens.length + over, limit: model.info.positions });
  return html`
    <p class="count">${over > 0 ? html`<span class="warning">${t('sentence.overflow', { count: over })}</span>` : nothing} ${tokens}</p>
  `;
}

function chips(lens: LensContext): TemplateResult | readonly TemplateResult[] {
  const { answer, state, t } = lens;
  if (state.text.trim() === '') return html`<p class="hint">${t('sentence.empty')}</p>`;
  if (!answer) return placeholders(state.text);
  const { tokens, overflow } = answer.result;
  const more = overflow.length - shownOver;
  const { from, to } = chipRange(lens, tokens.length);
  return [
    ...(from > 0
      ? [foldChip(lens, `‹ ${from}`, Math.max(0, from - mostChips), t('token.before', { count: from }))]
      : []),
    ...tokens.slice(from, to).map((token, index) => chip(lens, token, from + index)),
    ...(to < tokens.length
      ? [foldChip(lens, `${tokens.length - to} ›`, to, t('token.after', { count: tokens.length - to }))]
      : []),
    ...overflow.slice(0, shownOver).map((token) => overChip(tokenText(token), t('token.isOver'))),
    ...(more > 0 ? [overChip(`+${more}`, t('token.moreOver', { count: more }))] : []),
  ];
}

/** A text of thousands of tokens is shown in parts of so many. */
const mostChips = 200;

/** The part that was leafed to; else the one around the chosen token. */
function chipRange({ chipsFrom, state }: LensContext, size: number): { from: number; to: number } {
  if (size <= mostChips) return { from: 0, to: size };
  const middle = (state.query ?? 0) - mostChips / 2;
  const from = Math.max(0, Math.min(size - mostChips, chipsFrom ?? middle));
  return { from, to: from + mostChips };
}

/** Stands for the tokens before or after those shown, and leafs to them. */
function foldChip(lens: LensContext, text: string, from: number, title: string): TemplateResult {
  return html`<button class="chip fold" title=${title} aria-label=${title} @click=${() => lens.showChips(from)}>
    <span class="bar" aria-hidden="true"></span><span class="word">${text}</span>
  </button>`;
}

const overChip = (text: string, title: string): TemplateResult =>
  html`<span class="chip over" title=${title}><span class="word">${text}</span></span>`;

/** Until tokens are known: words, in chips of much the same sizes, so that the page hardly moves when they come. */
function placeholders(text: string): readonly TemplateResult[] {
  const words = text.match(/\p{Script=Han}{1,2}|[^\s\p{Script=Han}]+/gu) ?? [];
  return words.map(
    (word) => html`<span class="chip"><span class="bar"></span><span class="word">${word}</span></span>`,
  );
}

/** Arrow keys go from token to token; Tab leaves them, however many there are. On the box itself they scroll it. */
function walk(event: KeyboardEvent): void {
  if (event.target === event.currentTarget) return;
  const tokens = [...(event.currentTarget as HTMLElement).querySelectorAll('button')];
  const at = tokens.indexOf(event.target as HTMLButtonElement);
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: tokens.length - 1 }[event.key];
  const next = to === undefined ? undefined : tokens[to];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

/** The state after clicking a token. */
function useToken(state: LensState, position: number, tool: TokenTool): LensState {
  switch (tool) {
    case 'pad':
      return setMask(state, togglePadding(state.mask, position));
    case 'replace':
      return { ...state, replaced: state.replaced === position ? null : position };
    case 'look':
      return { ...state, query: state.query === position ? null : position };
  }
}

/** What a click on a token would do, in words. */
function clickHint(state: LensState, position: number, tool: TokenTool, t: Translate): string {
  switch (tool) {
    case 'pad':
      return t(state.mask.padding.includes(position) ? 'token.clickOn' : 'token.clickOff');
    case 'replace':
      return t(state.replaced === position ? 'token.clickBack' : 'token.clickReplace');
    case 'look':
      return t(state.query === position ? 'token.clickRelease' : 'token.clickLook');
  }
}

/** A part of the highest bar, as fine as can be seen: most weights change by less at a keystroke, and cost nothing. */
const share = (weight: number, max: number): number => Math.round((weight / max) * 200) / 200;

function chip(lens: LensContext, token: Token, position: number): TemplateResult {
  const { answer, model, row, state, t } = lens;
  const tool = usedTokenTool(state, model?.info.hasMaskToken ?? true);
  const weight = row?.weights[position] ?? null;
  const before = row?.baseline?.[position] ?? null;
  const max = row?.max ?? 1;
  const changed = before !== null && Math.abs(before - (weight ?? 0)) > 0.02 * max;
  const isQuery = position === row?.query;
  const off = state.mask.padding.includes(position);
  const { text: typed } = answer?.state ?? state;
  const replaced = token.special && token.end > token.start;
  const facts = [
    ...(isQuery ? [t('token.isQuery')] : []),
    ...(off ? [t('token.isOff')] : []),
    ...(replaced ? [t('token.isReplaced')] : []),
    ...(weight === null ? [] : [t('token.weight', { weight: formatWeight(weight) })]),
  ];
  const classes = [
    'chip',
    isQuery ? 'query' : '',
    lens.pointed?.key === position ? 'key' : '',
    off ? 'off' : '',
    token.special ? 'special' : '',
    token.wordStart || token.special ? '' : 'joined',
  ].join(' ');
  return html`
    <button
      class=${classes}
      aria-pressed=${state.query === position}
      tabindex=${position === (state.query ?? 0) ? 0 : -1}
      title=${[facts.join(', '), clickHint(state, position, tool, t)].filter(Boolean).join('\n')}
      style="--share: ${share(weight ?? 0, max)}; --before: ${changed ? share(before, max) : 0}"
      @click=${() => lens.set((now) => useToken(now, position, tool))}
    >
      <span class=${changed ? 'bar moved' : 'bar'} aria-hidden="true">
        <i></i>${changed ? html`<i class="before"></i>` : nothing}
        ${weight !== null && weight >= 0.1 * max ? html`<b>${formatWeight(weight)}</b>` : nothing}
      </span>
      <span class="word">${replaced ? html`<s>${typed.slice(token.start, token.end)}</s> ` : nothing}${tokenText(token)}</span>
    </button>
  `;
}
