/** Presets of the mask, the tools that paint it, and undo. */
import { html, nothing, type TemplateResult } from 'lit';
import { guard } from 'lit/directives/guard.js';
import type { ModelInfo } from '../../core/types.js';
import { countPainted, isMaskEdited, type Mask, type Preset, presets } from '../mask.js';
import type { Tool } from '../pictures/types.js';
import { choosePreset, redo, resetMask, setMask, tools, undo } from '../state.js';
import type { LensContext } from './context.js';
import { choiceList, segments, slider } from './fields.js';

/** Rendered only when something about it changes: typing does not concern it. */
export function maskPanel(lens: LensContext): unknown {
  const { mask, history, tool, paintScope } = lens.state;
  return guard([mask, history, tool, paintScope, lens.model, lens.t], () => panel(lens));
}

function panel(lens: LensContext): TemplateResult {
  const { state, t } = lens;
  const untrained = isTrained(state.mask, lens.model?.info) ? nothing : html`<em>${t('mask.untrained')}</em>`;
  return html`
    <section class="panel" part="mask" aria-labelledby="mask-title">
      <div class="row">
        <h2 id="mask-title">${t('mask')}</h2>
        ${segments<Preset>({
          name: 'mask',
          label: t('mask'),
          value: state.mask.preset,
          choices: presets.map((preset) => ({ value: preset, label: t(`mask.${preset}`) })),
          choose: (preset) => lens.set((now) => choosePreset(now, preset)),
        })}
      </div>
      <p class="note">${presetNote(lens)} ${untrained}</p>
      ${sizeSlider(lens)}
      <div class="row">
        ${segments<Tool>({
          name: 'paint',
          label: t('paint'),
          showLabel: true,
          value: state.tool,
          choices: tools.map((tool) => ({ value: tool, label: t(`paint.${tool}`) })),
          choose: (tool) => lens.set((now) => ({ ...now, tool })),
        })}
        ${choiceList<'all' | 'selected'>({
          label: t('paint.in'),
          value: state.paintScope,
          choices: [
            { value: 'all', label: t('paint.all') },
            { value: 'selected', label: t('paint.selected') },
          ],
          choose: (paintScope) => lens.set((now) => ({ ...now, paintScope })),
        })}
      </div>
      ${state.tool === 'inspect' ? nothing : html`<p class="note">${t('paint.hint')}</p>`} ${history(lens)}
    </section>
  `;
}

function presetNote({ state, t }: LensContext): string {
  switch (state.mask.preset) {
    case 'none':
      return t('mask.noneNote');
    case 'causal':
      return t('mask.causalNote');
    case 'window':
      return t('mask.windowNote', { count: state.mask.window });
    case 'prefix':
      return t('mask.prefixNote', { count: state.mask.prefix });
  }
}

function sizeSlider(lens: LensContext): TemplateResult | typeof nothing {
  const { state, model, t } = lens;
  const { preset } = state.mask;
  if (preset !== 'window' && preset !== 'prefix') return nothing;
  const value = state.mask[preset];
  return slider({
    label: t(`mask.${preset}Size`),
    value,
    text: String(value),
    min: 0,
    max: Math.min(32, (model?.info.positions ?? 64) - 1),
    step: 1,
    change: (size) => lens.set((now) => setMask(now, { ...now.mask, [preset]: size }, `${preset}-size`)),
  });
}

function isTrained(mask: Mask, info: ModelInfo | undefined): boolean {
  if (!info) return true;
  const name = mask.preset === 'none' ? 'bidirectional' : mask.preset;
  if (!info.trainedMasks.includes(name)) return false;
  return mask.preset !== 'window' || mask.window === info.trainedWindow;
}

function history({ state, set, t }: LensContext): TemplateResult {
  const painted = countPainted(state.mask);
  const padded = state.mask.padding.length;
  const edits = [
    ...(painted > 0 ? [t('edit.painted', { count: painted })] : []),
    ...(padded > 0 ? [t('edit.padded', { count: padded })] : []),
  ];
  return html`
    <div class="row">
      <button
        aria-label=${t('edit.undo')}
        title="${t('edit.undo')} (Ctrl Z)"
        ?disabled=${state.history.past.length === 0}
        @click=${() => set(undo)}
      >
        ↶
      </button>
      <button
        aria-label=${t('edit.redo')}
        title="${t('edit.redo')} (Ctrl Shift Z)"
        ?disabled=${state.history.future.length === 0}
        @click=${() => set(redo)}
      >
        ↷
      </button>
      <button ?disabled=${!isMaskEdited(state.mask)} @click=${() => set(resetMask)}>${t('edit.reset')}</button>
      <span class="note">${edits.join(' · ')}</span>
    </div>
  `;
}
