/** The other side of the translation protocol: one translator, asked from the page. */
import { transfer } from 'comlink';
import { MultiheadError } from '../core/errors.js';
import { Translator } from '../study/translator.js';
import { loadTrainEngine } from '../train/load.js';
import { outcome } from './serve.js';
import type { TranslationApi } from './translation-protocol.js';

export function createTranslationApi(): TranslationApi {
  let translator: Translator | undefined;
  const known = () => {
    if (translator) return translator;
    throw new MultiheadError('worker', 'the worker was asked before a translator was loaded');
  };
  return {
    hello() {},

    loadTranslator: (files) =>
      outcome(async () => {
        translator?.dispose();
        translator = await Translator.create(await loadTrainEngine(), files);
        return { build: translator.build, positions: translator.positions };
      }),

    async look(source, written, more) {
      const result = await outcome(() => known().look(source, written, more));
      if (!('value' in result)) return result;
      const { cross, encoder, decoder, probabilities } = result.value;
      return transfer(
        result,
        [cross, encoder, decoder, probabilities].map(({ buffer }) => buffer),
      );
    },
  };
}
