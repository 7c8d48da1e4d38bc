// node node-shape.mjs SHAPE OPTIONS: measures one shape in a process of its own; prints the result as JSON.
import { setFlagsFromString } from 'node:v8';

// Node 20 has relaxed SIMD behind this flag; a later one, which needs no flag, does not mind it.
setFlagsFromString('--experimental-wasm-relaxed-simd');
const { measureShape } = await import('./measure.mjs');
const [shape, { names, ...options }] = process.argv.slice(2).map((argument) => JSON.parse(argument));
const result = await measureShape(shape, names, options);
process.stdout.write(JSON.stringify(result), () => process.exit(0));
