/** One forward pass of a model with its statistics: options to `struct mh_model_pass`, and the results back. */
import type { ModelConfig } from './config.js';
import type { Engine } from './engine.js';
import { MultiheadError } from './errors.js';
import { windowFields } from './masks.js';
import type { Fields, Memory, Scope } from './memory.js';
import { requireIndex } from './model-input.js';
import type { Ablation, AblationKind, MaskOptions, RunOptions } from './types.js';

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
  readonly logitPositions: readonly number[];
  readonly topIds: readonly TopIds[];
  readonly maskedRows: number;
  readonly checkedFinite: boolean;
  /** Of the forward pass and the statistics. */
  readonly milliseconds: number;
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
 * Runs token ids through the model at the address `model`.
 *
 * @throws {MultiheadError} `argument` or `shape` for an option outside its range, `nonfinite`, `memory`, `crashed`.
 */
export function runPass(
  engine: Engine,
  model: number,
  config: ModelConfig,
  tokens: readonly number[],
  options: RunOptions,
): PassResult {
  const length = tokens.length;
  const logitPositions = readPositions(options.logits ?? 'none', length);
  const checkedFinite = options.checkFinite ?? true;
  const topK = readTopK(options.topK ?? DEFAULT_TOP_K, config.vocabulary);
  return engine.memory.scope((scope) => {
    const results = new ResultBlock(scope, resultSizes(engine, config, length, logitPositions.length, options));
    const mask = readMask(scope, options.mask ?? {}, config, length);
    // Scores are always computed, for their deviation is among the statistics.
    const scores = results.address('scores') ?? scope.alloc(results.bytes('attention'));
    const pass = scope.struct('mh_model_pass', {
      tokens: scope.copyIn(Int32Array.from(tokens)),
      length,
      mask: mask.fields,
      hidden_layer_stride: mask.layerStride,
      ...scaleFields(options.scale ?? 'default'),
      temperature: readTemperature(options.temperature ?? 1),
      ...ablationFields(scope, options.ablate ?? [], config),
      attention: results.address('attention'),
      raw_scores: results.address('rawScores'),
      scores,
      hidden: results.address('hidden'),
      logits: results.address('logits'),
      logit_rows: scope.copyIn(Int32Array.from(logitPositions)),
      logit_count: logitPositions.length,
      check_finite: checkedFinite,
    });
    const start = performance.now();
    const report = engine.forward(scope, 'mh_model', model, pass);
    computeStatistics(engine, scope, config, length, mask, scores, results);
    const milliseconds = performance.now() - start;
    const topIds = findTopIds(engine, scope, config.vocabulary, results.address('logits'), logitPositions, topK);
    return {
      arrays: results.read(engine.memory),
      logitPositions,
      topIds,
      maskedRows: report.maskedRows,
      checkedFinite,
      milliseconds,
    };
  });
}

function resultSizes(
  { statisticNames }: Engine,
  { layers, heads, embedDim, vocabulary }: ModelConfig,
  length: number,
  logitRows: number,
  options: RunOptions,
): Record<string, number> {
  const maps = layers * heads * length * length;
  return {
    attention: maps,
    rowStatistics: layers * heads * length * statisticNames.row.length,
    headStatistics: layers * heads * statisticNames.head.length,
    ...(options.stages && { rawScores: maps, scores: maps }),
    ...(options.hidden && { hidden: (layers + 1) * length * embedDim }),
    ...(logitRows > 0 && { logits: logitRows * vocabulary }),
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

  bytes(name: keyof ResultArrays): number {
    return (this.#sizes[name] ?? 0) * 4;
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

function computeStatistics(
  engine: Engine,
  scope: Scope,
  { layers, heads }: ModelConfig,
  length: number,
  mask: ModelMask,
  scores: number,
  results: ResultBlock,
): void {
  const ofLayer = (address: number | undefined, bytes: number, layer: number) =>
    (address ?? 0) + (bytes / layers) * layer;
  for (let layer = 0; layer < layers; layer++) {
    const part = (name: keyof ResultArrays) => ofLayer(results.address(name), results.bytes(name), layer);
    const statistics = scope.struct('mh_statistics', {
      batch: 1,
      heads,
      queries: length,
      keys: length,
      weights: part('attention'),
      scores: ofLayer(scores, results.bytes('attention'), layer),
      mask: scope.struct('mh_mask', maskOfLayer(mask, layer)),
      row_statistics: part('rowStatistics'),
      head_statistics: part('headStatistics'),
    });
    engine.check('mh_statistics_compute', statistics);
  }
}

function maskOfLayer({ fields, layerStride }: ModelMask, layer: number): Fields {
  return layerStride === 0 ? fields : { ...fields, hidden: Number(fields.hidden) + layer * layerStride };
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
