/** What to do with a model that has learned, and what computed it. */
import { html, nothing, type TemplateResult } from 'lit';
import { countParameters } from '../../study/settings.js';
import type { Room } from './context.js';

export function foot(room: Room): TemplateResult {
  const { t, run } = room;
  const post = run.settings.norm === 'post';
  const ready = run.begun !== null && !post;
  return html`
    <section class="foot-line">
      <div class="row">
        <button ?disabled=${!ready} title=${t('explore.hint')} @click=${() => room.explore()}>${t('explore')}</button>
        <button ?disabled=${!ready} title=${t('download.hint')} @click=${() => room.download()}>${t('download')}</button>
        <button @click=${() => room.share()}>${t('share')}</button>
        ${post ? html`<span class="note">${t('explore.post')}</span>` : nothing}
      </div>
      <p class="note proof">${proof(room)}</p>
    </section>
  `;
}

function proof({ t, run }: Room): string {
  const { begun, probe, settings } = run;
  if (begun === null || probe === null) return '';
  return t('proof', {
    build: begun.build,
    seconds: (run.milliseconds / 1000).toFixed(1),
    parameters: countParameters(settings),
    deviation: rowDeviation(probe.attention, probe.words.length, settings.layers * settings.heads).toExponential(0),
  });
}

/** The largest distance of a row's sum from 1, over all heads. */
function rowDeviation(attention: Float32Array, size: number, maps: number): number {
  const length = Math.round(Math.sqrt(attention.length / maps));
  let worst = 0;
  for (let map = 0; map < maps; map++)
    for (let row = 0; row < size; row++) {
      let sum = 0;
      const start = (map * length + row) * length;
      for (let key = 0; key < length; key++) sum += attention[start + key] as number;
      worst = Math.max(worst, Math.abs(sum - 1));
    }
  return worst;
}
