// node tests/bench/kernels.mjs: the matrix product and the attention core alone, in GFLOP/s and as a share of the peak.
// Times are processor time of the one thread that computes (on Linux), so a busy machine disturbs them little.
//
//   --cases REGEXP    those whose name matches
//   --host node       instead of Chromium
//   --keep DIR        also keeps the modules in DIR
//   --against DIR     compares with modules kept there before, taking turns in one page
//   --rounds N        turns of each; 15
//   --as-is           takes the objects in build/wasm as they are, without building first
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { has, ROOT, run } from '../runner/command.mjs';
import { launchServer, openPage, serveRepository } from './chromium.mjs';
import { OUTPUT } from './prepare.mjs';

const BUILDS = ['relaxed-simd', 'simd128'];
const FLAGS = { simd128: [], 'relaxed-simd': ['-mrelaxed-simd'] };
const EXPORTS = ['product_set_up', 'product_run', 'core_set_up', 'core_run', '_initialize', 'memory'];

const product = (m, n, k) => ({
  name: `product ${m}x${n}x${k}`,
  kind: 'product',
  args: [m, n, k],
  flops: 2 * m * n * k,
});

function core(heads, queries, keys, headDim, { causal = 0, window = -1, weights = 0, check = 0, label = '' } = {}) {
  const shape = `h${heads} T${queries} S${keys} d${headDim}`;
  const parts = [causal && 'causal', window >= 0 && `window${window}`, weights && 'weights', check && 'checked', label];
  return {
    name: ['core', shape, ...parts].filter(Boolean).join(' '),
    kind: 'core',
    args: [heads, queries, keys, headDim, causal, window, weights, check],
    flops: 4 * heads * queries * keys * headDim,
  };
}

const CASES = [
  ...[1, 2, 3, 4, 5, 6, 7, 8].map((rows) => product(rows, 768, 768)),
  product(1, 3072, 768),
  product(1, 384, 384),
  product(32, 384, 128),
  product(8, 128, 32),
  product(8, 512, 64),
  product(8, 64, 512),
  product(8, 32, 128),
  product(64, 1152, 384),
  product(64, 384, 384),
  product(128, 1536, 384),
  product(128, 384, 1536),
  product(128, 2304, 768),
  product(128, 768, 768),
  product(512, 768, 768),
  product(67, 768, 768),
  product(64, 3072, 768),
  product(64, 768, 3072),
  core(1, 32, 32, 32),
  core(1, 64, 64, 32),
  core(1, 128, 128, 32),
  core(1, 128, 128, 32, { check: 1 }),
  core(1, 128, 128, 32, { weights: 1 }),
  core(1, 128, 128, 64),
  core(1, 512, 512, 64),
  core(1, 512, 512, 64, { check: 1 }),
  core(1, 512, 512, 64, { weights: 1 }),
  core(1, 512, 512, 64, { causal: 1 }),
  core(1, 1024, 1024, 64),
  core(1, 2048, 2048, 64),
  core(1, 2048, 2048, 64, { causal: 1 }),
  core(1, 2048, 2048, 64, { window: 64 }),
  core(1, 512, 4096, 64),
  core(1, 128, 16384, 64),
  core(8, 1, 1024, 64),
  core(1, 8, 1024, 64),
  ...[16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096].map((length) =>
    core(1, length, length, 64, { label: 'growth' }),
  ),
];

function readOptions() {
  const options = {
    cases: { type: 'string', default: '^(?!.*growth)' },
    host: { type: 'string', default: 'chromium' },
    keep: { type: 'string' },
    against: { type: 'string' },
    build: { type: 'string', multiple: true, default: BUILDS },
    rounds: { type: 'string', default: '15' },
    'as-is': { type: 'boolean', default: false },
  };
  return parseArgs({ options }).values;
}

/** A compiler and a linker that know relaxed SIMD. */
async function findClang() {
  for (const suffix of ['-22', '-21', '-20', '-19', '']) {
    const [clang, linker] = [`clang${suffix}`, `wasm-ld${suffix}`];
    if ((await has(clang)) && (await has(linker))) return { clang, linker };
  }
  throw new Error('there is no clang with wasm-ld, 19 or newer. Debian, Ubuntu: sudo apt-get install clang-22 lld-22');
}

/** The engine's objects as `./build.sh wasm` made them, with kernels.c. */
async function linkModule(build) {
  const { clang, linker } = await findClang();
  const sysroot = `${(await run('sh', ['-c', 'em-config CACHE'], { quiet: true })).output.trim()}/sysroot`;
  const object = `${OUTPUT}kernels-${build}.o`;
  const wasm = `${OUTPUT}kernels-${build}.wasm`;
  const target = [
    '--target=wasm32-unknown-emscripten',
    `--sysroot=${sysroot}`,
    '-mcpu=mvp',
    '-msimd128',
    ...FLAGS[build],
  ];
  const include = [`-I${ROOT}c/include`, `-I${ROOT}c/src`];
  execFileSync(clang, [...target, '-O2', '-std=c11', ...include, '-c', `${ROOT}tests/bench/kernels.c`, '-o', object]);
  const folder = `${ROOT}build/wasm/${build}/c/src/`;
  const engine = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.o'));
  const library = `${sysroot}/lib/wasm32-emscripten`;
  execFileSync(linker, [
    ...['-o', wasm, object, ...engine.map((name) => folder + name), `${library}/crt1_reactor.o`, `-L${library}`],
    ...['-lstandalonewasm-memgrow', '-lc', '-lemmalloc', '-lcompiler_rt', '--entry=_initialize', '--import-undefined'],
    ...EXPORTS.filter((name) => name !== 'memory').map((name) => `--export=${name}`),
    ...['-O2', '--gc-sections', '--strip-all', '-z', 'stack-size=65536', '--stack-first', '--max-memory=2147483648'],
  ]);
  return wasm;
}

async function prepareModules({ keep, against, build: builds, 'as-is': asIs }) {
  mkdirSync(OUTPUT, { recursive: true });
  if (!asIs) execFileSync(`${ROOT}build.sh`, ['wasm'], { stdio: 'ignore' });
  const groups = [];
  for (const build of builds) {
    const wasm = await linkModule(build);
    if (keep) {
      mkdirSync(keep, { recursive: true });
      copyFileSync(wasm, `${keep}/kernels-${build}.wasm`);
    }
    const files = [[build, wasm]];
    if (against && existsSync(`${against}/kernels-${build}.wasm`)) {
      files.push([`${build} before`, `${against}/kernels-${build}.wasm`]);
    }
    const peak = [...readFileSync(`${ROOT}build/wasm/peak-${build}.wasm`)];
    groups.push(files.map(([name, file]) => ({ name, bytes: [...readFileSync(file)], peak })));
  }
  return groups;
}

// ===== Hosts ===================================================================================

/** Microseconds of processor time that the calling process has used. */
function nodeClock() {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/**
 * The main thread of the page's process, as Linux counts it; what else the machine does is not in it. Made while the page works
 * on `task`, which tells its process from those of other pages.
 */
async function rendererClock(browserPid, task) {
  const read = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : '');
  const children = (pid) => read(`/proc/${pid}/task/${pid}/children`).trim().split(' ').filter(Boolean).map(Number);
  const all = (pid) => [pid, ...children(pid).flatMap(all)];
  const isRenderer = (pid) => read(`/proc/${pid}/cmdline`).includes('--type=renderer');
  const used = (pid) => Number(read(`/proc/${pid}/task/${pid}/schedstat`).split(' ')[0]) / 1000;
  const find = () => all(browserPid).filter(isRenderer);
  const before = new Map(find().map((pid) => [pid, used(pid)]));
  const value = await task();
  const renderers = find();
  const grown = (pid) => used(pid) - (before.get(pid) ?? 0);
  renderers.sort((a, b) => grown(b) - grown(a));
  return { value, clock: () => used(renderers[0]) };
}

async function inNode(use) {
  setFlagsFromString('--experimental-wasm-relaxed-simd');
  const page = await import('./kernels-page.mjs');
  return use(
    (name, ...args) => page[name](...args),
    async (task) => ({ value: await task(), clock: nodeClock }),
  );
}

async function inChromium(use) {
  const server = await serveRepository();
  const browser = await launchServer();
  try {
    const page = await openPage(browser.connected, server.url);
    const call = (...args) =>
      page.evaluate(
        async ([address, name, ...rest]) => (await import(address))[name](...rest),
        ['/tests/bench/kernels-page.mjs', ...args],
      );
    return await use(call, (task) => rendererClock(browser.pid, task));
  } finally {
    await browser.close();
    server.close();
  }
}

// ===== Measuring ===============================================================================

const TURN_MILLISECONDS = 15;
const PEAK_STEPS = 5_000_000;

/** Resolves to [{ name, times: microseconds of one run in each round, peak: GFLOP/s, memoryBytes }]. */
async function measureCase(one, modules, rounds, call, makeClock) {
  const { value: counts, clock } = await makeClock(() => call('setUp', one, modules, TURN_MILLISECONDS));
  const timed = async (...args) => {
    const start = clock();
    const value = await call(...args);
    return { used: clock() - start, value };
  };
  const empty = [];
  for (let i = 0; i < 20; i++) empty.push((await timed('takeTurn', 0, 0)).used);
  const overhead = Math.min(...empty);
  const results = modules.map(({ name }) => ({ name, times: [], peak: 0 }));
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < results.length; i++) {
      const index = (i + round) % results.length;
      const result = results[index];
      const peak = await timed('takePeakTurn', index, PEAK_STEPS);
      result.peak = Math.max(result.peak, (peak.value * PEAK_STEPS) / (peak.used - overhead) / 1e3);
      const turn = await timed('takeTurn', index, counts[index]);
      result.times.push((turn.used - overhead) / counts[index]);
    }
  }
  const memory = await call('memoryBytes');
  return results.map((result, i) => ({ ...result, memoryBytes: memory[i] }));
}

const middle = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

function line({ name, times, peak, memoryBytes }, first, flops) {
  const best = Math.min(...times);
  const gflops = flops / best / 1e3;
  const share = `${((100 * gflops) / peak).toFixed(0)} %`.padStart(6);
  const microseconds = `${best.toFixed(1)} us (median ${middle(times).toFixed(1)})`.padStart(34);
  const ratio = middle(times.map((time, i) => time / first.times[i]));
  const compared =
    name === first.name ? '' : `  x${ratio.toFixed(3)}, fastest x${(best / Math.min(...first.times)).toFixed(3)}`;
  const memory = `${(memoryBytes / 2 ** 20).toFixed(0)} MiB`.padStart(9);
  return `  ${name.padEnd(20)}${microseconds} ${gflops.toFixed(1).padStart(6)} GFLOP/s ${share} of ${peak.toFixed(1)}${memory}${compared}`;
}

async function main() {
  const options = readOptions();
  const groups = await prepareModules(options);
  const cases = CASES.filter(({ name }) => new RegExp(options.cases).test(name));
  await (options.host === 'node' ? inNode : inChromium)(async (call, makeClock) => {
    // What is measured first in a fresh browser comes out as no time at all; it is dropped.
    if (cases.length > 0) await measureCase(cases[0], groups[0], 1, call, makeClock);
    for (const one of cases) {
      console.log(one.name);
      for (const modules of groups) {
        const results = await measureCase(one, modules, Number(options.rounds), call, makeClock);
        for (const result of results) console.log(line(result, results[0], one.flops));
      }
    }
  });
}

await main();
