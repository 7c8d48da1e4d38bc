// A step of training, ours against tfjs on its wasm backend: the same network, loss and optimiser, from the same
// parameters, one step of each in turn. `npm run bench:train [-- --steps N]`
import { createRequire } from 'node:module';
import { cpus, loadavg } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { ROOT } from '../runner/command.mjs';
import { BENCH, OUTPUT, prepare } from './prepare.mjs';

setFlagsFromString('--experimental-wasm-relaxed-simd'); // Node 20 has it behind this flag

const STEPS = Number(process.argv[process.argv.indexOf('--steps') + 1]) || 12;
const [BATCH, LENGTH, VOCABULARY, LAYERS, HEADS] = [32, 32, 32, 2, 4];
const ADAM = { learningRate: 1e-3, beta1: 0.9, beta2: 0.98, epsilon: 1e-8 };

/** Each sequence twice: what followed a token the first time is the answer. */
function makeBatch(step) {
  let state = step + 1;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 8;
  };
  const tokens = new Int32Array(BATCH * LENGTH);
  for (let i = 0; i < tokens.length; i++) {
    const t = i % LENGTH;
    tokens[i] = t < LENGTH / 2 ? next() % VOCABULARY : tokens[i - LENGTH / 2];
  }
  const targets = tokens.map((_, i) => ((i + 1) % LENGTH === 0 ? tokens[i + 1 - LENGTH / 2] : tokens[i + 1]));
  return { tokens, targets };
}

async function ours(width) {
  const { Trainer } = await import(`${ROOT}dist/train/index.js`);
  const network = { layers: LAYERS, heads: HEADS, embedDim: width, vocabulary: VOCABULARY, positions: LENGTH };
  const trainer = await Trainer.create({ ...network, activation: 'relu' }, { ...ADAM, weightDecay: 0, seed: 1 });
  return {
    label: `multihead ${trainer.engine.build}`,
    trainer,
    step: (batch) => trainer.step({ ...batch, batch: BATCH, causal: true }).loss,
  };
}

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}

function timed(contender, batch) {
  const start = performance.now();
  const loss = contender.step(batch);
  return { loss, milliseconds: performance.now() - start };
}

async function compare(width, theirs) {
  const mine = await ours(width);
  const other = await theirs({ root: ROOT, width, trainer: mine.trainer, batch: BATCH, adam: ADAM });
  const times = [[], []];
  let worst = 0;
  for (let step = 0; step < STEPS; step++) {
    const batch = makeBatch(step);
    const [a, b] = [timed(mine, batch), timed(other, batch)];
    worst = Math.max(worst, Math.abs(a.loss - b.loss) / b.loss);
    if (step < 2) continue; // while everything warms up
    times[0].push(a.milliseconds);
    times[1].push(b.milliseconds);
  }
  if (!(worst < 1e-3)) throw new Error(`the losses differ by ${worst}: it is not the same network`);
  const [a, b] = times.map((list) => ({ median: median(list), least: Math.min(...list) }));
  for (const [{ label }, { median: middle, least }] of [
    [mine, a],
    [other, b],
  ]) {
    console.log(`d ${width}  ${label.padEnd(24)} ${middle.toFixed(2)} ms a step (median), ${least.toFixed(2)} (least)`);
  }
  const ratios = `${(b.median / a.median).toFixed(1)} (median), ${(b.least / a.least).toFixed(1)} (least)`;
  console.log(`d ${width}  ratio ${ratios}; losses equal to ${worst.toExponential(1)} over ${STEPS} steps`);
}

/** As an application's bundler would: tfjs's gradients are modules that Node alone cannot load. */
async function loadTheirs() {
  const outfile = `${OUTPUT}train-tfjs.mjs`;
  const { build } = createRequire(`${BENCH}package.json`)('esbuild');
  await build({
    entryPoints: [`${BENCH}train-tfjs.mjs`],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    mainFields: ['module', 'main'],
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url), __dirname = import.meta.dirname;",
    },
    logLevel: 'error',
  });
  return (await import(outfile)).theirs;
}

await prepare();
const theirs = await loadTheirs();
console.log(`${cpus()[0]?.model}, load ${loadavg()[0]?.toFixed(1)}; batch ${BATCH} x ${LENGTH}, 2 layers, 4 heads`);
for (const width of [64, 128]) await compare(width, theirs);
