/**
 * multihead: multi-head attention in C, built for WebAssembly SIMD.
 *
 * The same entry serves browsers, workers and hosts like Node. Importing it touches nothing; work starts with a call.
 */
export {
  type ScaledDotProductOptions,
  type ScaledDotProductResult,
  scaledDotProductAttention,
} from './core/attention.js';
export type { Engine } from './core/engine.js';
export { type ErrorCode, MultiheadError } from './core/errors.js';
export { type LoadEngineOptions, loadEngine } from './core/load.js';
export {
  type ForwardOptions,
  type ForwardResult,
  MultiHeadAttention,
  type MultiHeadAttentionOptions,
} from './core/multi-head-attention.js';
export type { StateDict } from './core/state-dict.js';
export { boolTensor, type Nested, tensor } from './core/tensor.js';
export type * from './core/types.js';
export { loadModel } from './worker/load-model.js';
