/** For a bare page: dist/embed/multihead-lens.js, the elements and the engine's functions, with the worker and the engines in it. */
import { defineConfig } from 'vite';
import { inlineWorker, modelsBeside, noThreads, ownModels } from './vite.plugins.js';

export default defineConfig({
  publicDir: false,
  plugins: [modelsBeside()],
  resolve: { alias: [inlineWorker, noThreads, ownModels] },
  build: {
    outDir: 'dist/embed',
    emptyOutDir: true,
    target: 'es2022',
    lib: { entry: 'web/embed.ts', formats: ['es'], fileName: () => 'multihead-lens.js' },
    // Vite leaves the white space of a library to its user's bundler; here there is none.
    // The footer says that this is a module to whoever looks for an export at the start of a line, as publint does.
    rolldownOptions: { output: { codeSplitting: false, minify: true, footer: '\nexport {};' } },
  },
  worker: { format: 'iife' },
});
