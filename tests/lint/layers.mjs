// The direction of dependencies. In C: base <- simd <- kernels <- ops <- model <- train <- abi, intrinsics only in simd and
// kernels. In TypeScript: core <- train <- study <- worker <- view <- site. A file may use its own layer and those to its left.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const C_LAYERS = ['base', 'simd', 'kernels', 'ops', 'model', 'train', 'abi'];
const WEB_LAYERS = ['src/core', 'src/train', 'src/study', 'src/worker', 'src/view', 'site'];
const INTRINSICS =
  /wasm_simd128\.h|immintrin\.h|arm_neon\.h|\bv128_t\b|\bvector_size\b|\b__builtin_(wasm_(?!memory_atomic_)|ia32_)/;

const faults = [];

function filesIn(folder, pattern) {
  return readdirSync(join(ROOT, folder), { recursive: true })
    .filter((name) => pattern.test(name))
    .map((name) => join(folder, name));
}

function withoutComments(code) {
  return code.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
}

function requireOrder(layers, file, own, used) {
  if (layers.indexOf(used) > layers.indexOf(own)) {
    faults.push(`${file} is in ${own} and uses ${used}: the order is ${layers.join(' <- ')}`);
  }
}

function checkC() {
  for (const file of filesIn('c/src', /\.[ch]$/)) {
    const own = file.split('/')[2];
    const code = withoutComments(readFileSync(join(ROOT, file), 'utf8'));
    if (!C_LAYERS.includes(own)) {
      faults.push(`${file} is in no layer: they are ${C_LAYERS.join(', ')}`);
    }
    for (const [, path] of code.matchAll(/^\s*#\s*include\s+"([^"]+)"/gm)) {
      const used = path.includes('/') ? path.split('/')[0] : own;
      requireOrder(C_LAYERS, file, own, used);
      if (used === 'simd' && !['simd', 'kernels'].includes(own)) {
        faults.push(`${file} includes ${path}: only kernels may use the SIMD vocabulary`);
      }
    }
    if (INTRINSICS.test(code) && !['simd', 'kernels'].includes(own)) {
      faults.push(`${file} has intrinsics (${code.match(INTRINSICS)[0]}): they belong in c/src/simd and c/src/kernels`);
    }
  }
}

function webLayer(path) {
  return WEB_LAYERS.find((layer) => path.startsWith(`web/${layer}/`));
}

function checkWeb() {
  for (const file of WEB_LAYERS.flatMap((layer) => filesIn(`web/${layer}`, /\.ts$/))) {
    const code = withoutComments(readFileSync(join(ROOT, file), 'utf8'));
    for (const [, path] of code.matchAll(/\b(?:from|import)\s*\(?\s*'(\.[^']+)'/g)) {
      const used = webLayer(relative(ROOT, resolve(ROOT, dirname(file), path)));
      if (used) {
        requireOrder(WEB_LAYERS, file, webLayer(file), used);
      }
    }
  }
}

checkC();
checkWeb();
console.log(faults.join('\n'));
process.exitCode = faults.length > 0 ? 1 : 0;
