// Makes what the benchmark needs: the contenders' packages, our own builds, and a bundle of each contender for the page.
import { existsSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { build as buildProject, ROOT, run } from '../runner/command.mjs';
import { FILES } from './contenders/index.mjs';

export const BENCH = `${ROOT}tests/bench/`;
export const OUTPUT = `${ROOT}build/bench/`;

export async function prepareAll() {
  await prepare();
  await bundleContenders();
}

/** The contenders' packages and our own builds. */
export async function prepare() {
  mkdirSync(OUTPUT, { recursive: true });
  if (!existsSync(`${BENCH}node_modules/.package-lock.json`)) {
    await must('npm', ['ci', '--prefix', 'tests/bench', '--no-audit', '--no-fund', '--ignore-scripts']);
  }
  await buildProject('all');
}

async function must(command, args) {
  const { code } = await run(command, args);
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} failed`);
}

/** As an application's bundler would: minified, one file each. */
async function bundleContenders() {
  const { build } = createRequire(`${BENCH}package.json`)('esbuild');
  await build({
    absWorkingDir: BENCH,
    entryPoints: FILES.map((file) => `${BENCH}contenders/${file}`),
    outdir: `${OUTPUT}contenders`,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    conditions: ['onnxruntime-web-use-extern-wasm'],
    alias: { 'onnxruntime-web': 'onnxruntime-web/wasm' },
    external: ['fs', 'path', 'os', 'perf_hooks', 'worker_threads'],
    logLevel: 'error',
  });
}
