/** One loaded model per address for the whole page, however many lenses look through it. */
import type { Model, ModelFiles, ModelSource, Progress } from '../core/types.js';
import { loadModel } from '../worker/load-model.js';
import type { LoadedBytes, ModelSupply } from './session.js';

type Listener = (bytes: LoadedBytes) => void;

interface Loading {
  readonly model: Promise<Model>;
  readonly listeners: Set<Listener>;
}

const loadings = new Map<string, Loading>();

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

function load(address: string): Loading {
  const listeners = new Set<Listener>();
  const model = sourceOf(address).then((source) => loadModel(source, { onProgress: tally(listeners) }));
  return { model, listeners };
}

export const sharedModels: ModelSupply = {
  async acquire(address, onProgress) {
    const loading = loadings.get(address) ?? load(address);
    loadings.set(address, loading);
    loading.listeners.add(onProgress);
    try {
      return await loading.model;
    } catch (error) {
      if (loadings.get(address) === loading) loadings.delete(address);
      throw error;
    } finally {
      loading.listeners.delete(onProgress);
    }
  },
  forget(address) {
    const loading = loadings.get(address);
    loadings.delete(address);
    loading?.model.then(
      (model) => model.dispose(),
      () => {},
    );
  },
};
