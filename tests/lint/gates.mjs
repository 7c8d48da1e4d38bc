// Format, types, static analysis and the rules of the house: one result a gate.
import { readdirSync } from 'node:fs';
import { ROOT, run, runPackage } from '../runner/command.mjs';

function cFiles(...folders) {
  return folders.flatMap((folder) =>
    readdirSync(ROOT + folder, { recursive: true })
      .filter((name) => /\.[ch]$/.test(name))
      .map((name) => `${folder}/${name}`),
  );
}

const QUIET = { quiet: true };

const GATES = {
  biome: () => runPackage('@biomejs/biome/bin/biome', ['ci', '--error-on-warnings', '.'], QUIET),
  tsc: () => runPackage('typescript/bin/tsc', ['-p', 'tsconfig.json'], QUIET),
  'tsc without a DOM': () => runPackage('typescript/bin/tsc', ['-p', 'tests/lint/tsconfig.no-dom.json'], QUIET),
  'clang-format': () => run('clang-format-19', ['--dry-run', '-Werror', ...cFiles('c', 'tests')], QUIET),
  cppcheck: () =>
    run(
      'cppcheck',
      [
        '--quiet',
        '--std=c11',
        '--enable=warning,performance,portability',
        '--inline-suppr',
        '--suppress=missingIncludeSystem',
        '--error-exitcode=1',
        '-j2',
        '-Ic/include',
        '-Ic/src',
        'c',
      ],
      QUIET,
    ),
  shellcheck: () => run('shellcheck', ['build.sh', '.ci/run'], QUIET),
  layers: () => run(process.execPath, ['tests/lint/layers.mjs'], QUIET),
  exports: () => run(process.execPath, ['tests/lint/exports.mjs'], QUIET),
};

async function runGate(name) {
  const start = performance.now();
  const { code, output } = await GATES[name]();
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`${code === 0 ? 'ok    ' : 'FAILED'}  ${name}, ${seconds} s`);
  if (code !== 0) {
    console.log(output);
  }
  return { name, passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skipped: 0 };
}

export async function lint() {
  const results = [];
  for (const name of Object.keys(GATES)) {
    results.push(await runGate(name));
  }
  return results;
}
