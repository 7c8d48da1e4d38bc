// The C core, natively: every cmocka program, built under sanitizers and built as it is.
import { readdirSync } from 'node:fs';
import { cpus } from 'node:os';
import { build, mapAtOnce, ROOT, run } from './command.mjs';

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

export async function native() {
  await build('native', '--sanitize');
  const sanitized = await runPrograms('build/native-sanitize');
  await build('native');
  return [...sanitized, ...(await runPrograms('build/native'))];
}
