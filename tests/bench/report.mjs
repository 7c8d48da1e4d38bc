// node tests/bench/report.mjs [--readme]: the last results as Markdown, or written between `<!-- bench -->` and
// `<!-- /bench -->` of README.md.
import { readFileSync, writeFileSync } from 'node:fs';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { OURS } from './contenders/index.mjs';

const RESULTS = new URL('../../build/bench/results.json', import.meta.url);
const README = new URL('../../README.md', import.meta.url);
const KINDS = {
  core: 'attention core',
  mha: 'multi-head attention',
  block: 'encoder block',
  model: 'whole default model',
};
const HOSTS = { chromium: 'Chromium', node: 'Node' };

function number(value) {
  if (value === null || value === undefined) return '';
  return value.toFixed(value < 1 ? 3 : value < 10 ? 2 : value < 100 ? 1 : 0);
}

function megabytes(bytes) {
  return number(bytes / 1e6);
}

/** Every contender of one shape, in one line. */
export function shapeLine({ shape, peak, contenders }) {
  const cells = Object.entries(contenders).map(([name, result]) => {
    if (result.error) return `${name}: ${result.error}`;
    const times = name === OURS ? '' : ` ×${number(result.timesOurs)}/${number(result.timesOursBest)}`;
    return `${name} ${number(result.median)}/${number(result.min)} (${number(result.gflopsBest)})${times}`;
  });
  return `${shape.id.padEnd(26)} ${cells.join('   ')}   peak ${number(peak['relaxed-simd'] ?? peak.simd128)}`;
}

function geometricMean(values) {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}

/**
 * { kind: { name: { median, best, lowest, shapes } } }: geometric means of the time of each contender in units of ours, by
 * the medians of paired turns and by the fastest turns, which a busy machine disturbs less; and the lowest by the latter.
 */
export function summarise(results) {
  const ratios = {};
  for (const { shape, contenders } of results) {
    for (const kind of [shape.kind, 'all']) {
      for (const [name, result] of Object.entries(contenders)) {
        if (name === OURS || !(result.timesOurs > 0)) continue;
        ratios[kind] ??= {};
        ratios[kind][name] ??= [];
        ratios[kind][name].push(result);
      }
    }
  }
  return mapValues(ratios, (byName) =>
    mapValues(byName, (list) => ({
      median: geometricMean(list.map(({ timesOurs }) => timesOurs)),
      best: geometricMean(list.map(({ timesOursBest }) => timesOursBest)),
      lowest: Math.min(...list.map(({ timesOursBest }) => timesOursBest)),
      shapes: list.length,
    })),
  );
}

function mapValues(object, map) {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value)]));
}

export function printSummary(results) {
  console.log(
    '\ntimes ours, geometric means: by medians, by the fastest turns (the lowest of these; number of shapes)',
  );
  for (const [kind, byName] of Object.entries(summarise(results))) {
    const cells = Object.entries(byName).map(
      ([name, { median, best, lowest, shapes }]) =>
        `${name} ${number(median)}, ${number(best)} (${number(lowest)}; ${shapes})`,
    );
    console.log(`${kind.padEnd(6)} ${cells.join('   ')}`);
  }
  for (const { shape, contenders } of results) {
    for (const [name, { timesOurs, timesOursBest }] of Object.entries(contenders)) {
      if (name.startsWith(OURS) || !(timesOurs < 1 || timesOursBest < 1)) continue;
      console.log(`ours is slower than ${name}: ${shape.id}, ${number(timesOurs)}, ${number(timesOursBest)}`);
    }
  }
}

export function printColdStarts({ shape, contenders }) {
  console.log(`\ncold start to the first result (${shape}), and what is loaded for it:`);
  for (const [name, { median, min, raw, brotli }] of Object.entries(contenders)) {
    const size = `${megabytes(raw)} MB, ${megabytes(brotli)} MB with brotli`;
    console.log(`${name.padEnd(22)} ${number(median)} ms (least ${number(min)})   ${size}`);
  }
}

function tableRow(cells) {
  return `| ${cells.join(' | ')} |`;
}

function table(head, rows) {
  return [tableRow(head), tableRow(head.map((_, i) => (i === 0 ? '---' : '---:'))), ...rows.map(tableRow)].join('\n');
}

function namesIn(results) {
  return [...new Set(results.flatMap(({ contenders }) => Object.keys(contenders)))];
}

function hostTable(results) {
  const names = namesIn(results);
  const labels = names.map((name) => results.map(({ contenders }) => contenders[name]?.label).find(Boolean) ?? name);
  const rows = results.map(({ shape, peak, contenders }) => [
    `${KINDS[shape.kind]}, d ${shape.embedDim}, h ${shape.heads}, ${shape.length} tokens${shape.weights ? '' : ', no weights'}`,
    ...names.map((name) => timeCell(contenders[name], name, peak)),
  ]);
  return table(['ms: median, fastest (GFLOP/s of the fastest)', ...labels], rows);
}

function timeCell(result, name, peak) {
  if (!result) return '';
  if (result.error) return 'fails';
  const build = name === 'multihead-simd128' ? 'simd128' : 'relaxed-simd';
  const share =
    name.startsWith(OURS) && peak[build] ? `, ${Math.round((100 * result.gflopsBest) / peak[build])} %` : '';
  return `${number(result.median)}, ${number(result.min)} (${number(result.gflopsBest)}${share})`;
}

function summaryTable(results) {
  const summary = summarise(results);
  const names = namesIn(results).filter((name) => name !== OURS);
  const rows = Object.entries(summary).map(([kind, byName]) => [
    KINDS[kind] ?? 'all',
    ...names.map((name) =>
      byName[name]
        ? `${number(byName[name].median)}, ${number(byName[name].best)} (${number(byName[name].lowest)})`
        : '',
    ),
  ]);
  return table(['times ours: by medians, by fastest turns (lowest)', ...names], rows);
}

function coldTable({ contenders }, memory) {
  const rows = Object.entries(contenders).map(([name, { median, raw, brotli }]) => [
    name,
    `${megabytes(raw)} MB`,
    `${megabytes(brotli)} MB`,
    `${number(median)} ms`,
    memory[name] ? `${megabytes(memory[name])} MB` : '',
  ]);
  return table(['', 'loaded', 'with brotli', 'cold start', 'most memory'], rows);
}

/** The most wasm memory of each contender, over the shapes. */
function mostMemory(results) {
  const most = {};
  for (const { contenders } of results) {
    for (const [name, { memoryBytes = 0 }] of Object.entries(contenders)) {
      most[name] = Math.max(most[name] ?? 0, memoryBytes);
    }
  }
  return most;
}

export function markdown({ date, threads = 1, machine, hosts, coldStart }) {
  const parts = [
    `Measured ${date.slice(0, 10)} on ${machine.cores} cores of ${machine.cpu}, ${threads === 1 ? 'one thread' : `${threads} threads`}, by \`npm run bench\`. % is the share of one core's peak, measured in the same run, that our fastest turn reached.`,
  ];
  for (const [host, results] of Object.entries(hosts)) {
    const version = host === 'node' ? machine.node : machine.chromium;
    parts.push(`**${HOSTS[host]} ${version}**`, summaryTable(results), hostTable(results));
  }
  if (coldStart) parts.push(coldTable(coldStart, hosts.chromium ? mostMemory(hosts.chromium) : {}));
  return `${parts.join('\n\n')}\n`;
}

function writeReadme(text) {
  const readme = readFileSync(README, 'utf8');
  const [start, end] = ['<!-- bench -->', '<!-- /bench -->'];
  const [from, to] = [readme.indexOf(start), readme.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`README.md has no ${start} followed by ${end}`);
  writeFileSync(README, `${readme.slice(0, from + start.length)}\n${text}${readme.slice(to)}`);
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const text = markdown(JSON.parse(readFileSync(RESULTS, 'utf8')));
  if (argv.includes('--readme')) writeReadme(text);
  else console.log(text);
}
