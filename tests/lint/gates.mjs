// Format, types, static analysis and the rules of the house: one result a gate.
import { readdirSync } from 'node:fs';
import { cpus } from 'node:os';
import { mapAtOnce, ROOT, run, runPackage } from '../runner/command.mjs';

function cFiles(...folders) {
  return folders.flatMap((folder) =>
    readdirSync(ROOT + folder, { recursive: true })
      .filter((name) => /\.[ch]$/.test(name) && !name.includes('node_modules'))
      .map((name) => `${folder}/${name}`),
  );
}

const QUIET = { quiet: true };

async function clangTidyFile(file) {
  // error.c defines what the header redefines.
  const analyzer = file.endsWith('/error.c') ? [] : ['-include', 'tests/lint/analyzer.h'];
  return run('clang-tidy-19', ['--quiet', file, '--', '-std=c11', '-Ic/include', '-Ic/src', ...analyzer], QUIET);
}

async function clangTidy() {
  const sources = cFiles('c/src').filter((file) => file.endsWith('.c'));
  const results = await mapAtOnce(sources, cpus().length, clangTidyFile);
  const failed = results.filter(({ code }) => code !== 0);
  return { code: failed.length, output: failed.map(({ output }) => output).join('') };
}

const GATES = {
  biome: () => runPackage('@biomejs/biome/bin/biome', ['check', '--error-on-warnings', '--colors=off', '.'], QUIET),
  tsc: () => runPackage('typescript/bin/tsc', ['-p', 'tsconfig.json'], QUIET),
  'tsc without a DOM': () => runPackage('typescript/bin/tsc', ['-p', 'tests/lint/tsconfig.no-dom.json'], QUIET),
  knip: () => runPackage('knip/bin/knip.js', ['--no-progress', '--treat-config-hints-as-errors'], QUIET),
  'clang-format': () => run('clang-format-19', ['--dry-run', '-Werror', ...cFiles('c', 'tests')], QUIET),
  'clang-tidy': clangTidy,
  shellcheck: () => run('shellcheck', ['build.sh', '.ci/run'], QUIET),
  layers: () => run(process.execPath, ['tests/lint/layers.mjs'], QUIET),
  exports: async () => {
    const built = await run('./build.sh', ['wasm'], QUIET);
    return built.code === 0 ? run(process.execPath, ['tests/lint/exports.mjs'], QUIET) : built;
  },
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
