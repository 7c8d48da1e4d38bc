/** The task, the sentence that is watched, and what starts and stops it all. */
import { html, nothing, type TemplateResult } from 'lit';
import { MultiheadError, messageOf } from '../../core/errors.js';
import { settingsFor } from '../../study/settings.js';
import { spell } from '../../study/task.js';
import { type TaskId, taskIds, taskOf } from '../../study/tasks/index.js';
import { choiceList } from '../sections/fields.js';
import { type Room, runNames } from './context.js';
import type { Run } from './run.js';

export function board(room: Room): TemplateResult {
  const { t, run } = room;
  const task = taskOf(run.settings.task);
  return html`
    <section class="board" aria-label=${t('task')}>
      <div class="row">
        <label class="field">
          <span>${t('task')}</span>
          ${choiceList<TaskId>({
            label: t('task'),
            choices: taskIds.map((value) => ({ value, label: t(`task.${value}`) })),
            value: run.settings.task,
            choose: (chosen) => room.set(settingsFor(chosen)),
          })}
        </label>
        <div class="buttons">
          <button
            class="play"
            aria-pressed=${room.playing}
            title=${t('play.hint')}
            ?disabled=${room.runs.every(({ status }) => status.kind === 'diverged' || status.kind === 'failed')}
            @click=${() => room.play()}
          >
            <span aria-hidden="true">${room.playing ? '❚❚' : '▶'}</span> ${t(room.playing ? 'pause' : 'play')}
          </button>
          <button title=${t('step.hint')} @click=${() => room.stepOnce()}>${t('step')}</button>
          <button title=${t('reset.hint')} @click=${() => room.reset()}>${t('reset')}</button>
        </div>
        ${room.runs.map((one, i) => facts(room, one, room.runs.length > 1 ? (runNames[i] ?? '') : ''))}
      </div>
      <p class="hint">${t(`note.${run.settings.task}`)}</p>
      <div class="row">
        <label class="field">
          <span>${t('probe')}</span>
          ${choiceList({
            label: t('probe'),
            choices: room.probes.map((_, i) => ({ value: `${i}`, label: t('probe.number', { number: i + 1 }) })),
            value: `${room.probe}`,
            choose: (text) => room.choosePredefined(Number(text)),
          })}
        </label>
        <p class="sentence" lang=${run.settings.task === 'world-zh' ? 'zh-Hans' : 'en'}>
          ${spell(task, room.probes[room.probe] ?? [])}
        </p>
        ${answers(room)}
      </div>
      <p class="status" role="status">${room.message || statusText(room)}</p>
      ${room.runs.map((one, i) => trouble(room, one, room.runs.length > 1 ? (runNames[i] ?? '') : ''))}
    </section>
  `;
}

function answers({ t, run }: Room): TemplateResult | typeof nothing {
  const score = run.probe?.score;
  if (score === undefined || score.counted === 0) return nothing;
  const correct = Math.round(score.accuracy * score.counted);
  return html`<p class="note">${t('probe.answers', { correct, counted: score.counted })}</p>`;
}

function facts({ t }: Room, run: Run, name: string): TemplateResult {
  const { check, point, settings, step, speed } = run;
  const fact = (term: string, value: string) =>
    html`<div>
      <dt>${term}</dt>
      <dd>${value}</dd>
    </div>`;
  return html`<dl class="facts" data-run=${name}>
    ${name ? html`<div><dt class="unseen">${t('runs')}</dt><dd class="run-${name}">${t('run', { name })}</dd></div>` : nothing}
    ${fact(t('fact.step'), t('fact.stepOf', { step, steps: settings.steps }))}
    ${fact(t('fact.loss'), (point?.loss ?? check?.loss)?.toFixed(3) ?? '–')}
    ${fact(t('fact.accuracy'), check ? `${(100 * check.accuracy).toFixed(1)} %` : '–')}
    ${fact(t('fact.speed'), speed > 0 ? speed.toFixed(speed < 10 ? 1 : 0) : '–')}
  </dl>`;
}

/** Steps after which a model that is worse than guessing will hardly get better by itself. */
const PATIENCE = 100;

function statusText({ t, run, playing }: Room): string {
  const guess = Math.log(taskOf(run.settings.task).words.length);
  if (run.step > PATIENCE && (run.check?.loss ?? 0) > 1.2 * guess)
    return t('status.worse', { guess: guess.toFixed(2) });
  switch (run.status.kind) {
    case 'loading':
      return t('status.loading');
    case 'training':
      return t('status.training');
    case 'finished':
      return t('status.finished');
    case 'ready':
      return run.step === 0 ? t('status.ready') : playing ? t('status.training') : t('status.paused');
    default:
      return '';
  }
}

function trouble(room: Room, run: Run, name: string): TemplateResult | typeof nothing {
  const { t } = room;
  const { status } = run;
  if (status.kind !== 'diverged' && status.kind !== 'failed') return nothing;
  const prefix = name ? `${t('run', { name })}: ` : '';
  if (status.kind === 'diverged') {
    return html`<div class="trouble" role="alert">
      <h3>${prefix}${t('diverged.title')}</h3>
      <p>${t('diverged.remedy')}</p>
      <p class="note">${messageOf(status.error)}</p>
      <button @click=${() => room.reset()}>${t('reset')}</button>
    </div>`;
  }
  const code = status.error instanceof MultiheadError ? status.error.code : undefined;
  const remedy = code === 'wasm-unsupported' ? 'unsupported' : code === 'wasm-fetch' ? 'fetch' : 'other';
  return html`<div class="trouble" role="alert">
    <h3>${prefix}${t('failed.title')}</h3>
    <p>${t(`failed.${remedy}`)}</p>
    <button @click=${() => room.reset()}>${t('again')}</button>
    <details>
      <summary>${t('details')}</summary>
      <pre>${messageOf(status.error)}</pre>
    </details>
  </div>`;
}
