/** What the Train room does without a page: its link, its words, and how a run drives a worker. */
import { describe, expect, test } from 'vitest';
import { MultiheadError } from '../../web/src/core/errors.js';
import { defaultSettings, type Settings } from '../../web/src/study/settings.js';
import { probesOf } from '../../web/src/study/training.js';
import { trainEn } from '../../web/src/view/i18n/train.en.js';
import { trainZh } from '../../web/src/view/i18n/train.zh.js';
import { hashToRoom, roomToHash } from '../../web/src/view/train/link.js';
import { Run } from '../../web/src/view/train/run.js';
import type { Host } from '../../web/src/worker/connection.js';
import { packError } from '../../web/src/worker/protocol.js';
import { createTrainingApi } from '../../web/src/worker/serve-training.js';
import type { TrainingApi } from '../../web/src/worker/training-protocol.js';

describe('link', () => {
  test('of one run and of two comes back as it was', () => {
    const first: Settings = { ...defaultSettings, task: 'world-zh', heads: 8, rate: 0.001 };
    for (const second of [null, first, { ...first, heads: 1, scaled: false }]) {
      const settings = { first, second };
      expect(hashToRoom(`#${roomToHash(settings)}`)).toEqual({ settings, problems: [] });
    }
    expect(roomToHash({ first, second: { ...first, heads: 1 } })).toBe(
      'room=train&task=world-zh&heads=8&rate=0.001&compare=1&b.heads=1',
    );
  });

  test('names what it cannot read and keeps the rest', () => {
    const { settings, problems } = hashToRoom('#room=train&task=poetry&heads=8&compare=1&b.norm=x&b.layers=3&other=1');
    expect(problems).toEqual(['task', 'b.norm']);
    expect(settings.first).toEqual({ ...defaultSettings, heads: 8 });
    expect(settings.second).toEqual({ ...defaultSettings, heads: 8, layers: 3 });
    expect(hashToRoom('#room=train&compare=1&b.task=copy')).toEqual({
      settings: { first: defaultSettings, second: defaultSettings },
      problems: ['b.task'],
    });
    expect(hashToRoom('#room=train&compare=maybe')).toMatchObject({
      problems: ['compare'],
      settings: { second: null },
    });
    expect(hashToRoom('#%%%=&heads=%E0%A4%A')).toMatchObject({ problems: ['heads'] });
  });
});

const places = (text: string) => [...text.matchAll(/\{\{(\w+)\}\}/g)].map((match) => match[1]).sort();

test.each(Object.entries(trainZh))('%s has the same places in both languages', (key, text) => {
  expect(text).not.toBe('');
  expect(places(text)).toEqual(places(trainEn[key as keyof typeof trainEn]));
});

const small: Settings = { ...defaultSettings, width: 16, heads: 2, batch: 2, steps: 100, warmUp: 5 };

/** The worker's side in this thread, one part of it replaced. */
function hostWith(part: Partial<TrainingApi> = {}) {
  const api = { ...createTrainingApi(), ...part };
  const host: Host<TrainingApi> & { closed: boolean } = {
    closed: false,
    async call(make) {
      const outcome = await make(api);
      if ('value' in outcome) return outcome.value;
      throw new MultiheadError(outcome.error.code ?? 'argument', outcome.error.message);
    },
    close() {
      host.closed = true;
    },
  };
  return host;
}

async function begun(settings = small, host = hostWith()) {
  const run = new Run(
    settings,
    async () => host,
    () => {},
    async () => {},
  );
  await run.begin();
  return run;
}

describe('a run', () => {
  test('steps, plays to the end of its schedule, and goes on when asked', async () => {
    const run = await begun();
    expect(run.status.kind).toBe('ready');
    await run.stepOnce();
    expect(run.step).toBe(1);
    await run.play();
    expect(run).toMatchObject({ step: 100, playing: false, status: { kind: 'finished' } });
    expect(run.curves.loss.points.length).toBe(100);
    expect(run.curves.heldOutLoss.points.map(([step]) => step)).toEqual([0, 25, 50, 75, 100]);
    expect(run.snapshots.all[0]?.step).toBe(0);
    const more = run.play();
    run.pause();
    await more;
    expect(run.step).toBeGreaterThan(100);
    expect(run.status.kind).toBe('ready');
  });

  test('pauses, and keeps what it has', async () => {
    const run: Run = new Run(
      small,
      async () => hostWith(),
      () => {},
      async () => run.pause(),
    );
    await run.begin();
    await run.play();
    expect(run.step).toBeGreaterThan(0);
    expect(run.step).toBeLessThan(100);
    expect(run.status.kind).toBe('ready');
    expect(run.probe?.attention.length).toBe(4 * 24 * 24);
  });

  test('stops where a number is not finite, and says where', async () => {
    const message = 'gradient of h.0.mlp.c_fc.weight has NaN at step 7';
    const host = hostWith({ advance: async () => ({ error: packError(new MultiheadError('nonfinite', message)) }) });
    const run = await begun(small, host);
    await run.play();
    expect(run.status).toMatchObject({ kind: 'diverged', error: { message } });
    expect(run.playing).toBe(false);
    await run.stepOnce();
    expect(run.step).toBe(0);
  });

  test('fails where no worker can be had', async () => {
    const run = new Run(
      small,
      async () => {
        throw new MultiheadError('worker', 'no worker');
      },
      () => {},
      async () => {},
    );
    await run.begin();
    expect(run.status.kind).toBe('failed');
  });

  test('watches another sequence, also when asked while it is busy', async () => {
    const run = await begun();
    const other = probesOf(small)[2] ?? [];
    const stepping = run.stepOnce();
    await run.setProbe(other);
    await stepping;
    expect(run.probe?.words).toEqual(other);
    // What was seen of another sequence is no past of this one.
    expect(run.snapshots.all.length).toBe(1);
  });

  test('that was closed ends its worker and tells nobody', async () => {
    let told = 0;
    const host = hostWith();
    const run = new Run(
      small,
      async () => host,
      () => {
        told++;
      },
      async () => {},
    );
    await run.begin();
    const before = told;
    const playing = run.play();
    run.close();
    await playing;
    expect(host.closed).toBe(true);
    expect(told).toBe(before);
  });
});
