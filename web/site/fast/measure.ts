/** The worker that measures this machine: the roofs, then our kernels below them, all on one thread. */
import { loadEngine, MultiHeadAttention, scaledDotProductAttention } from '../../src/index.js';
import { type Kernel, kernels, type Point, type Roof, type Roofline } from './kernels.js';

interface PeakExports {
  readonly memory: WebAssembly.Memory;
  _initialize(): void;
  malloc(bytes: number): number;
  flops_per_step(): number;
  peak(steps: number): number;
  load(buffer: number, floats: number, rounds: number): number;
}

/** Time that an engine takes to compile hot code anew, and well. */
const warmMilliseconds = 200;
/** Long enough for the clock, whose steps may be 0.1 ms. */
const leastMilliseconds = 4;
const repeats = { kernel: 7, roof: 60 };

/** Seconds of the fastest of several runs; each repeats `work` until it takes `leastMilliseconds`. */
function fastest(work: () => void, runs = repeats.kernel): number {
  for (const start = performance.now(); performance.now() - start < warmMilliseconds; ) work();
  let times = 1;
  let best = Number.POSITIVE_INFINITY;
  for (let run = 0; run < runs; ) {
    const start = performance.now();
    for (let i = 0; i < times; i++) work();
    const elapsed = performance.now() - start;
    if (elapsed < leastMilliseconds) {
      times *= 2;
      continue;
    }
    best = Math.min(best, elapsed / times / 1000);
    run++;
  }
  return best;
}

async function loadPeak(build: string): Promise<PeakExports> {
  const url =
    build === 'relaxed-simd'
      ? new URL('../../../build/wasm/peak-relaxed-simd.wasm', import.meta.url)
      : new URL('../../../build/wasm/peak-simd128.wasm', import.meta.url);
  const bytes = await (await fetch(url)).arrayBuffer();
  const { instance } = await WebAssembly.instantiate(bytes, { env: { emscripten_notify_memory_growth: () => {} } });
  const peak = instance.exports as unknown as PeakExports;
  peak._initialize();
  return peak;
}

function measurePeak(peak: PeakExports): number {
  const steps = 200_000;
  return (peak.flops_per_step() * steps) / fastest(() => peak.peak(steps), repeats.roof) / 1e9;
}

/** Where a buffer of this size lies on most machines of today. */
const places = [
  { place: 'L1', kilobytes: 16 },
  { place: 'L3', kilobytes: 4096 },
  { place: 'memory', kilobytes: 131_072 },
] as const;

function measureRoofs(peak: PeakExports): Roof[] {
  return places.map(({ place, kilobytes }) => {
    const bytes = kilobytes * 1024;
    const buffer = Math.ceil(peak.malloc(bytes + 16) / 16) * 16;
    if (buffer === 0) throw new Error(`there is no room for ${kilobytes} KB`);
    // Pages that were never written may all be the same page of zeros.
    new Float32Array(peak.memory.buffer, buffer, bytes / 4).fill(1);
    const rounds = Math.max(1, Math.floor(262_144 / kilobytes));
    const seconds = fastest(() => peak.load(buffer, bytes / 4, rounds), repeats.roof);
    return { place, kilobytes, gigabytesPerSecond: (bytes * rounds) / seconds / 1e9 };
  });
}

function noise(shape: readonly number[]): { data: Float32Array; shape: readonly number[] } {
  const data = new Float32Array(shape.reduce((product, size) => product * size, 1));
  for (let i = 0; i < data.length; i++) data[i] = Math.sin(i * 12.9898) * 0.5;
  return { data, shape };
}

function runOf(engine: Awaited<ReturnType<typeof loadEngine>>, kernel: Kernel): () => void {
  const { tokens, heads, headDim, weights, causal } = kernel;
  if (kernel.kind === 'core') {
    const [query, key, value] = [0, 1, 2].map(() => noise([heads, tokens, headDim])) as never as [never, never, never];
    return () => scaledDotProductAttention(engine, { query, key, value, needWeights: weights, isCausal: causal });
  }
  const width = heads * headDim;
  const module = new MultiHeadAttention(engine, { embedDim: width, numHeads: heads, batchFirst: true });
  const x = noise([1, tokens, width]);
  return () => module.forward(x, x, x, { needWeights: weights, causal });
}

async function measure(report: (point: Point) => void): Promise<Roofline> {
  const engine = await loadEngine({ threads: 1 }); // the roof is that of one core
  const peak = await loadPeak(engine.build);
  const gigaflops = measurePeak(peak);
  const roofs = measureRoofs(peak);
  const points = kernels.map((kernel) => {
    const point = { ...kernel, gigaflops: kernel.flops / fastest(runOf(engine, kernel)) / 1e9 };
    report(point);
    return point;
  });
  return { build: engine.build, gigaflops, roofs, points };
}

addEventListener('message', async () => {
  try {
    const roofline = await measure((point) => postMessage({ point }));
    postMessage({ roofline });
  } catch (thrown) {
    postMessage({ failure: thrown instanceof Error ? thrown.message : String(thrown) });
  }
});
