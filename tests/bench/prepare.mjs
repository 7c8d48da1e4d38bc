// Makes what the benchmark needs: the contenders' packages, our own builds, a bundle of each contender for the page, and
// the peak loops.
import { existsSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { build as buildProject, ROOT, run } from '../runner/command.mjs';
import { FILES } from './contenders/index.mjs';

export const BENCH = `${ROOT}tests/bench/`;
export const OUTPUT = `${ROOT}build/bench/`;

export async function prepareAll() {
  mkdirSync(OUTPUT, { recursive: true });
  if (!existsSync(`${BENCH}node_modules/.package-lock.json`)) {
    await must('npm', ['ci', '--prefix', 'tests/bench', '--no-audit', '--no-fund', '--ignore-scripts']);
  }
  await buildProject('all');
  await bundleContenders();
  await compilePeaks();
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

const CLANGS = ['22', '21', '20', '19'].map((version) => [`clang-${version}`, `wasm-ld-${version}`]);

async function findClang() {
  for (const [clang, linker] of [...CLANGS, ['clang', 'wasm-ld']]) {
    const found = await run('sh', ['-c', `command -v ${clang} && command -v ${linker}`], { quiet: true });
    if (found.code === 0) return { clang, linker };
  }
  throw new Error('there is no clang with wasm-ld, 19 or newer. Debian, Ubuntu: sudo apt-get install clang-22 lld-22');
}

/** Compiled and linked apart: the driver would run whatever wasm-opt it finds, which may know no relaxed SIMD. */
async function compilePeaks() {
  const { clang, linker } = await findClang();
  for (const [build, flags] of [
    ['simd128', []],
    ['relaxed-simd', ['-mrelaxed-simd']],
  ]) {
    const [object, wasm] = [`${OUTPUT}peak-${build}.o`, `${OUTPUT}peak-${build}.wasm`];
    const target = ['--target=wasm32', '-std=c11', '-ffreestanding', '-O2', '-msimd128', ...flags];
    await must(clang, [...target, '-c', 'tests/bench/peak.c', '-o', object]);
    await must(linker, ['--no-entry', '--export=peak', '--export=flops_per_step', '--strip-all', object, '-o', wasm]);
  }
}
