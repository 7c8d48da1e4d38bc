// The C core, natively: every cmocka program under the sanitizers of gcc and of clang, and optimised; a short fuzzing.
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { cpus } from 'node:os';
import { build, mapAtOnce, ROOT, run } from './command.mjs';

const BUILDS = [
  ['build/native-sanitize', '--sanitize'],
  ['build/native-clang-sanitize', '--clang', '--sanitize'],
  ['build/native'],
];
const FUZZ_SECONDS = 15;

/** Reads cmocka's TAP output. A program that died before its last test counts as one failure more. */
function countTap(output, code) {
  const count = (pattern) => output.match(pattern)?.length ?? 0;
  const skipped = count(/^(not )?ok \d+ # SKIP/gm);
  const passed = count(/^ok \d+ (?!# SKIP)/gm);
  const failed = count(/^not ok \d+ (?!# SKIP)/gm);
  const planned = [...output.matchAll(/^1\.\.(\d+)$/gm)].reduce((sum, [, tests]) => sum + Number(tests), 0);
  const died = passed + failed + skipped < planned || (code !== 0 && failed === 0);
  return { passed, failed: failed + (died ? 1 : 0), skipped };
}

async function runProgram(folder, program) {
  const start = performance.now();
  const { code, output } = await run(`${folder}/tests/${program}`, [], {
    quiet: true,
    env: { CMOCKA_MESSAGE_OUTPUT: 'TAP', UBSAN_OPTIONS: 'print_stacktrace=1' },
  });
  const result = { name: `${program} (${folder})`, ...countTap(output, code) };
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`${result.failed > 0 ? 'FAILED' : 'ok    '}  ${result.name}: ${result.passed} passed, ${seconds} s`);
  if (result.failed > 0) {
    console.log(output);
  }
  return result;
}

/** All programs of a build, as many at once as there are cores. */
function runPrograms(folder) {
  const programs = readdirSync(`${ROOT}${folder}/tests`)
    .filter((name) => !name.includes('.'))
    .sort();
  return mapAtOnce(programs, cpus().length, (program) => runProgram(folder, program));
}

/** Runs a fuzz target on its seeds, then for a while on what it makes of them. */
async function fuzz(target) {
  const name = target.replace('fuzz_', '');
  const found = `build/fuzz/found/${name}`;
  rmSync(ROOT + found, { recursive: true, force: true });
  mkdirSync(ROOT + found, { recursive: true });
  const limits = ['-seed=1', `-max_total_time=${FUZZ_SECONDS}`, '-rss_limit_mb=2048', `-artifact_prefix=${found}/`];
  const { code, output } = await run(`build/fuzz/${target}`, [...limits, found, `tests/fuzz/corpus/${name}`], {
    quiet: true,
  });
  const summary = /^Done \d+ runs.*$/m.exec(output)?.[0] ?? 'stopped';
  const passed = code === 0 && summary !== 'stopped';
  console.log(`${passed ? 'ok    ' : 'FAILED'}  ${target}: ${summary}`);
  if (!passed) {
    console.log(output);
  }
  return { name: target, passed: passed ? 1 : 0, failed: passed ? 0 : 1, skipped: 0 };
}

async function fuzzAll() {
  await build('fuzz');
  const targets = readdirSync(`${ROOT}tests/fuzz`).filter((name) => /^fuzz_\w+\.c$/.test(name));
  return mapAtOnce(targets, cpus().length, (target) => fuzz(target.replace('.c', '')));
}

export async function native() {
  const results = [];
  for (const [folder, ...options] of BUILDS) {
    await build('native', ...options);
    results.push(...(await runPrograms(folder)));
  }
  return [...results, ...(await fuzzAll())];
}
