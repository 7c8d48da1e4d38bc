/** The site, in build/site: works from any folder of any static server. */
import { defineConfig } from 'vite';
import { ownModels, preloadModule } from './vite.plugins.js';

export default defineConfig({
  root: 'web/site',
  base: './',
  // Where the files of the default model are.
  plugins: [preloadModule('/site/index.html', 'bilingual')],
  resolve: { alias: [ownModels] },
  build: {
    outDir: '../../build/site',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    rolldownOptions: { input: ['web/site/index.html', 'web/site/fast/index.html'] },
  },
  worker: { format: 'es' },
});
