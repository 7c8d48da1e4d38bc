/**
 * multihead/train: networks that learn, in wasm. Beside `multihead`, from which engines that only look, errors and types come.
 */
export type { Batch, Supervision } from './batch.js';
export { loadTrainEngine } from './load.js';
export type { Probe, ProbeOptions } from './probe.js';
export type { Network, NetworkOptions, TrainerSettings } from './settings.js';
export {
  type ApplyOptions,
  type BatchResult,
  type ParameterInfo,
  type StepReport,
  type TensorNorms,
  Trainer,
} from './trainer.js';
