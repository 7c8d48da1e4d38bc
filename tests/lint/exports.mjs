// The public headers, the lists of exports and the wasm modules name the same functions.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const BUILDS = ['simd128', 'relaxed-simd'];
// What the toolchain adds by itself.
const EXTRAS =
  /^(memory|_initialize|__stack_pointer|__indirect_function_table|__errno_location|stack(Save|Restore|Alloc)|_?_?emscripten_stack_\w+)$/;
const ALLOCATION = ['free', 'malloc'];

setFlagsFromString('--experimental-wasm-relaxed-simd'); // Node 20 has it behind this flag

const faults = [];

function read(path) {
  return readFileSync(ROOT + path);
}

function headerFunctions(header) {
  const code = read(`c/include/${header}`)
    .toString()
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/#ifndef __wasm__[\s\S]*?#endif/g, '');
  return [...code.matchAll(/\b(mh_\w+)\([^;{]*\);/g)].map(([, name]) => name);
}

function listedExports(path) {
  const lines = read(path).toString().trim().split('\n');
  if (lines.join() !== [...lines].sort().join()) {
    faults.push(`${path} is not sorted`);
  }
  return lines.map((line) => line.replace(/^_/, ''));
}

function wasmExports(path) {
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

/** The modules that are `prefix`, one of the builds, and `suffix`. */
function compareModules(list, listed, prefix, suffix = '') {
  for (const build of BUILDS) {
    const path = `dist/wasm/${prefix}-${build}${suffix}.wasm`;
    const exported = wasmExports(path);
    compare(list, listed, path, exported);
    compare(path, exported, list, listed);
  }
}

const engine = [...headerFunctions('multihead.h'), ...ALLOCATION];
const listed = listedExports('c/exports.txt');
compare('multihead.h', engine, 'c/exports.txt', listed);
compare('c/exports.txt', listed, 'multihead.h', engine);
compareModules('c/exports.txt', listed, 'multihead');

// What learns also has what it needs of the engine.
const training = headerFunctions('multihead_train.h');
const listedTraining = listedExports('c/exports-train.txt');
compare('multihead_train.h', training, 'c/exports-train.txt', listedTraining);
compare('c/exports-train.txt', listedTraining, 'the headers', [...training, ...engine]);
compareModules('c/exports-train.txt', listedTraining, 'multihead-train');

const threads = headerFunctions('multihead_threads.h');
const listedThreads = listedExports('c/exports-threads.txt');
compare('multihead_threads.h', threads, 'c/exports-threads.txt', listedThreads);
compare('c/exports-threads.txt', listedThreads, 'multihead_threads.h', threads);
compareModules('the lists of exports', [...listed, ...listedThreads], 'multihead', '-threads');
console.log(faults.join('\n'));
process.exitCode = faults.length > 0 ? 1 : 0;
