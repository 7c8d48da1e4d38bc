/** The worker's side of the protocol: one model, called from the page. */
import { type Endpoint, expose, transfer } from 'comlink';
import { MultiheadError } from '../core/errors.js';
import { loadModelHere } from '../core/model.js';
import type { Model, ModelSession } from '../core/types.js';
import { type Outcome, packError, type WorkerApi } from './protocol.js';

/** Answers calls that come over `endpoint`: a worker's global scope, or a message port. */
export function serve(endpoint: Endpoint): void {
  expose(createApi(), endpoint);
}

export function createApi(): WorkerApi {
  let model: Model | undefined;
  const sessions = new Map<number, ModelSession>();
  const loaded = (): Model => {
    if (model) return model;
    throw new MultiheadError('worker', 'the worker was asked before a model was loaded');
  };
  const session = (id: number): ModelSession => {
    const known = sessions.get(id) ?? loaded().openSession();
    sessions.set(id, known);
    return known;
  };
  return {
    hello() {},

    load: (files, options, onProgress) =>
      outcome(async () => {
        model = await loadModelHere(files, { ...options, ...(onProgress && { onProgress }) });
        return { info: model.info, build: model.build, threads: model.threads };
      }),

    async run(input, options, id) {
      const result = await outcome(async () => (id === null ? loaded() : session(id)).run(input, options));
      // All arrays of a result are views of one buffer.
      return 'value' in result ? transfer(result, [result.value.attention.buffer]) : result;
    },

    closeSession(id) {
      sessions.get(id)?.dispose();
      sessions.delete(id);
    },

    tokenize: (input, options) => outcome(() => loaded().tokenize(input, options)),
  };
}

/** What `work` gives, or the error it threw. */
export async function outcome<T>(work: () => T | Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await work() };
  } catch (thrown) {
    return { error: packError(thrown) };
  }
}
