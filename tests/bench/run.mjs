// npm run bench: multihead against what one would install in its place. README.md says what is measured and how.
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { parseArgs, promisify } from 'node:util';
import { launch, openPage, serveRepository } from './chromium.mjs';
import { measureColdStarts } from './cold-start.mjs';
import { CONTENDERS, contendersOf } from './contenders/index.mjs';
import { BENCH, OUTPUT, prepareAll } from './prepare.mjs';
import { printColdStarts, printSummary, shapeLine } from './report.mjs';
import { chooseShapes } from './shapes.mjs';

const OPTIONS = {
  quick: { type: 'boolean', default: false },
  huge: { type: 'boolean', default: false },
  shapes: { type: 'string', default: '' },
  only: { type: 'string', multiple: true, default: [] },
  threads: { type: 'string', default: '1' },
  host: { type: 'string', multiple: true, default: ['chromium', 'node'] },
  'no-cold-start': { type: 'boolean', default: false },
};

/** Milliseconds for each contender and shape: see measureShape. */
const THOROUGH = { budget: 1000, steady: 600, longestWarmUp: 6000 };
const QUICK = { budget: 200, steady: 250, longestWarmUp: 1500 };

function readOptions() {
  const { values } = parseArgs({ options: OPTIONS });
  const unknown = values.only.filter((name) => !(name in CONTENDERS));
  if (unknown.length > 0) {
    throw new Error(`no contender called ${unknown.join(', ')}; there are ${Object.keys(CONTENDERS).join(', ')}`);
  }
  const threads = Number(values.threads);
  if (!(Number.isInteger(threads) && threads >= 1))
    throw new Error(`--threads ${values.threads} is no number of threads`);
  return { ...values, threads };
}

/** A fresh page for each shape, so that memory is that shape's. */
async function measureInChromium(shape, { names, ...times }, url) {
  const browser = await launch();
  try {
    const page = await openPage(browser, url);
    return await page.evaluate(
      async ([address, ...args]) => (await import(address)).measureShape(...args),
      ['/tests/bench/measure.mjs', shape, names, times],
    );
  } finally {
    await browser.close();
  }
}

async function measureInNode(shape, options) {
  const args = [`${BENCH}node-shape.mjs`, JSON.stringify(shape), JSON.stringify(options)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 24 });
  // Contenders may print; the result is what comes last.
  return JSON.parse(stdout.slice(stdout.indexOf('{"shape"')));
}

async function measureHost(host, shapes, options, url, onResult) {
  const names = contendersOf(host, options);
  const times = { ...(options.quick ? QUICK : THOROUGH), threads: options.threads };
  const measure = host === 'node' ? measureInNode : measureInChromium;
  console.log(
    `\n===== ${host}, ${options.threads === 1 ? 'one thread' : `${options.threads} threads`}: milliseconds, median/fastest (GFLOP/s of the fastest), and how many times ours =====`,
  );
  const results = [];
  for (const shape of shapes) {
    const result = await measure(shape, { names, ...times }, url);
    results.push(result);
    console.log(shapeLine(result));
    onResult(results);
  }
  printSummary(results);
}

async function main() {
  const options = readOptions();
  await prepareAll();
  const machine = { cpu: cpus()[0].model, cores: cpus().length, node: process.version };
  const report = {
    date: new Date().toISOString(),
    threads: options.threads,
    machine: { ...machine, loadAtStart: loadavg()[0] },
    hosts: {},
  };
  const server = await serveRepository();
  try {
    const browser = await launch();
    report.machine.chromium = browser.version();
    await browser.close();
    const shapes = chooseShapes({ pattern: options.shapes, quick: options.quick, huge: options.huge });
    const file = `${OUTPUT}results${options.threads === 1 ? '' : `-${options.threads}-threads`}.json`;
    const save = () => writeFileSync(file, `${JSON.stringify(report, null, 1)}\n`);
    for (const host of options.host) {
      await measureHost(host, shapes, options, server.url, (results) => {
        report.hosts[host] = results;
        save();
      });
    }
    if (!options['no-cold-start']) {
      const names = contendersOf('chromium', { only: options.only, threads: 1 });
      report.coldStart = await measureColdStarts(names, server.url, options.quick ? 1 : 5);
      printColdStarts(report.coldStart);
      save();
    }
  } finally {
    server.close();
  }
  console.log(`\n${OUTPUT}results*.json`);
}

await main();
