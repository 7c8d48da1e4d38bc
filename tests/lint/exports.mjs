// The public header, c/exports.txt and the wasm modules name the same functions.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const BUILDS = ['simd128', 'relaxed-simd'];
// What the toolchain adds by itself.
const EXTRAS =
  /^(memory|_initialize|__indirect_function_table|__errno_location|stack(Save|Restore|Alloc)|_?_?emscripten_stack_\w+)$/;
const ALLOCATION = ['free', 'malloc'];

setFlagsFromString('--experimental-wasm-relaxed-simd'); // Node 20 has it behind this flag

const faults = [];

function read(path) {
  return readFileSync(ROOT + path);
}

function headerFunctions() {
  const code = read('c/include/multihead.h')
    .toString()
    .replace(/\/\*[\s\S]*?\*\//g, '');
  return [...code.matchAll(/\b(mh_\w+)\([^;{]*\);/g)].map(([, name]) => name);
}

function listedExports() {
  const lines = read('c/exports.txt').toString().trim().split('\n');
  if (lines.join() !== [...lines].sort().join()) {
    faults.push('c/exports.txt is not sorted');
  }
  return lines.map((line) => line.replace(/^_/, ''));
}

function wasmExports(build) {
  const path = `dist/wasm/multihead-${build}.wasm`;
  if (!existsSync(ROOT + path)) {
    faults.push(`${path} is missing: ./build.sh wasm makes it`);
    return [];
  }
  const names = WebAssembly.Module.exports(new WebAssembly.Module(read(path))).map(({ name }) => name);
  return names.filter((name) => !EXTRAS.test(name));
}

function compare(whatA, a, whatB, b) {
  for (const name of a.filter((name) => !b.includes(name))) {
    faults.push(`${name} is in ${whatA} but not in ${whatB}`);
  }
}

const listed = listedExports();
const wanted = [...headerFunctions(), ...ALLOCATION];
compare('the header', wanted, 'c/exports.txt', listed);
compare('c/exports.txt', listed, 'the header', wanted);
for (const build of BUILDS) {
  const exported = wasmExports(build);
  compare('c/exports.txt', listed, `the ${build} module`, exported);
  compare(`the ${build} module`, exported, 'c/exports.txt', listed);
}
console.log(faults.join('\n'));
process.exitCode = faults.length > 0 ? 1 : 0;
