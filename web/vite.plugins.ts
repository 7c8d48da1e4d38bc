import { fileURLToPath } from 'node:url';
import type { Alias, Plugin, Rolldown } from 'vite';

/** How web/models/NAME/index.ts names the files of a model. */
const MODEL_FILE = "new URL('./";

/**
 * Puts the worker's code into the bundle, to be started from a Blob. Use with `worker: { format: 'iife' }`: a page
 * without an origin (file://, a sandboxed frame) may start a classic worker from a Blob, but not a module.
 */
export const inlineWorker: Alias = {
  find: /^.*\/spawn\.js$/,
  replacement: fileURLToPath(new URL('./spawn-inline.ts', import.meta.url)),
};

/** The same for the worker that trains. */
export const inlineTrainingWorker: Alias = {
  find: /^.*\/spawn-training\.js$/,
  replacement: fileURLToPath(new URL('./spawn-training-inline.ts', import.meta.url)),
};

/** Leaves the engines with threads out of a bundle that has the engines in it. */
export const noThreads: Alias = {
  find: /^.*\/threaded-wasm\.js$/,
  replacement: fileURLToPath(new URL('./no-threads.ts', import.meta.url)),
};

/** `multihead/models/NAME`, which the package resolves by its own name, from the sources. */
export const ownModels: Alias = {
  find: /^multihead\/models\/(.+)$/,
  replacement: fileURLToPath(new URL('./models/$1/index.ts', import.meta.url)),
};

/** Leaves the files of the models out of the bundle, to be fetched from models/NAME/ beside it. */
export function modelsBeside(): Plugin {
  return {
    name: 'multihead:models-beside',
    enforce: 'pre',
    transform(code, id) {
      const name = /\/web\/models\/([^/]+)\/index\.ts$/.exec(id)?.[1];
      if (!name) return null;
      if (!code.includes(MODEL_FILE)) this.error(`${id} has no ${MODEL_FILE}`);
      return { code: code.replaceAll(MODEL_FILE, `new URL(/* @vite-ignore */ './models/${name}/`), map: null };
    },
  };
}

/** Has a page fetch a chunk that it imports later together with its own script. */
export function preloadModule(page: string, chunk: string): Plugin {
  return {
    name: 'multihead:preload-module',
    transformIndexHtml: {
      order: 'post',
      handler(_html, { filename, bundle }) {
        if (!bundle || !filename.endsWith(page)) return [];
        const file = Object.values(bundle).find(({ type, name }) => type === 'chunk' && name === chunk);
        if (!file) throw new Error(`there is no chunk ${chunk} for ${page} to preload`);
        return [
          {
            tag: 'link',
            attrs: { rel: 'modulepreload', crossorigin: true, href: `./${file.fileName}` },
            injectTo: 'head',
          },
        ];
      },
    },
  };
}

/** Moves scripts and styles into the page, and calls it `fileName`: one file that works by a double click. */
export function oneFile(fileName: string): Plugin {
  return {
    name: 'multihead:one-file',
    // After all of Vite's own work on the bundle.
    generateBundle: {
      order: 'post',
      handler(_options, bundle) {
        const page = Object.values(bundle).find((file) => file.fileName.endsWith('.html'));
        if (page?.type !== 'asset') return this.error('there is no page to move the scripts into');
        let html = String(page.source);
        for (const file of Object.values(bundle)) {
          const inlined = inline(html, file);
          if (inlined === html) continue;
          html = inlined;
          delete bundle[file.fileName];
        }
        const left = Object.keys(bundle).filter((name) => name !== page.fileName);
        if (left.length > 0) this.error(`these files are not in the page: ${left.join(', ')}`);
        page.source = html;
        page.fileName = fileName;
      },
    },
  };
}

function inline(html: string, file: Rolldown.OutputAsset | Rolldown.OutputChunk): string {
  const name = file.fileName.replaceAll('.', '\\.');
  if (file.type === 'chunk') {
    const tag = new RegExp(`<script[^>]* src="\\./${name}"[^>]*></script>`);
    return html.replace(tag, () => `<script type="module">${withoutTags(file.code)}</script>`);
  }
  const tag = new RegExp(`<link[^>]* href="\\./${name}"[^>]*>`);
  return html.replace(tag, () => `<style>${file.source}</style>`);
}

/** The parser of HTML looks for these even in a string of a script. */
function withoutTags(code: string): string {
  return code.replaceAll('</script', '<\\/script').replaceAll('<!--', '\\x3C!--');
}
