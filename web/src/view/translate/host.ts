/** Where the translator computes: in a worker, or in the page where it may start none. */
import { bilingual } from 'multihead/models/bilingual';
import { translator } from 'multihead/models/translator';
import { readFile } from '../../core/assets.js';
import { MultiheadError } from '../../core/errors.js';
import { Connection, type Host, hostHere } from '../../worker/connection.js';
import { createTranslationApi } from '../../worker/serve-translation.js';
import { spawnTrainingWorker } from '../../worker/spawn-training.js';
import type { TranslationApi, TranslatorInfo } from '../../worker/translation-protocol.js';

export interface LoadedTranslator {
  readonly host: Host<TranslationApi>;
  readonly info: TranslatorInfo;
  /** It computes in the page itself. */
  readonly here: boolean;
}

/** @throws {MultiheadError} if the model or the engine cannot be loaded. */
export async function loadTranslator(onProgress: (loaded: number, total: number) => void): Promise<LoadedTranslator> {
  const [{ host, here }, weights, tokenizer] = await Promise.all([
    openHost(),
    readFile(translator.weights, { code: 'model-fetch', onProgress }),
    // It is the language model's own.
    readFile(bilingual.tokenizer, { code: 'model-fetch' }),
  ]);
  try {
    const files = { network: translator.network, weights, tokenizer };
    return { host, here, info: await host.call((remote) => remote.loadTranslator(files)) };
  } catch (error) {
    host.close(error);
    throw error;
  }
}

async function openHost(): Promise<Pick<LoadedTranslator, 'host' | 'here'>> {
  try {
    return { host: await Connection.open<TranslationApi>(spawnTrainingWorker), here: false };
  } catch (error) {
    if (!(error instanceof MultiheadError && error.code === 'worker')) throw error;
    return { host: hostHere(createTranslationApi()), here: true };
  }
}
