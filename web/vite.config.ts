/** The site, in build/site: works from any folder of any static server. */
import { defineConfig } from 'vite';

export default defineConfig({
  root: 'web/site',
  base: './',
  build: { outDir: '../../build/site', emptyOutDir: true, target: 'es2022', assetsInlineLimit: 0 },
  worker: { format: 'es' },
});
