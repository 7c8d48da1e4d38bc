/** A training with the real engine: it learns, reports what it measured, and what it shows of the optimiser adds up. */
import { expect, test } from 'vitest';
import {
  adamw,
  defaultSettings,
  networkOf,
  type Settings,
  settingsFor,
  trainerSettingsOf,
} from '../../web/src/study/settings.js';
import { lengthOf } from '../../web/src/study/task.js';
import { probesOf, Training, type WeightStep } from '../../web/src/study/training.js';
import { loadTrainEngine } from '../../web/src/train/load.js';
import { Trainer } from '../../web/src/train/trainer.js';
import { createTrainingApi } from '../../web/src/worker/serve-training.js';

const small: Settings = { ...defaultSettings, width: 32, heads: 2, batch: 4, steps: 200, warmUp: 10 };

async function begin(settings: Settings) {
  const trainer = new Trainer(await loadTrainEngine(), networkOf(settings), trainerSettingsOf(settings));
  return { trainer, training: new Training(settings, trainer) };
}

test('the loss falls, steps are counted, checks come at their turn', async () => {
  const { trainer, training } = await begin(small);
  const first = training.look();
  expect(first.checks.map(({ step }) => step)).toEqual([0]);
  const report = training.advance(1e9, 120, null);
  expect(report.step).toBe(120);
  expect(report.points.map(({ step }) => step)).toEqual(Array.from({ length: 120 }, (_, i) => i + 1));
  expect(report.checks.map(({ step }) => step)).toEqual([25, 50, 75, 100]);
  const [early, late] = [first.checks[0]?.loss ?? 0, report.checks.at(-1)?.loss ?? 0];
  expect(late).toBeLessThan(early - 0.2);
  const cells = trainer.network.positions ** 2;
  expect(report.probe.attention.length).toBe(small.layers * small.heads * cells);
  for (const check of report.checks) {
    expect(check.findings.length).toBe(small.layers * small.heads);
    for (const entropy of [...check.trainEntropies, ...check.heldOutEntropies]) {
      expect(entropy).toBeGreaterThan(0);
      expect(entropy).toBeLessThanOrEqual(1 + 1e-6);
    }
    expect(check.weightDeviations.every((deviation) => deviation > 0 && deviation < 1)).toBe(true);
  }
});

test('time ends a turn, and each turn takes a step', async () => {
  const { training } = await begin(small);
  expect(training.advance(0, 1000, null).points.length).toBe(1);
  expect(training.advance(30, 1000, null).points.length).toBeGreaterThanOrEqual(1);
});

test('the same settings give the same numbers, however the steps are dealt out', async () => {
  const [one, other] = [(await begin(small)).training, (await begin(small)).training];
  const atOnce = one.advance(1e9, 30, null);
  let singly = other.look();
  for (let step = 0; step < 30; step++) singly = other.advance(0, 1, null);
  expect(singly.points.at(-1)).toEqual(atOnce.points.at(-1));
  expect(singly.probe.attention).toEqual(atOnce.probe.attention);
});

const weightBack = (training: Training, { length, head, back }: Record<'length' | 'head' | 'back', number>) => {
  const { attention } = training.look().probe;
  const weights = Array.from({ length: length - back }, (_, i) => {
    const query = i + back;
    return attention[(head * length + query) * length + query - back] as number;
  });
  return weights.reduce((sum, weight) => sum + weight, 0) / weights.length;
};

test('heads that are taught look where they are taught to, while that lasts', async () => {
  const settings: Settings = { ...small, task: 'world-zh', taught: true };
  const { training } = await begin(settings);
  training.advance(1e9, 150, null);
  const length = lengthOf(training.task);
  expect(training.task.lessons).toEqual([2, 3]);
  for (const [head, back] of training.task.lessons.entries()) {
    expect(weightBack(training, { length, head, back })).toBeGreaterThan(0.8);
  }
  const untaught = (await begin({ ...settings, taught: false })).training;
  untaught.advance(1e9, 150, null);
  expect(weightBack(untaught, { length, head: 0, back: 2 })).toBeLessThan(0.5);
});

test('with a lesson facts are recalled', async () => {
  const { training } = await begin({ ...defaultSettings, ...settingsFor('recall'), batch: 8, steps: 600 });
  const report = training.advance(1e9, 400, null);
  expect(report.checks.at(-1)?.accuracy).toBeGreaterThan(0.9);
});

/** The number after the step, by the formula that the page shows beside it. */
function byFormula(settings: Settings, seen: WeightStep): number {
  const gradient = seen.gradient * seen.clipFactor;
  const shrunk = seen.before * (1 - (seen.decays ? seen.learningRate * settings.decay : 0));
  if (seen.moments === null) return shrunk - seen.learningRate * gradient;
  const mean = adamw.beta1 * seen.moments.mean + (1 - adamw.beta1) * gradient;
  const variance = adamw.beta2 * seen.moments.variance + (1 - adamw.beta2) * gradient ** 2;
  const [meanHat, varianceHat] = [mean / (1 - adamw.beta1 ** seen.step), variance / (1 - adamw.beta2 ** seen.step)];
  return shrunk - (seen.learningRate * meanHat) / (Math.sqrt(varianceHat) + adamw.epsilon);
}

test.each(['adamw', 'sgd'] as const)('what is shown of %s adds up to what the engine did', async (optimiser) => {
  const settings: Settings = { ...small, optimiser, rate: optimiser === 'sgd' ? 0.05 : small.rate, clip: 0.5 };
  const { training } = await begin(settings);
  for (const name of ['wte.weight', 'h.1.attn.c_attn.weight', 'h.0.ln_1.bias']) {
    for (let step = 0; step < 5; step++) {
      const { watched } = training.advance(0, 1, { name, index: 37 % 32 });
      if (watched === null) throw new Error('nothing was watched');
      expect(watched).toMatchObject({ name, index: 5 });
      expect(Math.abs(watched.after - byFormula(settings, watched))).toBeLessThan(2e-7);
    }
  }
});

test('a finite set of examples is shown again and again', async () => {
  const { training } = await begin({
    ...small,
    examples: 64,
    task: 'sort',
    width: 64,
    heads: 4,
    batch: 16,
    steps: 400,
  });
  const report = training.advance(1e9, 250, null);
  const last = report.points.slice(-20).reduce((sum, { loss }) => sum + loss / 20, 0);
  // By heart: what it has seen it knows far better than what it has not.
  expect(last).toBeLessThan(0.5 * (report.checks.at(-1)?.loss ?? 0));
});

test('a rate that is much too high is stopped with the tensor and the step', async () => {
  const { training } = await begin({ ...small, optimiser: 'sgd', rate: 1, clip: 0, scaled: false, norm: 'post' });
  const wild = await begin({ ...small, rate: 1, clip: 0 });
  expect(() => {
    for (const one of [training, wild.training]) one.advance(1e9, 400, null);
    // Weights of infinity, whatever the training did.
    wild.trainer.write('h.0.mlp.c_fc.weight', {
      data: new Float32Array(32 * 128).fill(Number.POSITIVE_INFINITY),
      shape: [32, 128],
    });
    wild.training.advance(0, 1, null);
  }).toThrow(expect.objectContaining({ code: 'nonfinite' }));
});

test('over the protocol of the worker', async () => {
  const api = createTrainingApi();
  expect(await api.advance(0, 1, null)).toMatchObject({ error: { code: 'worker' } });
  const begun = await api.begin(small);
  if ('error' in begun) throw new Error(begun.error.message);
  expect(begun.value.parameters[0]).toMatchObject({ name: 'wte.weight', shape: [30, 32] });
  const words = probesOf(small)[3] ?? [];
  const probed = await api.probe(words);
  expect(probed).toMatchObject({ value: { step: 0, points: [], probe: { words } } });
  expect(await api.advance(0, 2, null)).toMatchObject({ value: { step: 1 } });
  const saved = await api.save();
  if ('error' in saved) throw new Error(saved.error.message);
  expect(saved.value.length).toBeGreaterThan(10_000);
});
