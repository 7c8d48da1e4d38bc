/** One look at a network that is learning: every head's attention weights, and what is measured of them. */
import type { Engine } from '../core/engine.js';
import type { Fields, Scope } from '../core/memory.js';
import { checkOptions } from '../core/options.js';
import type { StatisticNames } from '../core/types.js';
import { type Batch, type BatchSizes, batchFields, sizesOf } from './batch.js';
import type { Network } from './settings.js';

export interface ProbeOptions {
  /** Also return logits. Default false. */
  readonly logits?: boolean;
}

export interface Probe {
  readonly layers: number;
  readonly batch: number;
  readonly heads: number;
  /** T of the weights: of a classifier, with its class token. */
  readonly length: number;
  /** [L, B, H, T, T], weights after softmax; no dropout. */
  readonly attention: Float32Array;
  /** [L, B, H, T, names.row.length] */
  readonly rowStatistics: Float32Array;
  /** [L, B, H, names.head.length], such as the entropy of each head. */
  readonly headStatistics: Float32Array;
  readonly statisticNames: StatisticNames;
  /** S of an encoder-decoder's source. */
  readonly sourceLength?: number;
  /** [L, B, H, T, S] of an encoder-decoder. */
  readonly crossAttention?: Float32Array;
  /** [encoder layers, B, H, S, S] of an encoder-decoder. */
  readonly encoderAttention?: Float32Array;
  /** [B, T, V]; of a classifier [B, V]. */
  readonly logits?: Float32Array;
}

/** Results in wasm memory, by the names of `Probe`. */
type Room = Readonly<Record<string, { readonly address: number; readonly length: number }>>;

export function runProbe(
  engine: Engine,
  trainer: number,
  network: Network,
  batch: Batch,
  options: ProbeOptions,
): Probe {
  checkOptions('probe', options, { logits: true });
  const { targets, supervision, ...asked } = batch;
  const sizes = sizesOf(asked, network);
  const { memory, statisticNames } = engine;
  return memory.scope((scope) => {
    const room = makeRoom(scope, lengthsOf(engine, network, sizes, options));
    const scores = scope.alloc((room.attention?.length ?? 0) * 4);
    const fields = batchFields(memory, scope, asked, sizes, network);
    const pass = scope.struct('mh_training_pass', {
      ...fields,
      attention: room.attention?.address,
      scores,
      cross_attention: room.crossAttention?.address,
      encoder_attention: room.encoderAttention?.address,
      logits: room.logits?.address,
    });
    engine.check('mh_trainer_evaluate', trainer, pass, scope.struct('mh_training_result'));
    measure(engine, scope, network, sizes, fields, scores, room);
    const arrays = Object.entries(room).map(([name, { address, length }]) => [name, memory.floats(address, length)]);
    return {
      layers: network.layers,
      heads: network.heads,
      batch: sizes.batch,
      length: sizes.queries,
      statisticNames,
      ...(sizes.source > 0 && { sourceLength: sizes.source }),
      ...(Object.fromEntries(arrays) as Pick<Probe, 'attention' | 'rowStatistics' | 'headStatistics'>),
    };
  });
}

function lengthsOf(
  { statisticNames }: Engine,
  { architecture, layers, encoderLayers, heads, vocabulary }: Network,
  { batch, length, queries, source }: BatchSizes,
  options: ProbeOptions,
): Record<string, number> {
  const perHead = layers * batch * heads;
  return {
    attention: perHead * queries * queries,
    rowStatistics: perHead * queries * statisticNames.row.length,
    headStatistics: perHead * statisticNames.head.length,
    ...(source > 0 && {
      crossAttention: perHead * queries * source,
      encoderAttention: encoderLayers * batch * heads * source * source,
    }),
    ...(options.logits && { logits: batch * (architecture === 'classifier' ? 1 : length) * vocabulary }),
  };
}

function makeRoom(scope: Scope, lengths: Readonly<Record<string, number>>): Room {
  return Object.fromEntries(
    Object.entries(lengths).map(([name, length]) => [name, { address: scope.alloc(length * 4), length }]),
  );
}

/** The statistics of all layers, a call for each. */
function measure(
  engine: Engine,
  scope: Scope,
  { layers, heads }: Network,
  { batch, queries }: BatchSizes,
  fields: Fields,
  scores: number,
  room: Room,
): void {
  const shared = scope.struct('mh_mask', fields.mask as Fields);
  const own = fields.layer_masks as number | undefined;
  const ofLayer = (name: string, layer: number) => {
    const { address = 0, length = 0 } = room[name] ?? {};
    return address + (length / layers) * layer * 4;
  };
  for (let layer = 0; layer < layers; layer++) {
    const statistics = scope.struct('mh_statistics', {
      batch,
      heads,
      queries,
      keys: queries,
      weights: ofLayer('attention', layer),
      scores: scores + batch * heads * queries * queries * layer * 4,
      mask: own === undefined ? shared : own + layer * engine.memory.sizeOf('mh_mask'),
      row_statistics: ofLayer('rowStatistics', layer),
      head_statistics: ofLayer('headStatistics', layer),
    });
    engine.check('mh_statistics_compute', statistics);
  }
}
