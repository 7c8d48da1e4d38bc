/** Every head on the sentence that is watched, what each does, and the way back through time. */
import { html, nothing, type TemplateResult } from 'lit';
import type { Finding } from '../../study/patterns.js';
import { specials, type Word } from '../../study/task.js';
import type { HeadRef, PictureToken } from '../pictures/types.js';
import { type Room, type RunIndex, runNames, type Shown } from './context.js';
import type { Run } from './run.js';

export const headName = ({ t }: Room, { layer, head }: HeadRef): string =>
  t('head.name', { layer: layer + 1, head: head + 1 });

function patternName({ t }: Room, finding: Finding | null | undefined): string {
  if (!finding) return t('pattern.none');
  return t(`pattern.${finding.pattern}`, { offset: finding.offset ?? 0 });
}

/** Tokens that the model reads of a sequence: the start token, and all words but the last. */
const tokensOf = (words: readonly Word[]): readonly PictureToken[] =>
  [{ text: specials[2], special: true }, ...words.map(({ text }) => ({ text }))].slice(0, words.length);

/** The first rows and columns of every map: without the padding behind a sequence. `[…, T, T]` to `[…, size, size]`. */
function trimmed(attention: Float32Array, maps: number, size: number): Float32Array {
  const length = Math.round(Math.sqrt(attention.length / maps));
  if (length === size) return attention;
  const out = new Float32Array(maps * size * size);
  for (let map = 0; map < maps; map++)
    for (let row = 0; row < size; row++) {
      const from = (map * length + row) * length;
      out.set(attention.subarray(from, from + size), (map * size + row) * size);
    }
  return out;
}

export function heads(room: Room): TemplateResult {
  const { t, runs } = room;
  return html`
    <section class="heads" aria-labelledby="heads-title">
      <h2 id="heads-title">${t('heads.title')}</h2>
      <div class="runs">
        ${runs.map((run, i) => html`<div>${thumbnails(room, run, i as RunIndex)} ${doings(room, run, i as RunIndex)}</div>`)}
      </div>
      <p class="note">${t('heads.note')}</p>
    </section>
  `;
}

function thumbnails(room: Room, run: Run, index: RunIndex): TemplateResult {
  const shown = room.shown[index];
  const { t } = room;
  const name = runNames[index];
  const title = room.runs.length > 1 ? html`<h3 class="run-${name}">${t('run', { name })}</h3>` : nothing;
  if (!shown) return html`${title}<div class="blank" aria-hidden="true"></div>`;
  const { layers, heads: count } = run.settings;
  const size = shown.probe.words.length;
  const entropies = run.check?.heldOutEntropies;
  return html`${title}
    <mh-heads
      .layers=${layers}
      .heads=${count}
      .queryCount=${size}
      .keyCount=${size}
      .attention=${trimmed(shown.probe.attention, layers * count, size)}
      .entropy=${entropies && room.cursor === null ? { values: entropies, max: 1, unit: 'normalised' } : null}
      .selected=${index === room.active ? [room.head] : []}
      .palette=${'cividis'}
      .layout=${room.narrow ? 'strip' : 'grid'}
      .words=${t}
      @mh-head-select=${({ detail }: HTMLElementEventMap['mh-head-select']) => {
        room.choose(index);
        room.select({ layer: detail.layer, head: detail.head });
      }}
    ></mh-heads>`;
}

/** Heads by name: what each does, best first named. */
function doings(room: Room, run: Run, index: RunIndex): TemplateResult {
  const { t } = room;
  const findings = room.shown[index]?.findings ?? [];
  const { heads: count } = run.settings;
  return html`<ul class="doings" aria-label=${t('heads.doing')}>
    ${findings.map((finding, i) => {
      const ref = { layer: Math.floor(i / count), head: i % count };
      const chosen = index === room.active && ref.layer === room.head.layer && ref.head === room.head.head;
      return html`<li>
        <button
          class="doing ${finding && finding.pattern !== 'even' ? 'named' : ''} ${finding?.pattern === 'induction' ? 'induction' : ''}"
          aria-pressed=${chosen}
          title=${finding ? t(`explain.${finding.pattern}`) : nothing}
          data-pattern=${finding?.pattern ?? nothing}
          @click=${() => {
            room.choose(index);
            room.select(ref);
          }}
        >
          <b>${headName(room, ref)}</b> ${patternName(room, finding)}
          ${finding ? html`<small>${finding.score.toFixed(2).replace(/^0/, '')}</small>` : nothing}
        </button>
      </li>`;
    })}
  </ul>`;
}

export function map(room: Room): TemplateResult {
  const { t, run, head } = room;
  const shown = room.shown[room.active];
  const { layers, heads: count } = run.settings;
  const index = head.layer * count + head.head;
  const finding = shown?.findings[index];
  const title = t('head.long', { layer: head.layer + 1, head: head.head + 1 });
  return html`
    <section class="stage" aria-labelledby="map-title">
      <div class="row title">
        <h2 id="map-title">${title}</h2>
        <p class="note">
          ${finding ? html`<em>${patternName(room, finding)}</em>: ${t(`explain.${finding.pattern}`)}` : patternName(room, null)}
        </p>
      </div>
      ${timeline(room)}
      <div class="picture">
        ${shown ? heatmap(room, shown, index, layers * count, title) : html`<div class="blank" aria-hidden="true"></div>`}
      </div>
      <p class="caveat">${t('caveat')}</p>
    </section>
  `;
}

function heatmap(room: Room, shown: Shown, index: number, maps: number, title: string): TemplateResult {
  const { words } = shown.probe;
  const tokens = tokensOf(words);
  const size = tokens.length;
  const of = (one: Shown) =>
    trimmed(one.probe.attention, maps, size).slice(index * size * size, (index + 1) * size * size);
  const visible = Uint8Array.from({ length: size * size }, (_, i) => (i % size <= Math.floor(i / size) ? 1 : 0));
  const { kept } = room;
  return html`<mh-heatmap
    .queries=${tokens}
    .keys=${tokens}
    .weights=${of(shown)}
    .baseline=${kept && kept.step !== shown.step ? of(kept) : null}
    .visible=${visible}
    .palette=${'cividis'}
    .max=${1}
    .label=${title}
    .words=${room.t}
  ></mh-heatmap>`;
}

function timeline(room: Room): TemplateResult {
  const { t, run, cursor, kept } = room;
  const steps = run.snapshots.all.map(({ step }) => step);
  const last = steps.length - 1;
  const at =
    cursor === null
      ? last
      : Math.max(
          0,
          steps.findLastIndex((step) => step <= cursor),
        );
  return html`<div class="row timeline">
    <label class="slider">
      <span>${t('timeline')}</span>
      <input
        type="range"
        min="0"
        max=${Math.max(0, last)}
        step="1"
        ?disabled=${last < 1}
        aria-valuetext=${cursor === null ? t('timeline.now') : t('timeline.at', { step: steps[at] ?? 0 })}
        .value=${String(at)}
        @input=${(event: Event) => {
          const chosen = (event.target as HTMLInputElement).valueAsNumber;
          room.look(chosen >= last ? null : (steps[chosen] ?? null));
        }}
      />
      <output>${cursor === null ? t('timeline.now') : t('timeline.at', { step: steps[at] ?? 0 })}</output>
    </label>
    ${cursor === null ? nothing : html`<button class="small" @click=${() => room.look(null)}>${t('timeline.live')}</button>`}
    ${
      kept === null
        ? html`<button class="small" title=${t('keep.hint')} ?disabled=${last < 0} @click=${() => room.keep(true)}>
            ${t('keep')}
          </button>`
        : html`<span class="note">${t('keep.from', { step: kept.step })}</span>
            <button class="small" @click=${() => room.keep(false)}>${t('keep.drop')}</button>`
    }
  </div>`;
}
