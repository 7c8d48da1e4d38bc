// In a page or in Node: runs a case of kernels.mjs on one or more builds, turn by turn. The caller holds the clock.

let players = [];

async function instantiate(bytes) {
  const imports = { env: { emscripten_notify_memory_growth() {} } };
  const { instance } = await WebAssembly.instantiate(Uint8Array.from(bytes), imports);
  instance.exports._initialize?.();
  return instance.exports;
}

function milliseconds(work) {
  const start = performance.now();
  work();
  return performance.now() - start;
}

/** Makes each module ready and warm; resolves to how often each should run for a turn of `turn` milliseconds. */
export async function setUp({ kind, args }, modules, turn) {
  players = [];
  for (const { name, bytes, peak } of modules) {
    const engine = await instantiate(bytes);
    if (engine[`${kind}_set_up`](...args) !== 0) throw new Error(`${name}: ${kind} ${args}`);
    players.push({ engine, run: engine[`${kind}_run`], peak: await instantiate(peak) });
  }
  return players.map(({ run, peak }) => {
    let best = Infinity;
    const end = performance.now() + 300;
    do
      best = Math.min(
        best,
        milliseconds(() => run(1)),
      );
    while (performance.now() < end);
    for (let i = 0; i < 20; i++) peak.peak(100_000);
    return Math.max(1, Math.round(turn / Math.max(best, 1e-4)));
  });
}

/** Player `index` runs `times` times; none of them: an empty turn. */
export function takeTurn(index, times) {
  if (times > 0) players[index].run(times);
}

export function takePeakTurn(index, steps) {
  players[index].peak.peak(steps);
  return players[index].peak.flops_per_step();
}

export function memoryBytes() {
  return players.map(({ engine }) => engine.memory.buffer.byteLength);
}
