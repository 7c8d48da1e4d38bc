/** A network that learns, in this thread: the handle `mh_trainer` of `c/include/multihead_train.h`. */
import { type Engine, requireEngine } from '../core/engine.js';
import { MultiheadError } from '../core/errors.js';
import { checkOptions } from '../core/options.js';
import { requireShape } from '../core/tensor.js';
import type { EngineOptions, Tensor } from '../core/types.js';
import { type Batch, batchFields, sizesOf } from './batch.js';
import { sharedTrainEngine } from './load.js';
import { type Probe, type ProbeOptions, runProbe } from './probe.js';
import {
  completeNetwork,
  modelConfig,
  type Network,
  type NetworkOptions,
  networkFields,
  settingsFields,
  type TrainerSettings,
} from './settings.js';

/** How well a batch was predicted. */
export interface BatchResult {
  /** Mean cross-entropy in nats over the places that count; 0 if none does. */
  readonly loss: number;
  /** Share of them where the right token is the most probable one. */
  readonly accuracy: number;
  /** Places with a target. */
  readonly counted: number;
  /** Σ weight · KL of supervised attention; 0 without. */
  readonly supervision: number;
}

/** One learned tensor. */
export interface ParameterInfo {
  /** GPT-2's, as in a file: `h.0.attn.c_attn.weight`. */
  readonly name: string;
  readonly shape: readonly number[];
  /** Whether weight decay shrinks it: matrices, not norms and biases. */
  readonly decays: boolean;
}

/** What a step did. */
export interface StepReport {
  /** Steps taken, with this one. */
  readonly step: number;
  readonly learningRate: number;
  /** Euclidean norm of the whole gradient, before clipping. */
  readonly gradientNorm: number;
  /** With `inspect`: norms for each tensor, in the order of `parameters`. */
  readonly tensors?: readonly TensorNorms[];
}

export interface TensorNorms {
  readonly name: string;
  /** Of the gradient, after clipping. */
  readonly gradient: number;
  /** Of what the step added. */
  readonly update: number;
  /** Of the tensor after the step. */
  readonly parameter: number;
}

export interface ApplyOptions {
  /** Also measure each tensor: a little more work. Default false. */
  readonly inspect?: boolean;
}

interface Handle {
  readonly engine: Engine;
  readonly address: number;
}

interface PlacedParameter extends ParameterInfo {
  readonly offset: number;
  readonly count: number;
}

/** A net for trainers that nobody disposed. */
const forgotten = new FinalizationRegistry<Handle>(freeHandle);

function freeHandle({ engine, address }: Handle): void {
  if (engine.alive) engine.call('mh_trainer_free', address);
}

/** `enum mh_file` */
const FILES = { model: 0, checkpoint: 1 } as const;

/**
 * Learns next tokens, masked tokens, or any other right token a place, by backpropagation in wasm.
 *
 * Calls are synchronous: a step of a small model takes some milliseconds. Parameters live in the engine; nothing of what is
 * given in is kept. The same build, seed and batches give the same bits.
 *
 * @example
 * const trainer = await Trainer.create(
 *   { layers: 2, heads: 4, embedDim: 64, vocabulary: 32, positions: 32 },
 *   { seed: 1, learningRate: 3e-3, warmUp: 100, clip: 1 },
 * );
 * for (let step = 0; step < 1000; step++) {
 *   const { loss, gradientNorm } = trainer.step({ tokens, targets, batch: 32, causal: true });
 * }
 * const { attention } = trainer.probe({ tokens: Int32Array.of(3, 1, 4, 3), causal: true });
 * trainer.dispose();
 */
export class Trainer {
  readonly engine: Engine;
  readonly network: Network;
  /** Every learned tensor, in the order of `c/include/multihead_train.h`, section 1. */
  readonly parameters: readonly ParameterInfo[];
  readonly #placed: ReadonlyMap<string, PlacedParameter>;
  readonly #handle: Handle;
  #settings: TrainerSettings;
  #disposed = false;
  /** Places that counted since the last step. */
  #counted = 0;

  /**
   * With an engine from `loadTrainEngine`; `create` finds one by itself.
   *
   * @throws {MultiheadError} `argument` or `shape` for sizes and settings that make no trainer; `memory`.
   */
  constructor(engine: Engine, network: NetworkOptions, settings: TrainerSettings = {}) {
    requireEngine(engine);
    if (!engine.trains) {
      throw new MultiheadError('argument', 'this engine only looks: make one with await loadTrainEngine()');
    }
    this.engine = engine;
    this.network = completeNetwork(network);
    this.#settings = settings;
    const { memory } = engine;
    const address = memory.scope((scope) => {
      const out = scope.alloc(4);
      const sizes = scope.struct('mh_network', networkFields(this.network));
      engine.check('mh_trainer_create', out, sizes, scope.struct('mh_trainer_settings', settingsFields(settings)));
      return memory.uint32(out);
    });
    this.#handle = { engine, address };
    forgotten.register(this, this.#handle, this);
    const placed = this.#readParameters();
    this.#placed = new Map(placed.map((parameter) => [parameter.name, parameter]));
    this.parameters = placed.map(({ name, shape, decays }) => ({ name, shape, decays }));
  }

  /** A trainer on an engine that all trainers with the same engine options share. Rejects as `loadEngine` and `constructor`. */
  static async create(network: NetworkOptions, settings?: TrainerSettings, engine?: EngineOptions): Promise<Trainer> {
    return new Trainer(await sharedTrainEngine(engine), network, settings);
  }

  /** As last given to the constructor or `configure`. */
  get settings(): TrainerSettings {
    return this.#settings;
  }

  /** Steps taken. */
  get steps(): number {
    return this.engine.call('mh_trainer_step', this.#alive()) >>> 0;
  }

  /** Number of learned numbers. */
  get parameterCount(): number {
    let count = 0;
    for (const parameter of this.#placed.values()) count += parameter.count;
    return count;
  }

  /** Replaces the settings, from the next batch on. Parameters and the optimiser's state stay. */
  configure(settings: TrainerSettings): void {
    const address = this.#alive();
    this.engine.memory.scope((scope) => {
      this.engine.check('mh_trainer_configure', address, scope.struct('mh_trainer_settings', settingsFields(settings)));
    });
    this.#settings = settings;
  }

  /**
   * Adds the gradient of a batch to what `apply` will step by. Several before one `apply` are one larger batch.
   *
   * @throws {MultiheadError} `argument` or `shape`; `nonfinite`, naming the first tensor with NaN or infinity; `memory`.
   */
  accumulate(batch: Batch): BatchResult {
    const result = this.#run('mh_trainer_accumulate', batch);
    this.#counted += result.counted;
    return result;
  }

  /**
   * Takes one step with what was accumulated.
   *
   * @throws {MultiheadError} `argument` if no place had a target; `nonfinite`: then nothing has changed.
   */
  apply(options: ApplyOptions = {}): StepReport {
    checkOptions('apply', options, { inspect: true });
    const address = this.#alive();
    const { memory } = this.engine;
    const count = this.parameters.length;
    this.#counted = 0;
    return memory.scope((scope) => {
      const norms = options.inspect ? scope.alloc(3 * count * 4) : 0;
      const at = (which: number) => (norms === 0 ? undefined : norms + which * count * 4);
      const report = scope.struct('mh_step_report', {
        gradient_norms: at(0),
        update_norms: at(1),
        parameter_norms: at(2),
      });
      this.engine.check('mh_trainer_apply', address, report);
      const field = (name: string) => Number(memory.field('mh_step_report', report, name));
      return {
        step: field('step'),
        learningRate: field('learning_rate'),
        gradientNorm: field('gradient_norm'),
        ...(norms !== 0 && { tensors: this.#tensorNorms(memory.floats(norms, 3 * count)) }),
      };
    });
  }

  /** `accumulate`, then `apply`: one step of learning. The loss is that before the step. */
  step(batch: Batch, options: ApplyOptions = {}): BatchResult & StepReport {
    const result = this.accumulate(batch);
    return { ...result, ...this.apply(options) };
  }

  /** Loss and accuracy of a batch as the network is now: no dropout, and nothing learned from it. */
  evaluate(batch: Batch): BatchResult {
    return this.#run('mh_trainer_evaluate', batch);
  }

  /**
   * What every head looks at now: attention weights of all layers with their statistics, and logits if asked for.
   *
   * @throws {MultiheadError} as `accumulate`.
   */
  probe(batch: Batch, options: ProbeOptions = {}): Probe {
    return runProbe(this.engine, this.#alive(), this.network, batch, options);
  }

  /** A copy of a learned tensor. @throws {MultiheadError} `argument` for a name that is not in `parameters`. */
  read(name: string): Tensor {
    const { offset, count, shape } = this.#parameter(name);
    const address = this.engine.call('mh_trainer_parameters', this.#alive()) >>> 0;
    return { data: this.engine.memory.floats(address + offset * 4, count), shape };
  }

  /** A copy of the gradient that was accumulated for a tensor, of the mean loss; zeros after `apply`. @throws as `read`; `memory`. */
  gradient(name: string): Tensor {
    const { offset, count, shape } = this.#parameter(name);
    const address = this.engine.call('mh_trainer_gradient', this.#alive()) >>> 0;
    if (address === 0)
      throw new MultiheadError('memory', `out of memory for the gradient of ${this.parameterCount} numbers`);
    const sum = this.engine.memory.floats(address + offset * 4, count);
    return { data: sum.map((value) => value / Math.max(this.#counted, 1)), shape };
  }

  /** Replaces a learned tensor. @throws {MultiheadError} `argument` as `read`, `shape` for another shape. */
  write(name: string, values: Tensor): void {
    const { offset, shape } = this.#parameter(name);
    requireShape(name, values, shape);
    const address = this.engine.call('mh_trainer_parameters', this.#alive()) >>> 0;
    this.engine.memory.setFloats(address + offset * 4, values.data);
  }

  /**
   * The config.json of `save`'s file: GPT-2's keys, without the masks and tokens of a particular task.
   *
   * @throws {MultiheadError} `unsupported` for a network that `loadModel` does not know.
   */
  modelConfig(): Record<string, unknown> {
    return modelConfig(this.network);
  }

  /** The network as a safetensors file of GPT-2's names, which `loadModel` reads with `modelConfig()` as its config.json. */
  save(): Uint8Array {
    return this.#save(FILES.model);
  }

  /** The same file with the optimiser's state in it: a trainer of the same network and settings that loads it goes on bit by bit. */
  checkpoint(): Uint8Array {
    return this.#save(FILES.checkpoint);
  }

  /**
   * Takes the parameters of a file of the same network. A checkpoint's optimiser state comes with it; without one the
   * optimiser starts anew. If it fails nothing has changed.
   *
   * @throws {MultiheadError} `corrupt`, `shape`, `nonfinite`, `memory`.
   */
  load(file: Uint8Array): void {
    const address = this.#alive();
    this.engine.memory.lend(file, (at) => this.engine.check('mh_trainer_load', address, at, file.length));
  }

  /** Frees everything. Any later call throws code `disposed`; a second `dispose` does nothing. */
  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    forgotten.unregister(this);
    freeHandle(this.#handle);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  #alive(): number {
    if (!this.#disposed) return this.#handle.address;
    throw new MultiheadError('disposed', 'this Trainer was disposed: create another');
  }

  #run(name: string, batch: Batch): BatchResult {
    const address = this.#alive();
    const { memory } = this.engine;
    return memory.scope((scope) => {
      const sizes = sizesOf(batch, this.network);
      const pass = scope.struct('mh_training_pass', batchFields(memory, scope, batch, sizes, this.network));
      const result = scope.struct('mh_training_result');
      this.engine.check(name, address, pass, result);
      const field = (of: string) => Number(memory.field('mh_training_result', result, of));
      const counted = field('counted');
      return {
        loss: field('loss') / Math.max(counted, 1),
        accuracy: field('correct') / Math.max(counted, 1),
        counted,
        supervision: field('supervision'),
      };
    });
  }

  #save(file: number): Uint8Array {
    const address = this.#alive();
    const { memory } = this.engine;
    const bytes = this.engine.call('mh_trainer_file_bytes', address, file) >>> 0;
    const out = memory.reserve(bytes);
    try {
      this.engine.check('mh_trainer_save', address, file, out, bytes);
      return new Uint8Array(memory.copyOut(out, bytes));
    } finally {
      memory.release(out);
    }
  }

  #parameter(name: string): PlacedParameter {
    const found = this.#placed.get(name);
    if (found) return found;
    throw new MultiheadError(
      'argument',
      `there is no parameter ${name}: they are ${[...this.#placed.keys()].join(', ')}`,
    );
  }

  #readParameters(): PlacedParameter[] {
    const network = this.engine.call('mh_trainer_network', this.#alive());
    return this.engine.memory.scope((scope) => {
      const struct = scope.struct('mh_parameter');
      const count = this.engine.call('mh_parameter_count', network);
      return Array.from({ length: count }, (_, index) => this.#readParameter(network, index, struct));
    });
  }

  #readParameter(network: number, index: number, struct: number): PlacedParameter {
    const { memory } = this.engine;
    this.engine.call('mh_parameter_at', network, index, struct);
    const number = (field: string) => Number(memory.field('mh_parameter', struct, field));
    const [rows, columns] = [number('rows'), number('columns')];
    return {
      name: String(memory.field('mh_parameter', struct, 'name')),
      shape: rows === 0 ? [columns] : [rows, columns],
      decays: number('decays') !== 0,
      offset: number('offset'),
      count: number('count'),
    };
  }

  #tensorNorms(norms: Float32Array): TensorNorms[] {
    const count = this.parameters.length;
    return this.parameters.map(({ name }, i) => ({
      name,
      gradient: norms[i] ?? 0,
      update: norms[count + i] ?? 0,
      parameter: norms[2 * count + i] ?? 0,
    }));
  }
}
