/** The script of the Web Worker: one model, called from the page. Importing it starts it. */
import { expose, transfer } from 'comlink';
import { MultiheadError } from '../core/errors.js';
import { loadModelHere } from '../core/model.js';
import type { Model } from '../core/types.js';
import { type Outcome, packError, type WorkerApi } from './protocol.js';

let model: Model | undefined;

function loaded(): Model {
  if (model) return model;
  throw new MultiheadError('worker', 'the worker was asked before a model was loaded');
}

async function outcome<T>(work: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await work() };
  } catch (thrown) {
    return { error: packError(thrown) };
  }
}

const api: WorkerApi = {
  hello() {},

  load: (files, options, onProgress) =>
    outcome(async () => {
      model = await loadModelHere(files, { ...options, ...(onProgress && { onProgress }) });
      return { info: model.info, build: model.build };
    }),

  async run(input, options) {
    const result = await outcome(() => loaded().run(input, options));
    // All arrays of a result are views of one buffer.
    return 'value' in result ? transfer(result, [result.value.attention.buffer]) : result;
  },

  tokenize: (text, options) => outcome(() => loaded().tokenize(text, options)),
};

expose(api);
