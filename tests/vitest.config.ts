import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { ownModels } from '../web/vite.plugins.js';

// Node 20 keeps relaxed SIMD behind a flag; later versions have it on and do not know the flag.
const major = Number(process.versions.node.split('.')[0]);
const execArgv = major < 22 ? ['--experimental-wasm-relaxed-simd'] : [];

function project(name: string, options: TestProjectInlineConfiguration['test'] = {}): TestProjectInlineConfiguration {
  return {
    extends: true,
    test: { name, include: [`tests/${name}/**/*.test.ts`], ...options },
  };
}

export default defineConfig({
  root: new URL('..', import.meta.url).pathname,
  resolve: { alias: [ownModels] },
  test: {
    pool: 'forks',
    execArgv,
    projects: [
      project('wasm', { testTimeout: 60_000 }),
      // Some wait for the garbage collector, or type-check; a slow machine is no failure.
      project('web', { testTimeout: 60_000 }),
      project('package', {
        globalSetup: 'tests/package/support/pack.ts',
        testTimeout: 60_000,
        hookTimeout: 300_000,
        fileParallelism: false,
      }),
      project('e2e', { testTimeout: 60_000, hookTimeout: 60_000, fileParallelism: false }),
    ],
  },
});
