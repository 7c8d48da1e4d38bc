/** What is seen of a look: the links between tokens, all heads, the map of the chosen one, and what could be written. */
import { html, type TemplateResult } from 'lit';
import type { Candidate, Look } from '../../study/translator.js';
import { formatTiny } from '../format.js';
import { formatNumber, formatWeight } from '../pictures/format.js';
import { tokenText } from '../pictures/token-text.js';
import type { HeadRef } from '../pictures/types.js';
import { checkbox, segments } from '../sections/fields.js';
import { leastLinked } from './alignment.js';
import { candidatePlace, type Desk, litQuery, type Picture } from './context.js';
import { type Chosen, headsOf, type Kind, kinds, nextToken } from './maps.js';
import type { Say } from './words.js';

const choiceName = (t: Say, { layer, head }: Chosen): string =>
  head === 'mean' ? t('mean', { layer: layer + 1 }) : t('head', { layer: layer + 1, head: head + 1 });

export function stage(desk: Desk, picture: Picture): TemplateResult {
  const { t, kind, at } = desk;
  const { attention, chosen, map } = picture;
  return html`<section class="stage" aria-labelledby="stage-title">
    <div class="row spread">
      <h2 id="stage-title">${choiceName(t, chosen)}</h2>
      ${segments<Kind>({
        name: 'kind',
        label: t('kind'),
        value: kind,
        choices: kinds.map((value) => ({ value, label: t(`kind.${value}`) })),
        choose: (value) => desk.show(value),
      })}
    </div>
    <p class="note">${t(`kind.${kind}.${chosen.head === 'mean' ? 'mean' : 'note'}`)}</p>
    <p class="note facts"><em>${facts(desk, picture)}</em></p>
    <mh-alignment
      .queries=${attention.queries}
      .keys=${attention.keys}
      .weights=${map.weights}
      .lit=${litQuery(desk)}
      .selected=${at}
      .queriesLabel=${t(kind === 'encoder' ? 'lookingTokens' : 'writtenTokens')}
      .keysLabel=${t(kind === 'decoder' ? 'readTokens' : 'sentenceTokens')}
      .words=${t}
      @mh-query=${({ detail }: HTMLElementEventMap['mh-query']) => desk.lookFrom(detail.query)}
      @mh-cell=${({ detail }: HTMLElementEventMap['mh-cell']) => desk.point(detail)}
    ></mh-alignment>
    <p class="note">${t('links', { least: formatWeight(leastLinked) })}</p>
  </section>`;
}

/** Of the query whose links stand out: where it looks most, and how spread out. */
function facts(desk: Desk, { attention, map }: Picture): string {
  const { t, kind } = desk;
  const query = litQuery(desk);
  const { queries, keys } = attention;
  if (query === null || query >= queries.length) return t('choose');
  const row = map.weights.subarray(query * keys.length, (query + 1) * keys.length);
  const best = row.indexOf(Math.max(...row));
  const name = queries[query] === nextToken ? t('next') : `“${tokenText(queries[query])}”`;
  const values = { query: name, key: `“${tokenText(keys[best])}”`, weight: formatWeight(row[best] ?? 0) };
  return [
    t(kind === 'encoder' ? 'look.from' : 'look.writing', values),
    t('entropy', { entropy: formatNumber(map.rowEntropy.values[query] ?? 0) }),
  ].join(' · ');
}

export function heads(desk: Desk, { attention, chosen }: Picture): TemplateResult {
  const { t } = desk;
  const select = ({ layer, head }: HeadRef) => desk.choose({ layer, head });
  return html`<section class="heads" aria-labelledby="heads-title">
    <div class="row spread">
      <h2 id="heads-title">${t('heads')}</h2>
      ${checkbox({
        label: t('mean.choose'),
        checked: chosen.head === 'mean',
        change: (mean) => desk.choose({ ...chosen, head: mean ? 'mean' : 0 }),
      })}
    </div>
    <mh-heads
      .layers=${attention.layers}
      .heads=${attention.heads}
      .queryCount=${attention.queries.length}
      .keyCount=${attention.keys.length}
      .attention=${attention.weights}
      .entropy=${attention.entropies}
      .selected=${headsOf(chosen, attention.heads)}
      .palette=${'cividis'}
      .layout=${desk.narrow ? 'strip' : 'grid'}
      .words=${t}
      @mh-head-select=${({ detail }: HTMLElementEventMap['mh-head-select']) => select(detail)}
    ></mh-heads>
    <p class="note">${t('heads.note')}</p>
  </section>`;
}

export function map(desk: Desk, { attention, chosen, map: shown }: Picture): TemplateResult {
  const { t, at, asTable, pointed } = desk;
  return html`<section class="map" aria-labelledby="map-title">
    <div class="row spread">
      <h2 id="map-title">${t('map')}</h2>
      ${checkbox({ label: t('table'), checked: asTable, change: (on) => desk.table(on) })}
    </div>
    <mh-heatmap
      .queries=${attention.queries}
      .keys=${attention.keys}
      .weights=${shown.weights}
      .visible=${shown.visible}
      .rowValues=${shown.rowEntropy}
      .selectedQuery=${at}
      .cell=${pointed}
      .palette=${'cividis'}
      .max=${shown.max}
      .asTable=${asTable}
      .label=${`${choiceName(t, chosen)}, ${t(`kind.${attention.kind}`)}`}
      .words=${t}
      @mh-query=${({ detail }: HTMLElementEventMap['mh-query']) => desk.lookFrom(detail.query)}
      @mh-cell=${({ detail }: HTMLElementEventMap['mh-cell']) => desk.point(detail)}
      @mh-table=${({ detail }: HTMLElementEventMap['mh-table']) => desk.table(detail.asTable)}
      @mh-head-step=${({ detail }: HTMLElementEventMap['mh-head-step']) =>
        desk.choose(stepChoice(chosen, detail.of, detail.by, attention))}
    ></mh-heatmap>
    <mh-legend
      .kind=${'sequential'}
      .max=${shown.max}
      .palette=${'cividis'}
      .scaleType=${'linear'}
      .masked=${shown.visible !== null}
      .words=${t}
    ></mh-legend>
  </section>`;
}

/** The next head or layer, around the ends; from a mean the keys go to a head. */
function stepChoice(
  { layer, head }: Chosen,
  of: 'head' | 'layer',
  by: 1 | -1,
  { layers, heads: count }: { readonly layers: number; readonly heads: number },
): Chosen {
  if (of === 'layer') return { layer: (layer + by + layers) % layers, head };
  if (head === 'mean') return { layer, head: by === 1 ? 0 : count - 1 };
  return { layer, head: (head + by + count) % count };
}

export function candidates(desk: Desk, look: Look): TemplateResult {
  const { t } = desk;
  const place = candidatePlace(desk, look);
  const written = look.written[place];
  const all = look.candidates[place] ?? [];
  const listed = all.some(({ id }) => id === written?.id);
  const own = written && !listed ? { ...written, probability: look.probabilities[place] ?? 0 } : null;
  const title = !written
    ? t('candidates.next')
    : look.ended && place === look.written.length - 1
      ? t('candidates.end')
      : t('candidates.place', { token: tokenText(written) });
  return html`<section class="candidates" aria-labelledby="candidates-title">
    <h2 id="candidates-title">${title}</h2>
    <ol>
      ${[...all, ...(own ? [own] : [])].map((one) => candidate(desk, one, place, one.id === written?.id))}
    </ol>
    <p class="note">${t('candidates.note')}</p>
  </section>`;
}

function candidate(desk: Desk, one: Candidate, place: number, isWritten: boolean): TemplateResult {
  const { t } = desk;
  return html`<li>
    <button class="candidate" aria-pressed=${isWritten} @click=${() => desk.force(place, one.id)}>
      <span class="name">${candidateName(one, t)}</span>
      <span class="bar" aria-hidden="true"><i style="inline-size: ${(100 * one.probability).toFixed(1)}%"></i></span>
      <span>${formatWeight(one.probability)}</span>
    </button>
  </li>`;
}

/** What goes on with a word has a hyphen before it. */
function candidateName(one: Candidate, t: Say): TemplateResult | string {
  if (one.special) return one.text === '</s>' ? html`<i>${t('end')}</i>` : one.text;
  const text = tokenText(one);
  return !one.wordStart && /^\p{L}/u.test(text) ? `-${text}` : text;
}

export function proof({ t, translation }: Desk, { look }: Picture): TemplateResult {
  const { loaded } = translation;
  if (!loaded) return html``;
  return html`<p class="note proof">
    ${t('proof', {
      build: loaded.info.build,
      where: t(loaded.here ? 'here' : 'worker'),
      milliseconds: look.milliseconds.toFixed(1),
      source: look.source.length,
      target: look.read.length,
      deviation: formatTiny(deviation(look)),
    })}
  </p>`;
}

/** The largest distance of a row's sum from 1, over all maps. */
function deviation({ cross, encoder, decoder, source, read }: Look): number {
  const parts = [
    [cross, source.length],
    [encoder, source.length],
    [decoder, read.length],
  ] as const;
  return Math.max(
    ...parts.map(([weights, keys]) => {
      let worst = 0;
      for (let start = 0; start < weights.length; start += keys) {
        const sum = weights.subarray(start, start + keys).reduce((total, weight) => total + weight, 0);
        worst = Math.max(worst, Math.abs(sum - 1));
      }
      return worst;
    }),
  );
}
