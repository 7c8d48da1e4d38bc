/** One forward pass of a model with its statistics: options to `struct mh_model_pass`, and the results back. */
import type { ModelConfig } from './config.js';
import type { Engine } from './engine.js';
import { MultiheadError } from './errors.js';
import { choiceFields, readMapChoice } from './map-choice.js';
import { windowFields } from './masks.js';
import type { Fields, Memory, Scope } from './memory.js';
import { requireIndex } from './model-input.js';
import type { Ablation, AblationKind, ChosenMaps, ComputedRows, MaskOptions, RunOptions, RunTimes } from './types.js';

/** `enum mh_ablation_kind` */
const ABLATIONS: Readonly<Record<AblationKind, number>> = { zero: 0, mean: 1, uniform: 2 };
const DEFAULT_TOP_K = 5;

/** The most probable tokens at one position, without their text. */
export interface TopIds {
  readonly position: number;
  readonly ids: Int32Array;
  readonly probabilities: Float32Array;
}

/** What the engine computed. Arrays are views of one buffer, so that a worker hands them over in one transfer. */
export interface PassResult {
  readonly arrays: ResultArrays;
  readonly chosen: { readonly chosenAttention?: ChosenMaps; readonly chosenStages?: ChosenMaps };
  readonly logitPositions: readonly number[];
  readonly topIds: readonly TopIds[];
  readonly maskedRows: number;
  readonly computed: ComputedRows;
  readonly checkedFinite: boolean;
  readonly times: Pick<RunTimes, 'prepare' | 'forward' | 'results'>;
}

/** As in `RunResult`. */
export interface ResultArrays {
  readonly attention: Float32Array;
  readonly rowStatistics: Float32Array;
  readonly headStatistics: Float32Array;
  readonly rawScores?: Float32Array;
  readonly scores?: Float32Array;
  readonly hidden?: Float32Array;
  readonly logits?: Float32Array;
}

interface ModelMask {
  readonly fields: Fields;
  /** Elements from one layer's painted mask to the next; 0 if they share one. */
  readonly layerStride: number;
}

/**
 * Runs token ids through the model at the address `model`, with the `mh_session` at the address `session` if there is
 * one; it has room for them.
 *
 * @throws {MultiheadError} `argument` or `shape` for an option outside its range, `nonfinite`, `memory`, `crashed`.
 */
export function runPass(
  engine: Engine,
  model: number,
  config: ModelConfig,
  tokens: readonly number[],
  options: RunOptions,
  session?: number,
): PassResult {
  const begin = performance.now();
  const length = tokens.length;
  const logitPositions = readPositions(options.logits ?? 'none', length);
  const checkedFinite = options.checkFinite ?? true;
  const topK = readTopK(options.topK ?? DEFAULT_TOP_K, config.vocabulary);
  const sizes = { layers: config.layers, heads: config.heads, length };
  const attention = readMapChoice('attention', options.attention ?? 'all', sizes);
  const stages = readMapChoice('stages', options.stages ?? false, sizes);
  return engine.memory.scope((scope) => {
    const results = new ResultBlock(scope, {
      attention: attention.floats,
      ...statisticSizes(engine, config, options.statistics === false ? 0 : length),
      ...(options.stages && { rawScores: stages.floats, scores: stages.floats }),
      ...(options.hidden && { hidden: (config.layers + 1) * length * config.embedDim }),
      ...(logitPositions.length > 0 && { logits: logitPositions.length * config.vocabulary }),
    });
    const mask = readMask(scope, options.mask ?? {}, config, length);
    const pass = scope.struct('mh_model_pass', {
      tokens: scope.copyIn(Int32Array.from(tokens)),
      length,
      mask: mask.fields,
      hidden_layer_stride: mask.layerStride,
      ...scaleFields(options.scale ?? 'default'),
      temperature: readTemperature(options.temperature ?? 1),
      ...ablationFields(scope, options.ablate ?? [], config),
      attention: attention.floats > 0 ? results.address('attention') : undefined,
      chosen_attention: choiceFields(scope, attention, sizes),
      raw_scores: results.address('rawScores'),
      scores: results.address('scores'),
      chosen_scores: choiceFields(scope, stages, sizes),
      ...(options.statistics !== false && {
        row_statistics: results.address('rowStatistics'),
        head_statistics: results.address('headStatistics'),
      }),
      hidden: results.address('hidden'),
      logits: results.address('logits'),
      logit_rows: scope.copyIn(Int32Array.from(logitPositions)),
      logit_count: logitPositions.length,
      check_finite: checkedFinite,
      session,
    });
    const start = performance.now();
    const report = engine.forward(scope, 'mh_model', model, pass);
    const end = performance.now();
    const topIds = findTopIds(engine, scope, config.vocabulary, results.address('logits'), logitPositions, topK);
    const arrays = results.read(engine.memory);
    return {
      arrays,
      chosen: {
        ...(attention.chosen && { chosenAttention: attention.chosen }),
        ...(stages.chosen && { chosenStages: stages.chosen }),
      },
      logitPositions,
      topIds,
      maskedRows: report.maskedRows,
      computed: report.computed,
      checkedFinite,
      times: { prepare: start - begin, forward: end - start, results: performance.now() - end },
    };
  });
}

function statisticSizes({ statisticNames }: Engine, { layers, heads }: ModelConfig, length: number) {
  return {
    rowStatistics: layers * heads * length * statisticNames.row.length,
    headStatistics: length > 0 ? layers * heads * statisticNames.head.length : 0,
  };
}

/** Arrays of f32 side by side in wasm memory, which leave it in one copy. */
class ResultBlock {
  readonly #sizes: Readonly<Record<string, number>>;
  readonly #addresses = new Map<string, number>();
  readonly #base: number;

  constructor(scope: Scope, sizes: Readonly<Record<string, number>>) {
    this.#sizes = sizes;
    const total = Object.values(sizes).reduce((sum, size) => sum + size, 0);
    this.#base = scope.alloc(total * 4);
    let address = this.#base;
    for (const [name, size] of Object.entries(sizes)) {
      this.#addresses.set(name, address);
      address += size * 4;
    }
  }

  address(name: keyof ResultArrays): number | undefined {
    return this.#addresses.get(name);
  }

  read(memory: Memory): ResultArrays {
    const total = Object.values(this.#sizes).reduce((sum, size) => sum + size, 0);
    const buffer = memory.copyOut(this.#base, total * 4);
    const views = Object.entries(this.#sizes).map(([name, size]) => {
      return [name, new Float32Array(buffer, (this.#addresses.get(name) ?? 0) - this.#base, size)];
    });
    return Object.fromEntries(views) as ResultArrays;
  }
}

function readMask(scope: Scope, mask: MaskOptions, { layers, heads }: ModelConfig, length: number): ModelMask {
  const padding = mask.padding?.length ? scope.copyIn(paddingBytes(mask.padding, length)) : undefined;
  const fields = { ...windowFields(mask.window), causal: mask.causal, prefix: mask.prefix, key_hidden: padding };
  if (!mask.hidden) return { fields, layerStride: 0 };
  const map = length * length;
  const perHead = mask.hidden.length > map;
  const sizes = [map, heads * map, layers * heads * map];
  if (!sizes.includes(mask.hidden.length)) {
    throw new MultiheadError(
      'shape',
      `mask.hidden has ${mask.hidden.length} values; for ${length} tokens it must have ${sizes.join(', or ')} (T·T, H·T·T or L·H·T·T)`,
      { details: { length: mask.hidden.length, expected: sizes } },
    );
  }
  const hidden = {
    hidden: scope.copyIn(mask.hidden),
    hidden_row_stride: length,
    hidden_head_stride: perHead ? map : 0,
  };
  const layerStride = mask.hidden.length === layers * heads * map && layers > 1 ? heads * map : 0;
  return { fields: { ...fields, ...hidden }, layerStride };
}

function paddingBytes(positions: readonly number[], length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (const position of positions) {
    requireIndex('a position of mask.padding', position, length);
    bytes[position] = 1;
  }
  return bytes;
}

function scaleFields(scale: 'default' | 'none' | number): Fields {
  if (scale === 'default') return { scale_mode: 0 };
  if (scale === 'none') return { scale_mode: 2 };
  if (Number.isFinite(scale)) return { scale_mode: 1, scale };
  throw new MultiheadError('argument', `scale is ${scale}: it must be 'default', 'none' or a finite number`);
}

function readTemperature(temperature: number): number {
  if (temperature > 0 && Number.isFinite(temperature)) return temperature;
  throw new MultiheadError('argument', `temperature is ${temperature}: it must be a finite number above 0`);
}

/** Rows of `struct mh_ablation`: three int32 each, as its three fields. */
function ablationFields(scope: Scope, ablations: readonly Ablation[], { layers, heads }: ModelConfig): Fields {
  const rows = ablations.flatMap(({ layer, head, kind }) => {
    requireIndex('the layer of an ablation', layer, layers);
    requireIndex('the head of an ablation', head, heads);
    const code = ABLATIONS[kind];
    if (code !== undefined) return [layer, head, code];
    const kinds = Object.keys(ABLATIONS).join(', ');
    throw new MultiheadError('argument', `an ablation has the kind ${kind}: it must be one of ${kinds}`);
  });
  return { ablations: scope.copyIn(Int32Array.from(rows)), ablation_count: ablations.length };
}

function readPositions(logits: 'none' | 'last' | 'all' | readonly number[], length: number): readonly number[] {
  if (logits === 'none') return [];
  if (logits === 'last') return [length - 1];
  if (logits === 'all') return Array.from({ length }, (_, i) => i);
  if (!Array.isArray(logits)) {
    throw new MultiheadError(
      'argument',
      `logits is ${logits}: it must be 'none', 'last', 'all' or a list of positions`,
    );
  }
  for (const position of logits) requireIndex('a position of logits', position, length);
  return [...logits];
}

function readTopK(topK: number, vocabulary: number): number {
  requireIndex('topK', topK, vocabulary + 1);
  return topK;
}

function findTopIds(
  engine: Engine,
  scope: Scope,
  vocabulary: number,
  logits: number | undefined,
  positions: readonly number[],
  count: number,
): TopIds[] {
  if (logits === undefined || count === 0) return [];
  const [ids, probabilities] = [scope.alloc(count * 4), scope.alloc(count * 4)];
  return positions.map((position, i) => {
    engine.check('mh_top_k', logits + i * vocabulary * 4, vocabulary, count, ids, probabilities);
    return {
      position,
      ids: engine.memory.int32s(ids, count),
      probabilities: engine.memory.floats(probabilities, count),
    };
  });
}
