/** One loaded model per address and precision for the whole page, however many lenses look through it. */
import type { Model, ModelFiles, ModelSource, Precision, Progress } from '../core/types.js';
import { loadModel } from '../worker/load-model.js';
import type { LoadedBytes, ModelSupply } from './session.js';
import { precisions } from './state.js';

type Listener = (bytes: LoadedBytes) => void;

interface Loading {
  readonly model: Promise<Model>;
  readonly listeners: Set<Listener>;
}

const loadings = new Map<string, Loading>();

const keyOf = (address: string, precision: Precision): string => `${precision} ${address}`;

/** Models that the page itself made, by the address that they were given. */
const offered = new Map<string, ModelFiles>();

/** Gives files an address for `<multihead-lens model>`, on this page only and until it is left. */
export function offerModel(files: ModelFiles): string {
  const address = `made-here:${offered.size + 1}`;
  offered.set(address, files);
  return address;
}

/** The model that comes with the package is loaded by a page only when a lens on it names no other. */
async function sourceOf(address: string): Promise<ModelSource> {
  if (address !== '') return offered.get(address) ?? address;
  const { bilingual } = await import('multihead/models/bilingual');
  return bilingual;
}

/** Adds up all files. The total is told once that of the weights is known: the other files hardly count. */
function tally(listeners: Set<Listener>): (progress: Progress) => void {
  const files = new Map<string, Progress>();
  return (progress) => {
    files.set(progress.file, progress);
    let loaded = 0;
    let total = 0;
    for (const file of files.values()) {
      loaded += file.loaded;
      total += file.total;
    }
    const known = (files.get('weights')?.total ?? 0) > 0;
    for (const listener of listeners) listener({ loaded, total: known ? Math.max(total, loaded) : 0 });
  };
}

function load(address: string, precision: Precision): Loading {
  const listeners = new Set<Listener>();
  const model = sourceOf(address).then((source) => loadModel(source, { precision, onProgress: tally(listeners) }));
  return { model, listeners };
}

export const sharedModels: ModelSupply = {
  async acquire(address, precision, onProgress) {
    const key = keyOf(address, precision);
    const loading = loadings.get(key) ?? load(address, precision);
    loadings.set(key, loading);
    loading.listeners.add(onProgress);
    try {
      return await loading.model;
    } catch (error) {
      if (loadings.get(key) === loading) loadings.delete(key);
      throw error;
    } finally {
      loading.listeners.delete(onProgress);
    }
  },
  forget(address) {
    for (const precision of precisions) {
      const key = keyOf(address, precision);
      const loading = loadings.get(key);
      loadings.delete(key);
      loading?.model.then(
        (model) => model.dispose(),
        () => {},
      );
    }
  },
};
