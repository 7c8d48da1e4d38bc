// Measures one shape, in a page or in Node: every contender in the same process, taking turns.
import { CONTENDERS, OURS } from './contenders/index.mjs';
import { gpt2Inputs, gpt2Reference } from './gpt2.mjs';
import { makeInputs } from './inputs.mjs';
import { asOwner, memoryBytes, watchMemories } from './memory-watch.mjs';
import { largestError, makeReference } from './reference.mjs';
import { flops } from './shapes.mjs';

/** Largest difference from float64 that counts as the same result. Layers accumulate over up to 3072 products. */
export const TOLERANCE = { core: 2e-5, mha: 2e-5, block: 5e-5, model: 1e-4 };
/** With layers in int8: the errors themselves are among the results. */
const ROUNDED_TOLERANCE = 0.2;

const ROOT = new URL('../../', import.meta.url).href;
const IN_NODE = ROOT.startsWith('file:');

/** A turn is at least this long, so that the clock's steps do not matter. */
const TURN_MILLISECONDS = 2;
const PEAK_STEPS = 200_000;

/**
 * Resolves to { shape, peak: { build: GFLOP/s }, contenders: { name: result } }; a contender that fails or is wrong has
 * `error` in place of figures. Options, in milliseconds for each contender: `budget` for its timed turns, `longestWarmUp`, and
 * `steady`: it is warm when it has not become 3 % faster for so long; and `threads`, how many everyone has.
 */
export async function measureShape(shape, names, { budget, steady, longestWarmUp, threads }) {
  watchMemories();
  const whole = shape.kind === 'model';
  const inputs = whole ? gpt2Inputs(shape) : makeInputs(shape);
  const reference = whole ? gpt2Reference(shape, inputs) : makeReference(shape, inputs);
  const peaks = await loadPeaks();
  const entries = [];
  for (const name of names) {
    const entry = await attempt({ name }, (made) => prepare(made, shape, inputs, reference, threads));
    if (entry.supported) entries.push(entry);
  }
  for (const entry of entries) await attempt(entry, (cold) => warmUp(cold, steady, longestWarmUp));
  await takeTurns(entries, peaks, budget);
  for (const entry of entries) await attempt(entry, (warm) => verify(warm, shape, reference));
  return {
    shape,
    peak: Object.fromEntries(peaks.map(({ build, best }) => [build, best])),
    contenders: Object.fromEntries(entries.map((entry) => [entry.name, resultOf(entry, shape, entries)])),
  };
}

/** Whatever a contender throws is its result. */
async function attempt(entry, step) {
  if (entry.error) return entry;
  try {
    await step(entry);
  } catch (thrown) {
    entry.error = String(thrown?.message ?? thrown).slice(0, 300);
    entry.supported ??= true;
  }
  return entry;
}

/** The module of a contender; in a page its bundle, under an address of its own, so that nothing is shared. */
export function importContender(name) {
  const { file } = CONTENDERS[name];
  return import(IN_NODE ? `./contenders/${file}` : `${ROOT}build/bench/contenders/${file}?as=${name}`);
}

export async function loadContender(name, threads = 1) {
  const { load } = await importContender(name);
  return load({ name, root: ROOT, threads });
}

async function prepare(entry, shape, inputs, reference, threads) {
  await asOwner(entry.name, async () => {
    const contender = await loadContender(entry.name, threads);
    entry.label = contender.label;
    entry.supported = contender.supports(shape);
    if (!entry.supported) return;
    entry.instance = await contender.setup(shape, inputs);
    await entry.instance.run();
  });
  if (entry.supported) verify(entry, shape, reference);
}

/** Compares with float64. Done before and after timing: a run may resolve although it computed nothing. */
function verify(entry, shape, reference) {
  const { output, weights } = entry.instance.read();
  entry.outputError = largestError(output, reference.output);
  entry.weightsError = shape.weights ? largestError(weights, reference.weights) : 0;
  const worst = Math.max(entry.outputError, entry.weightsError);
  if (!(worst <= (CONTENDERS[entry.name].rounds ? ROUNDED_TOLERANCE : TOLERANCE[shape.kind]))) {
    throw new Error(`wrong result: it differs by ${worst.toExponential(1)} from float64`);
  }
}

/** Engines compile hot code late, ONNX Runtime's takes a second or more to be fast. */
async function warmUp(entry, steady, longest) {
  const start = performance.now();
  let best = Infinity;
  let improved = start;
  for (let now = start; now - improved < steady && now - start < longest; ) {
    const before = now;
    await entry.instance.run();
    now = performance.now();
    if (now - before < best * 0.97) improved = now;
    best = Math.min(best, now - before);
  }
  entry.repeat = Math.max(1, Math.min(200, Math.round(TURN_MILLISECONDS / Math.max(best, 1e-3))));
  entry.turns = [];
}

/**
 * Rounds in which each contender has one turn, the first one moving on. A contender drops out when its budget is spent, but
 * not before the fifth round.
 */
async function takeTurns(entries, peaks, budget) {
  let players = entries.filter(({ error }) => !error);
  for (let round = 0; players.length > 0 && round < 100; round++) {
    for (const peak of peaks) measurePeak(peak);
    for (let i = 0; i < players.length; i++) {
      await attempt(players[(i + round) % players.length], (entry) => takeTurn(entry, round));
    }
    players = players.filter(({ error, spent }) => !error && (round < 4 || spent < budget));
  }
}

/** An untimed run comes first, so that nobody pays for the caches that the one before has filled. */
async function takeTurn(entry, round) {
  const { instance, repeat } = entry;
  const begin = performance.now();
  await instance.run();
  const start = performance.now();
  for (let i = 0; i < repeat; i++) await instance.run();
  const end = performance.now();
  entry.turns[round] = (end - start) / repeat;
  entry.spent = (entry.spent ?? 0) + end - begin;
}

/** The attainable GFLOP/s of a build, on registers alone; the relaxed one only where the host has it. */
async function loadPeaks() {
  const peaks = [];
  for (const build of ['simd128', 'relaxed-simd']) {
    const bytes = await readBytes(`${ROOT}build/wasm/peak-${build}.wasm`);
    if (!WebAssembly.validate(bytes)) continue;
    const { instance } = await WebAssembly.instantiate(bytes, { env: { emscripten_notify_memory_growth() {} } });
    peaks.push({ build, exports: instance.exports, best: 0 });
  }
  for (const peak of peaks) for (let i = 0; i < 50; i++) measurePeak(peak);
  return peaks;
}

function measurePeak(peak) {
  const start = performance.now();
  peak.exports.peak(PEAK_STEPS);
  const gflops = (peak.exports.flops_per_step() * PEAK_STEPS) / (performance.now() - start) / 1e6;
  peak.best = Math.max(peak.best, gflops);
}

async function readBytes(url) {
  if (!IN_NODE) return new Uint8Array(await (await fetch(url)).arrayBuffer());
  const { readFile } = await import('node:fs/promises');
  return readFile(new URL(url));
}

function resultOf(entry, shape, entries) {
  const { label, error, outputError, weightsError, turns } = entry;
  if (error) return { label, error };
  const sorted = turns.filter((turn) => turn !== undefined).sort((a, b) => a - b);
  const at = (share) => sorted[Math.round(share * (sorted.length - 1))];
  const ours = entries.find(({ name }) => name === OURS);
  return {
    label,
    outputError,
    weightsError,
    median: at(0.5),
    min: at(0),
    quartiles: [at(0.25), at(0.75)],
    turns: sorted.length,
    gflops: flops(shape) / at(0.5) / 1e6,
    gflopsBest: flops(shape) / at(0) / 1e6,
    memoryBytes: memoryBytes(entry.name),
    ...(ours &&
      !ours.error && {
        timesOurs: pairedRatio(turns, ours.turns),
        timesOursBest: at(0) / Math.min(...ours.turns.filter((turn) => turn !== undefined)),
      }),
  };
}

/** Median over the rounds that both took part in: what disturbs the machine for a while hits both. */
function pairedRatio(turns, ours) {
  const ratios = turns.flatMap((turn, round) => (ours[round] === undefined ? [] : [turn / ours[round]]));
  return ratios.sort((a, b) => a - b)[Math.floor(ratios.length / 2)] ?? null;
}
