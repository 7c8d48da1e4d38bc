// Cold start and payload: a fresh browser profile, one contender, from its import to its first result.
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { brotliCompressSync, constants } from 'node:zlib';
import { ROOT } from '../runner/command.mjs';
import { launch, openPage } from './chromium.mjs';
import { OUTPUT } from './prepare.mjs';
import { chooseShapes } from './shapes.mjs';

const [SHAPE] = chooseShapes({ pattern: '^core-small-64-noweights$' });

/** Resolves to { shape, contenders: { name: { median, min, files: [{ path, raw, brotli }], raw, brotli } } }. */
export async function measureColdStarts(names, url, times) {
  const contenders = {};
  for (const name of names) contenders[name] = await measureColdStart(name, url, times);
  return { shape: SHAPE.id, contenders };
}

async function measureColdStart(name, url, times) {
  const samples = [];
  let files;
  for (let i = 0; i < times; i++) {
    const sample = await startOnce(name, url);
    samples.push(sample.milliseconds);
    files = sample.files;
  }
  samples.sort((a, b) => a - b);
  const sizes = files.map(sizeOf);
  const sum = (key) => sizes.reduce((total, size) => total + size[key], 0);
  return { median: samples[times >> 1], min: samples[0], files: sizes, raw: sum('raw'), brotli: sum('brotli') };
}

async function startOnce(name, url) {
  const browser = await launch();
  try {
    const page = await openPage(browser, url);
    // What all share is loaded before the clock starts.
    await page.evaluate(
      async (addresses) => {
        const modules = await Promise.all(addresses.map((address) => import(address)));
        window.bench = Object.assign({}, ...modules);
      },
      ['/tests/bench/measure.mjs', '/tests/bench/inputs.mjs'],
    );
    const files = new Set();
    page.on('requestfinished', (request) => files.add(new URL(request.url()).pathname));
    const milliseconds = await page.evaluate(firstResult, [name, SHAPE]);
    return { milliseconds, files: [...files].filter((path) => !path.startsWith('blob')) };
  } finally {
    await browser.close();
  }
}

/** Runs in the page. */
async function firstResult([name, shape]) {
  const { loadContender, makeInputs } = window.bench;
  const inputs = makeInputs(shape);
  const start = performance.now();
  const contender = await loadContender(name);
  const instance = await contender.setup(shape, inputs);
  await instance.run();
  return performance.now() - start;
}

/** Sizes by path, size and date: the largest files take brotli half a minute each. */
const CACHE = `${OUTPUT}brotli.json`;

/** The bytes of a served file as it is, and as a good host sends it. */
function sizeOf(path) {
  const file = ROOT + decodeURIComponent(path.slice(1));
  const { size, mtimeMs } = statSync(file);
  const known = existsSync(CACHE) ? JSON.parse(readFileSync(CACHE, 'utf8')) : {};
  const key = `${path} ${size} ${mtimeMs}`;
  if (!(key in known)) {
    const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: size };
    known[key] = brotliCompressSync(readFileSync(file), { params }).length;
    writeFileSync(CACHE, JSON.stringify(known, null, 1));
  }
  return { path: path.slice(1), raw: size, brotli: known[key] };
}
