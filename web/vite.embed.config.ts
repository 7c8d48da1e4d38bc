/** The element for a bare page: dist/embed/multihead-lens.js, with the worker and the engines in it. */
import { defineConfig } from 'vite';
import { inlineWorker, modelsBeside, ownModels } from './vite.plugins.js';

export default defineConfig({
  publicDir: false,
  plugins: [modelsBeside()],
  resolve: { alias: [inlineWorker, ownModels] },
  build: {
    outDir: 'dist/embed',
    emptyOutDir: true,
    target: 'es2022',
    lib: { entry: 'web/src/view/define.ts', formats: ['es'], fileName: () => 'multihead-lens.js' },
    rolldownOptions: { output: { codeSplitting: false } },
  },
  worker: { format: 'iife' },
});
