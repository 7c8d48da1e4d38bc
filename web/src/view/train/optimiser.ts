/** One number of the model and one step of the optimiser, the formula beside its numbers. */
import { html, nothing, type TemplateResult } from 'lit';
import { adamw, type Settings } from '../../study/settings.js';
import type { WeightStep } from '../../study/training.js';
import { choiceList } from '../sections/fields.js';
import type { Room } from './context.js';

export function optimiser(room: Room): TemplateResult {
  const { t, run, watched } = room;
  const parameters = run.begun?.parameters ?? [];
  const size =
    parameters.find(({ name }) => name === watched.name)?.shape.reduce((count, side) => count * side, 1) ?? 1;
  return html`
    <details
      class="optimiser"
      @toggle=${(event: Event) => room.watch((event.target as HTMLDetailsElement).open ? watched : null)}
    >
      <summary>${t('optimiser.title')}</summary>
      <p class="note">${t('optimiser.note')}</p>
      <div class="row">
        ${choiceList({
          label: t('optimiser.tensor'),
          choices: parameters.map(({ name, shape }) => ({ value: name, label: `${name} [${shape.join(' × ')}]` })),
          value: watched.name,
          choose: (name) => room.watch({ name, index: 0 }),
        })}
        <input
          type="number"
          aria-label=${t('optimiser.index')}
          title=${t('optimiser.index')}
          min="0"
          max=${size - 1}
          step="1"
          .value=${String(watched.index)}
          @change=${(event: Event) => {
            const index = Math.trunc((event.target as HTMLInputElement).valueAsNumber);
            if (index >= 0 && index < size) room.watch({ ...watched, index });
            else (event.target as HTMLInputElement).value = String(watched.index);
          }}
        />
        <button @click=${() => room.stepOnce()}>${t('step')}</button>
      </div>
      ${run.watched ? table(room, run.watched, run.settings) : html`<p class="note">${t('optimiser.wait')}</p>`}
    </details>
  `;
}

const exact = (value: number): string => (value === 0 ? '0' : value.toPrecision(5).replace('-', '−'));

/** Within a formula. */
const term = (value: number): string => (value < 0 ? `(${exact(value)})` : exact(value));

function table({ t }: Room, seen: WeightStep, settings: Settings): TemplateResult {
  const gradient = seen.gradient * seen.clipFactor;
  const decay = seen.decays ? seen.learningRate * settings.decay * seen.before : 0;
  const rows: [string, string, number][] = [
    [t('optimiser.before'), `p, t = ${seen.step}`, seen.before],
    [t('optimiser.gradient'), '', seen.gradient],
    [t('optimiser.clipped'), `g · ${term(seen.clipFactor)}`, gradient],
    [t('optimiser.rate'), '', seen.learningRate],
  ];
  let update = seen.learningRate * gradient;
  if (seen.moments !== null) {
    const { beta1, beta2, epsilon } = adamw;
    const mean = beta1 * seen.moments.mean + (1 - beta1) * gradient;
    const variance = beta2 * seen.moments.variance + (1 - beta2) * gradient ** 2;
    const meanHat = mean / (1 - beta1 ** seen.step);
    const varianceHat = variance / (1 - beta2 ** seen.step);
    update = (seen.learningRate * meanHat) / (Math.sqrt(varianceHat) + epsilon);
    rows.push(
      [t('optimiser.mean'), `${beta1} · ${term(seen.moments.mean)} + ${term(1 - beta1)} · ${term(gradient)}`, mean],
      [
        t('optimiser.variance'),
        `${beta2} · ${term(seen.moments.variance)} + ${term(1 - beta2)} · ${term(gradient ** 2)}`,
        variance,
      ],
      [t('optimiser.meanHat'), `${term(mean)} / ${term(1 - beta1 ** seen.step)}`, meanHat],
      [t('optimiser.varianceHat'), `${term(variance)} / ${term(1 - beta2 ** seen.step)}`, varianceHat],
    );
  }
  const after = seen.before - decay - update;
  rows.push(
    [
      t('optimiser.decay'),
      seen.decays ? `${term(seen.learningRate)} · ${settings.decay} · ${term(seen.before)}` : '',
      decay,
    ],
    [t(seen.moments ? 'optimiser.update' : 'optimiser.updateSgd'), '', update],
    [t('optimiser.after'), `${term(seen.before)} − ${term(decay)} − ${term(update)}`, after],
  );
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label=${t('optimiser.title')}>
      <table class="numbers">
        <tbody>
          ${rows.map(
            ([name, formula, value]) => html`<tr>
              <th scope="row">${name}</th>
              <td class="formula">${formula || nothing}</td>
              <td>${exact(value)}</td>
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
    <p class="note">
      ${t('optimiser.proof', { value: exact(seen.after), difference: Math.abs(seen.after - after).toExponential(0) })}
    </p>
  `;
}
