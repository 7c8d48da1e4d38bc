// npm test [group...]: runs every group, or those that are named, and prints `N passed, N failed` as its last line.
// Imports nothing but Node's own modules, since it runs before anything is installed.
import { lint } from './lint/gates.mjs';
import { build } from './runner/command.mjs';
import { native } from './runner/native.mjs';
import { prepare } from './runner/prerequisites.mjs';
import { vitest } from './runner/vitest.mjs';

/** Each group builds what it needs and returns its results, `{ name, passed, failed, skipped }` each. */
const GROUPS = {
  lint,
  native,
  wasm: async () => {
    await build('wasm');
    return vitest('wasm');
  },
  web: async () => {
    await build('wasm');
    return vitest('web');
  },
  package: async () => {
    await build('all');
    return vitest('package');
  },
  e2e: async () => {
    await build('all');
    return vitest('e2e');
  },
};

function chosenGroups(names) {
  const unknown = names.filter((name) => !(name in GROUPS));
  if (unknown.length > 0) {
    console.error(`npm test: no group called ${unknown.join(', ')}; the groups are ${Object.keys(GROUPS).join(', ')}`);
    process.exit(2);
  }
  return names.length > 0 ? names : Object.keys(GROUPS);
}

/** A group that breaks, or that ran nothing, is a failure of its own. */
async function runGroup(name) {
  console.log(`\n===== ${name} =====`);
  const start = performance.now();
  let results;
  try {
    results = await GROUPS[name]();
  } catch (error) {
    console.error(error.message);
    results = [{ name: `${name} could not run`, passed: 0, failed: 1, skipped: 0 }];
  }
  if (results.every(({ passed, failed }) => passed + failed === 0)) {
    results = [{ name: `${name} ran no test`, passed: 0, failed: 1, skipped: 0 }];
  }
  return { name, results, seconds: (performance.now() - start) / 1000 };
}

function total(groups, kind) {
  return groups.flatMap(({ results }) => results).reduce((sum, result) => sum + result[kind], 0);
}

function printSummary(groups) {
  console.log('\n===== summary =====');
  const row = (...cells) =>
    console.log(
      cells[0].padEnd(12) +
        cells
          .slice(1)
          .map((cell) => cell.padStart(9))
          .join(''),
    );
  row('group', 'passed', 'failed', 'skipped', 'seconds');
  for (const group of groups) {
    const count = (kind) => String(total([group], kind));
    row(group.name, count('passed'), count('failed'), count('skipped'), group.seconds.toFixed(1));
  }
  for (const { name, results } of groups) {
    for (const result of results.filter(({ failed }) => failed > 0)) {
      console.log(`FAILED  ${name}: ${result.name}`);
    }
  }
  console.log(`${total(groups, 'passed')} passed, ${total(groups, 'failed')} failed`);
}

const names = chosenGroups(process.argv.slice(2));
await prepare(names);
const groups = [];
for (const name of names) {
  groups.push(await runGroup(name));
}
printSummary(groups);
process.exitCode = total(groups, 'failed') > 0 ? 1 : 0;
