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
  readonly length: number;
  /** [L, B, H, T, T], weights after softmax; no dropout. */
  readonly attention: Float32Array;
  /** [L, B, H, T, names.row.length] */
  readonly rowStatistics: Float32Array;
  /** [L, B, H, names.head.length], such as the entropy of each head. */
  readonly headStatistics: Float32Array;
  readonly statisticNames: StatisticNames;
  /** [B, T, V] */
  readonly logits?: Float32Array;
}

export function runProbe(
  engine: Engine,
  trainer: number,
  network: Network,
  batch: Batch,
  options: ProbeOptions,
): Probe {
  checkOptions('probe', options, { logits: true });
  const { targets, ...asked } = batch;
  const sizes = sizesOf(batch);
  const { memory, statisticNames } = engine;
  const heads = network.layers * sizes.batch * network.heads;
  const maps = heads * sizes.length * sizes.length;
  const rows = heads * sizes.length * statisticNames.row.length;
  const perHead = heads * statisticNames.head.length;
  const logits = options.logits ? sizes.batch * sizes.length * network.vocabulary : 0;
  return memory.scope((scope) => {
    const out = {
      attention: scope.alloc(maps * 4),
      scores: scope.alloc(maps * 4),
      rows: scope.alloc(rows * 4),
      heads: scope.alloc(perHead * 4),
    };
    const logitsOut = logits > 0 ? scope.alloc(logits * 4) : undefined;
    const fields = batchFields(scope, asked, sizes, network);
    const pass = scope.struct('mh_training_pass', {
      ...fields,
      attention: out.attention,
      scores: out.scores,
      logits: logitsOut,
    });
    engine.check('mh_trainer_evaluate', trainer, pass, scope.struct('mh_training_result'));
    measure(engine, scope, network, sizes, fields.mask as Fields, out);
    return {
      layers: network.layers,
      heads: network.heads,
      ...sizes,
      attention: memory.floats(out.attention, maps),
      rowStatistics: memory.floats(out.rows, rows),
      headStatistics: memory.floats(out.heads, perHead),
      statisticNames,
      ...(logitsOut !== undefined && { logits: memory.floats(logitsOut, logits) }),
    };
  });
}

interface Addresses {
  readonly attention: number;
  readonly scores: number;
  readonly rows: number;
  readonly heads: number;
}

/** The statistics of all layers: to `mh_statistics_compute`, whose masks are for each sequence, each layer is a call. */
function measure(
  engine: Engine,
  scope: Scope,
  { layers, heads }: Network,
  { batch, length }: BatchSizes,
  mask: Fields,
  out: Addresses,
): void {
  const { row, head } = engine.statisticNames;
  const maskAt = scope.struct('mh_mask', mask);
  const perLayer = batch * heads;
  for (let layer = 0; layer < layers; layer++) {
    const before = layer * perLayer * 4;
    const statistics = scope.struct('mh_statistics', {
      batch,
      heads,
      queries: length,
      keys: length,
      weights: out.attention + before * length * length,
      scores: out.scores + before * length * length,
      mask: maskAt,
      row_statistics: out.rows + before * length * row.length,
      head_statistics: out.heads + before * head.length,
    });
    engine.check('mh_statistics_compute', statistics);
  }
}
