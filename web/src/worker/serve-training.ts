/** The training worker's side of its protocols: one trainer, driven from the page, or one translator. */
import { type Endpoint, expose, transfer } from 'comlink';
import { MultiheadError } from '../core/errors.js';
import { networkOf, trainerSettingsOf } from '../study/settings.js';
import { Training } from '../study/training.js';
import { loadTrainEngine } from '../train/load.js';
import { Trainer } from '../train/trainer.js';
import { outcome } from './serve.js';
import { createTranslationApi } from './serve-translation.js';
import type { TrainingApi } from './training-protocol.js';

export function serveTraining(endpoint: Endpoint): void {
  expose({ ...createTrainingApi(), ...createTranslationApi() }, endpoint);
}

export function createTrainingApi(): TrainingApi {
  let begun: { readonly trainer: Trainer; readonly training: Training } | undefined;
  const known = () => {
    if (begun) return begun;
    throw new MultiheadError('worker', 'the worker was asked before a training was begun');
  };
  return {
    hello() {},

    begin: (settings) =>
      outcome(async () => {
        begun?.trainer.dispose();
        const engine = await loadTrainEngine();
        const trainer = new Trainer(engine, networkOf(settings), trainerSettingsOf(settings));
        const training = new Training(settings, trainer);
        begun = { trainer, training };
        return { build: engine.build, parameters: trainer.parameters, report: training.look() };
      }),

    advance: (milliseconds, most, watch) => outcome(() => known().training.advance(milliseconds, most, watch)),

    probe: (words) =>
      outcome(() => {
        known().training.setProbe(words);
        return known().training.look();
      }),

    async save() {
      const result = await outcome(() => known().training.save());
      return 'value' in result ? transfer(result, [result.value.buffer]) : result;
    },
  };
}
