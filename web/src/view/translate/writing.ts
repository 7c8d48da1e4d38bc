/** The two fields, and the buttons that write. */
import { html, nothing, type TemplateResult } from 'lit';
import type { Look } from '../../study/translator.js';
import { languages, languageTag } from '../i18n/index.js';
import { characters, tokenText } from '../pictures/token-text.js';
import { textField } from '../sections/fields.js';
import type { Desk, FieldName } from './context.js';
import { examples, languageOf } from './examples.js';

export function writing(desk: Desk): TemplateResult {
  const { t, translation, look } = desk;
  const from = languageOf(translation.text);
  const to = from === 'en' ? 'zh' : 'en';
  return html`<section class="writing" aria-labelledby="lead">
    <h2 id="lead">${t('lead')}</h2>
    <div class="texts">
      ${text(desk, 'sentence', t('of', { text: t('sentence'), language: t(from) }), from)}
      <button
        class="swap"
        title=${t('swap')}
        aria-label=${t('swap')}
        ?disabled=${translation.writtenText.trim() === ''}
        @click=${() => desk.setText(translation.writtenText.trim(), true)}
      >⇄</button>
      ${text(desk, 'written', t('of', { text: t('written'), language: t(to) }), to)}
    </div>
    ${buttons(desk)} ${warnings(desk, look)}
  </section>`;
}

function text(desk: Desk, name: FieldName, label: string, language: 'en' | 'zh'): TemplateResult {
  const { t, translation, look, composing } = desk;
  const isSentence = name === 'sentence';
  const tokens = isSentence ? look?.source : look?.written;
  const over = isSentence ? look?.sourceOver : look?.writtenOver;
  const count = tokens && t('count', { count: tokens.length + (over?.tokens ?? 0), limit: limitOf(desk) });
  return html`<div class="text">
    <p class="note spread row">
      <span>${label}</span>
      <span>${composing === name ? t('composing') : count}</span>
    </p>
    ${textField({
      label,
      placeholder: t(`${name}.placeholder`),
      value: isSentence ? translation.text : translation.writtenText,
      language: languageTag(language),
      composing: composing === name,
      compose: (on) => desk.compose(on ? name : null),
      change: (value) => (isSentence ? desk.setText(value, false) : desk.setWritten(value)),
      enter: () => desk.play(),
    })}
  </div>`;
}

const limitOf = ({ translation }: Desk): number => translation.loaded?.info.positions ?? 0;

function buttons(desk: Desk): TemplateResult {
  const { t, translation, look, at, kind } = desk;
  const { playing, canGoOn } = translation;
  const none = !look || look.written.length === 0;
  const chosen = kind === 'encoder' || at === null ? undefined : look?.written[at];
  return html`<div class="row buttons">
    ${exampleList(desk)}
    <button class="play" ?disabled=${!look} @click=${() => (playing ? desk.stop() : desk.play())}>
      <span aria-hidden="true">${playing ? '❚❚' : '▶'}</span> ${t(playing ? 'stop' : 'play')}
    </button>
    <button title=${t('step.hint')} ?disabled=${!canGoOn} @click=${() => desk.step()}>${t('step')}</button>
    <button title=${t('back.hint')} ?disabled=${none} @click=${() => desk.back()}>${t('back')}</button>
    <button ?disabled=${!canGoOn} @click=${() => desk.finish()}>${t('finish')}</button>
    <button title=${t('restart.hint')} ?disabled=${none} @click=${() => desk.restart()}>${t('restart')}</button>
    <button
      title=${chosen ? t('cut.hint', { token: tokenText(chosen) }) : t('cut.none')}
      ?disabled=${!chosen}
      @click=${() => desk.cut()}
    >${t('cut')}</button>
  </div>`;
}

function exampleList(desk: Desk): TemplateResult {
  const { t } = desk;
  const choose = (event: Event) => {
    const select = event.target as HTMLSelectElement;
    const example = examples[Number(select.value)];
    select.value = '';
    if (example) desk.setText(example.text, true);
  };
  return html`<select class="examples" aria-label=${t('examples')} @change=${choose}>
    <option value="" selected>${t('examples')}</option>
    ${languages.map(
      (language) => html`<optgroup label=${t(`examples.${language}`)} lang=${languageTag(language)}>
        ${examples.map((example, index) =>
          example.language === language ? html`<option value=${index}>${example.text}</option>` : nothing,
        )}
      </optgroup>`,
    )}
  </select>`;
}

/** Nothing is left out or read otherwise without a word. */
function warnings(desk: Desk, look: Look | null): TemplateResult {
  const { t } = desk;
  const limit = limitOf(desk);
  const over = [look?.sourceOver, look?.writtenOver].filter((surplus) => surplus != null);
  const unknown = [...new Set(look?.unknown.map(tokenText))];
  return html`<div role="status">
    ${over.map((surplus) => html`<p class="warning">${t('over', { limit, text: quote(surplus.text) })}</p>`)}
    ${unknown.length > 0 ? html`<p class="warning">${t('unknown', { text: unknown.map(quote).join(', ') })}</p>` : nothing}
    ${look?.full && !look.ended ? html`<p class="warning">${t('full', { limit })}</p>` : nothing}
    ${desk.message ? html`<p class="note">${desk.message}</p>` : nothing}
  </div>`;
}

/** Of a pasted book, the beginning. */
const mostQuoted = 80;

function quote(text: string): string {
  const signs = characters(text);
  return `“${signs.slice(0, mostQuoted).join('')}${signs.length > mostQuoted ? ' …' : ''}”`;
}
