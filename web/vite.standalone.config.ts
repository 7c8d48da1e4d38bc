/** The site as one file, build/site/standalone.html, with the worker, the engines and the model in it. */
import { defineConfig } from 'vite';
import { inlineTrainingWorker, inlineWorker, noThreads, oneFile, ownModels } from './vite.plugins.js';

export default defineConfig({
  root: 'web/site',
  base: './',
  plugins: [oneFile('standalone.html')],
  resolve: { alias: [inlineWorker, inlineTrainingWorker, noThreads, ownModels] },
  build: {
    outDir: '../../build/site',
    emptyOutDir: false,
    target: 'es2022',
    assetsInlineLimit: Number.MAX_SAFE_INTEGER,
    modulePreload: false,
    cssCodeSplit: false,
    rolldownOptions: { output: { codeSplitting: false } },
  },
  worker: { format: 'iife' },
});
