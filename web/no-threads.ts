/** In place of src/core/threaded-wasm.ts where the engines are part of the bundle: two more would make it half as large again. */
export function threadedWasmUrl(): undefined {
  return undefined;
}
