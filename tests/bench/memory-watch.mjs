// Who holds how much WebAssembly memory. A linear memory never shrinks, so its size is its high-water mark.

const memories = new Map();
let owner = 'nobody';

function keep(memory) {
  memories.set(memory, memories.get(memory) ?? owner);
}

function keepExports(instance) {
  for (const value of Object.values(instance.exports)) {
    if (Object.prototype.toString.call(value) === '[object WebAssembly.Memory]') keep(value);
  }
}

/** Notices every memory that is made from here on. To be called before any contender is loaded. */
export function watchMemories() {
  const wasm = globalThis.WebAssembly;
  const { instantiate, instantiateStreaming } = wasm;
  wasm.Memory = new Proxy(wasm.Memory, {
    construct(target, args) {
      const memory = new target(...args);
      keep(memory);
      return memory;
    },
  });
  wasm.Instance = new Proxy(wasm.Instance, {
    construct(target, args) {
      const instance = new target(...args);
      keepExports(instance);
      return instance;
    },
  });
  const watched = (original) =>
    async function (...args) {
      const result = await original.apply(this, args);
      keepExports(result.instance ?? result);
      return result;
    };
  wasm.instantiate = watched(instantiate);
  if (instantiateStreaming) wasm.instantiateStreaming = watched(instantiateStreaming);
}

/** Memories made while `body` runs are `name`'s. */
export async function asOwner(name, body) {
  owner = name;
  try {
    return await body();
  } finally {
    owner = 'nobody';
  }
}

export function memoryBytes(name) {
  let total = 0;
  for (const [memory, holder] of memories) if (holder === name) total += memory.buffer.byteLength;
  return total;
}
