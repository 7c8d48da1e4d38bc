/** The settings of a run, and what textbooks say of them. */
import { html, nothing, type TemplateResult } from 'lit';
import { LESSON_STEPS } from '../../study/lessons.js';
import {
  countParameters,
  exampleCounts,
  headCounts,
  ranges,
  type Settings,
  settingsToPairs,
  widths,
} from '../../study/settings.js';
import { taskOf } from '../../study/tasks/index.js';
import type { TrainKey } from '../i18n/train.en.js';
import { checkbox, choiceList, segments } from '../sections/fields.js';
import { type Room, type RunIndex, runNames } from './context.js';

export function setup(room: Room): TemplateResult {
  const { t, run } = room;
  const { settings } = run;
  return html`
    <section class="setup" aria-labelledby="setup-title">
      <div class="row spread">
        <h2 id="setup-title">${t('settings')}</h2>
        ${
          room.runs.length > 1
            ? segments<'0' | '1'>({
                name: 'run',
                label: t('runs'),
                value: room.active === 0 ? '0' : '1',
                choices: ['0' as const, '1' as const].map((value) => ({
                  value,
                  label: t('run', { name: runNames[Number(value) as RunIndex] }),
                })),
                choose: (value) => room.choose(Number(value) as RunIndex),
              })
            : nothing
        }
      </div>
      <p class="note">${t('settings.note')}</p>
      <div class="fields">
        ${list(room, 'layers', [1, 2, 3, 4])} ${list(room, 'width', widths)}
        ${list(room, 'heads', headCounts(settings.width))} ${normField(room)}
      </div>
      <div class="row">
        ${checkbox({ label: t('scaled'), checked: settings.scaled, change: (scaled) => room.set({ scaled }) })}
      </div>
      ${scaleNote(room)} ${lessons(room)} ${parameterTable(room)}
      <div class="fields">
        ${field(
          t('optimiser'),
          choiceList<Settings['optimiser']>({
            label: t('optimiser'),
            choices: (['adamw', 'sgd'] as const).map((value) => ({ value, label: t(`optimiser.${value}`) })),
            value: settings.optimiser,
            choose: (optimiser) => room.set({ optimiser }),
          }),
        )}
        ${number(room, 'rate')} ${number(room, 'warmUp')} ${number(room, 'steps')} ${number(room, 'clip', t('clip.off'))}
        ${number(room, 'decay')} ${number(room, 'attentionDropout', t('dropout.note'))}
        ${number(room, 'residualDropout', t('dropout.note'))} ${number(room, 'batch')}
        ${field(
          t('examples'),
          choiceList({
            label: t('examples'),
            choices: exampleCounts.map((count) => ({
              value: `${count}`,
              label: count === 0 ? t('examples.0') : t('examples.count', { count }),
            })),
            value: `${settings.examples}`,
            choose: (text) => room.set({ examples: Number(text) }),
          }),
        )}
        ${number(room, 'seed')}
      </div>
      ${settings.attentionDropout > 0 || settings.residualDropout > 0 ? html`<p class="note">${t('dropout.note')}</p>` : nothing}
      ${settings.examples > 0 ? html`<p class="note">${t('examples.note')}</p>` : nothing}
      <button class="wide" @click=${() => room.compare(room.runs.length === 1)}>
        ${t(room.runs.length > 1 ? 'compare.stop' : 'compare')}
      </button>
      ${comparison(room)}
    </section>
  `;
}

const field = (label: string, input: TemplateResult): TemplateResult =>
  html`<div class="field"><span aria-hidden="true">${label}</span>${input}</div>`;

function list(room: Room, name: 'layers' | 'width' | 'heads', values: readonly number[]): TemplateResult {
  return field(
    room.t(name),
    choiceList({
      label: room.t(name),
      choices: values.map((value) => ({ value: `${value}`, label: `${value}` })),
      value: `${room.run.settings[name]}`,
      choose: (text) => room.set({ [name]: Number(text) }),
    }),
  );
}

function normField(room: Room): TemplateResult {
  const { t } = room;
  return field(
    t('norm'),
    choiceList<Settings['norm']>({
      label: t('norm'),
      choices: (['pre', 'post'] as const).map((value) => ({
        value,
        label: t(`norm.${value}`),
        title: t(`norm.${value}Note`),
      })),
      value: room.run.settings.norm,
      choose: (norm) => room.set({ norm }),
    }),
  );
}

type NumberName = Exclude<keyof typeof ranges, 'layers' | 'heads'>;

/** A number is taken when it is complete and in its range; else it is said why not, and the old one comes back. */
function number(room: Room, name: NumberName, hint?: string): TemplateResult {
  const { t, run } = room;
  const { min, max } = ranges[name];
  const whole = Number.isInteger(min) && ['seed', 'warmUp', 'steps', 'batch'].includes(name);
  const take = (event: Event) => {
    const input = event.target as HTMLInputElement;
    const value = input.valueAsNumber;
    if (value >= min && value <= max && (!whole || Number.isInteger(value))) {
      room.set({ [name]: value });
      return;
    }
    room.say(t('outOfRange', { name: t(name as TrainKey), min, max, value: input.value }));
    input.value = String(run.settings[name]);
  };
  return field(
    t(name as TrainKey),
    html`<input
      type="number"
      aria-label=${t(name as TrainKey)}
      title=${hint ?? nothing}
      min=${min}
      max=${max}
      step=${whole ? 1 : 'any'}
      .value=${String(run.settings[name])}
      @change=${take}
    />`,
  );
}

/** Tasks where looking back by a fixed number of tokens helps can have heads taught to. */
function lessons(room: Room): TemplateResult | typeof nothing {
  const { t, run } = room;
  const { taught, task, heads } = run.settings;
  const places = taskOf(task).lessons.slice(0, heads);
  if (places.length === 0) return nothing;
  const pulled = places.map((back, i) => t('taught.head', { head: i + 1, back })).join(t('taught.and'));
  return html`
    <div class="row">
      ${checkbox({ label: t('taught'), checked: taught, change: (on) => room.set({ taught: on }) })}
    </div>
    ${taught ? html`<p class="note">${t('taught.on', { steps: LESSON_STEPS, heads: pulled })}</p>` : nothing}
  `;
}

function scaleNote({ t, run }: Room): TemplateResult | typeof nothing {
  const { scaled, width, heads, norm } = run.settings;
  const dk = width / heads;
  return html`
    ${norm === 'post' ? html`<p class="note">${t('norm.postNote')}</p>` : nothing}
    ${scaled ? nothing : html`<p class="note">${t('scaled.off', { dk, root: Math.sqrt(dk).toFixed(1) })}</p>`}
  `;
}

function parameterTable({ t, run }: Room): TemplateResult {
  const { settings } = run;
  const counts = headCounts(settings.width);
  return html`
    <details>
      <summary>${t('parameters', { count: countParameters(settings).toLocaleString('en').replaceAll(',', ' ') })}</summary>
      <table class="numbers">
        <caption>${t('parameters.heads', { width: settings.width })}</caption>
        <thead>
          <tr>
            <th scope="col">${t('parameters.head')}</th>
            <th scope="col">${t('parameters.dk')}</th>
            <th scope="col">${t('parameters.count')}</th>
          </tr>
        </thead>
        <tbody>
          ${counts.map(
            (heads) => html`<tr class=${heads === settings.heads ? 'chosen' : ''}>
              <th scope="row">${heads}</th>
              <td>${settings.width / heads}</td>
              <td>${countParameters({ ...settings, heads })}</td>
            </tr>`,
          )}
        </tbody>
      </table>
    </details>
  `;
}

function comparison({ t, runs }: Room): TemplateResult | typeof nothing {
  const [first, second] = runs;
  if (first === undefined || second === undefined) return nothing;
  const names = settingsToPairs(second.settings, first.settings).map(([name]) => t(name as TrainKey));
  return html`<p class="note">
    ${names.length === 0 ? t('compare.same') : t('compare.differs', { names: names.join(', ') })}
  </p>`;
}
