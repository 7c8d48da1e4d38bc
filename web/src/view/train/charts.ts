/** The curves of a training, and what they say about memorising. */
import { html, nothing, type TemplateResult } from 'lit';
import { weightNames } from '../../study/training.js';
import { type Room, runColours, runNames } from './context.js';
import type { Curve, Mark } from './curves.js';
import { headName } from './maps.js';
import type { Curves, Run } from './run.js';

/** Colours of a few lines of the same run, told apart in light and dark: of layers, and of matrices. */
const shades = ['var(--mh-data)', 'var(--mh-accent)', '#8a7a2e', '#2e8a7a', '#8a5aa8', '#767d86'] as const;

export function charts(room: Room): TemplateResult {
  const { t, run, head } = room;
  const { layers, heads } = run.settings;
  const { curves } = run;
  const index = head.layer * heads + head.head;
  const layered = Array.from({ length: layers }, (_, layer) => layer);
  return html`
    <section class="charts" @mh-step=${(event: HTMLElementEventMap['mh-step']) => {
      const { step, keep } = event.detail;
      if (keep && step !== null) room.look(step >= run.step ? null : step);
      else room.hover(step);
    }}>
      ${chart(room, t('chart.loss'), pairs(room, 'loss', 'heldOutLoss'), { marks: marks(room) })}
      ${chart(room, t('chart.accuracy'), pairs(room, 'accuracy', 'heldOutAccuracy'), { most: 1, marks: marks(room) })}
      ${reading(room)}
      ${chart(
        room,
        t('chart.entropy', { head: headName(room, head) }),
        [
          line(t('chart.train'), curves.trainEntropies[index], shades[0], { dashed: true }),
          line(t('chart.heldOut'), curves.heldOutEntropies[index], shades[0]),
          ...curves.heldOutEntropies
            .filter((_, i) => i !== index)
            .map((series) => line('', series, 'var(--mh-muted)', { faint: true })),
        ],
        { most: 1, note: t('chart.entropyNote') },
      )}
      ${chart(
        room,
        t('chart.norm'),
        each(room, (one) => one.curves.gradientNorm),
        { log: true },
      )}
      ${chart(
        room,
        t('chart.rate'),
        each(room, (one) => one.curves.learningRate),
        {
          format: (value) => (value === 0 ? '0' : value.toExponential(1)),
        },
      )}
      ${chart(
        room,
        t('chart.similarity'),
        layered.map((layer) =>
          line(t('chart.layer', { layer: layer + 1 }), curves.similarities[layer], shades[layer] ?? shades[0]),
        ),
        { most: 1 },
      )}
      ${chart(
        room,
        t('chart.deviation', { layer: head.layer + 1 }),
        weightNames.map((name, i) => line(name, curves.deviations[head.layer * 6 + i], shades[i] ?? shades[0])),
        { format: (value) => value.toFixed(3) },
      )}
      ${log(room)}
    </section>
  `;
}

interface ChartOptions {
  readonly most?: number;
  readonly log?: boolean;
  readonly marks?: readonly Mark[];
  readonly note?: string;
  readonly format?: (value: number) => string;
}

function chart(room: Room, heading: string, curves: readonly Curve[], options: ChartOptions = {}): TemplateResult {
  return html`<mh-curves
    .heading=${heading}
    .curves=${curves}
    .lastStep=${Math.max(50, ...room.runs.map(({ step }) => step))}
    .cursor=${room.hovered ?? room.cursor}
    .marks=${options.marks ?? []}
    .scale=${options.log ? 'log' : 'linear'}
    .most=${options.most ?? null}
    .format=${options.format ?? ((value: number) => value.toFixed(2))}
    title=${options.note ?? nothing}
  ></mh-curves>`;
}

const line = (
  label: string,
  series: { readonly points: Curve['points'] } | undefined,
  colour: string,
  style: { readonly dashed?: boolean; readonly faint?: boolean } = {},
): Curve => ({ label, points: series?.points ?? [], colour, ...style });

/** One line a run. */
const each = (room: Room, of: (run: Run) => { readonly points: Curve['points'] }): readonly Curve[] =>
  room.runs.map((run, i) => line(runLabel(room, i), of(run), runColours[i] ?? runColours[0]));

const runLabel = ({ t, runs }: Room, i: number): string =>
  runs.length > 1 ? t('run', { name: runNames[i] ?? '' }) : '';

/** Training and held-out part of every run. */
function pairs(room: Room, train: 'loss' | 'accuracy', heldOut: 'heldOutLoss' | 'heldOutAccuracy'): readonly Curve[] {
  const { t } = room;
  return room.runs.flatMap(({ curves }, i) => {
    const colour = runColours[i] ?? runColours[0];
    const name = (part: string) => `${runLabel(room, i)} ${part}`.trim();
    return [
      line(name(t('chart.train')), curves[train] satisfies Curves['loss'], colour, { dashed: true }),
      line(name(t('chart.heldOut')), curves[heldOut], colour),
    ];
  });
}

/** Steps at which heads of the active run began to do what answers the task. */
function marks(room: Room): readonly Mark[] {
  return room.run.namings
    .filter(({ pattern }) => pattern === 'induction' || pattern === 'answer')
    .map(({ step, layer, head, pattern }) => ({
      step,
      label: room.t('naming', {
        step,
        head: headName(room, { layer, head }),
        pattern: room.t(`pattern.${pattern}`, { offset: 0 }),
      }),
    }));
}

/** Is it learning by heart? Only a training part that comes again can be. */
function reading({ t, run }: Room): TemplateResult | typeof nothing {
  const { check, curves, settings } = run;
  const train = curves.accuracy.last;
  if (settings.examples === 0 || check === null || train === undefined) return nothing;
  const recent = curves.accuracy.points.slice(-20);
  const mean = recent.reduce((sum, [, value]) => sum + value / recent.length, 0);
  const lower = check.trainEntropies.filter((value, i) => value < (check.heldOutEntropies[i] ?? 0)).length;
  const percent = (share: number) => `${Math.round(100 * share)} %`;
  // 10 points more, of an accuracy over some hundred places, is no accident.
  const memorising = mean > check.accuracy + 0.1;
  return html`<p class="note reading" data-memorising=${memorising}>
    ${
      memorising
        ? t('reading.memorising', {
            train: percent(mean),
            heldOut: percent(check.accuracy),
            heads: lower,
            count: check.trainEntropies.length,
          })
        : t('reading.general')
    }
  </p>`;
}

function log(room: Room): TemplateResult | typeof nothing {
  const { t, run } = room;
  if (run.namings.length === 0) return nothing;
  return html`<details class="log" open>
    <summary>${t('log')}</summary>
    <ol>
      ${run.namings
        .slice(-8)
        .toReversed()
        .map(
          ({ step, layer, head, pattern }) =>
            html`<li>
              ${t('naming', { step, head: headName(room, { layer, head }), pattern: t(`pattern.${pattern}`, { offset: '' }) })}
            </li>`,
        )}
    </ol>
  </details>`;
}
