// The tests written in TypeScript: one vitest project a group (tests/vitest.config.ts).
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { ROOT, runPackage } from './command.mjs';

/** One result a test file, from vitest's JSON report. A file that could not be loaded is one failure. */
function resultsOf(report) {
  return report.testResults.map(({ name, status, assertionResults }) => {
    const count = (wanted) => assertionResults.filter((test) => test.status === wanted).length;
    const failed = count('failed');
    const broken = status === 'failed' && failed === 0 ? 1 : 0;
    return {
      name: name.replace(ROOT, ''),
      passed: count('passed'),
      failed: failed + broken,
      skipped: count('skipped') + count('pending'),
    };
  });
}

export async function vitest(project) {
  const file = `${ROOT}build/test-results/${project}.json`;
  mkdirSync(`${ROOT}build/test-results`, { recursive: true });
  rmSync(file, { force: true });
  const { code } = await runPackage('vitest/vitest.mjs', [
    'run',
    '--config=tests/vitest.config.ts',
    `--project=${project}`,
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${file}`,
  ]);
  if (!existsSync(file)) {
    throw new Error(`vitest wrote no report for ${project} (exit code ${code})`);
  }
  const results = resultsOf(JSON.parse(readFileSync(file, 'utf8')));
  // Unhandled errors outside any test make vitest fail without a failed test.
  if (code !== 0 && results.every(({ failed }) => failed === 0)) {
    results.push({ name: `${project}: vitest failed outside any test`, passed: 0, failed: 1, skipped: 0 });
  }
  return results;
}
