/** Results of an attention call: room for them in wasm memory, and their copies for the caller. */
import type { AttentionSizes } from './masks.js';
import type { Fields, Memory, Scope } from './memory.js';
import { checkOptions } from './options.js';
import { int32List, sizeOf } from './tensor.js';
import type { Tensor, WeightsRows } from './types.js';

/** A tensor of results in wasm memory. */
export interface Output {
  readonly address: number;
  /** A copy. */
  read(): Tensor;
}

export type MakeRoom = (shape: readonly number[]) => Output;

export function makeRoom(memory: Memory, scope: Scope): MakeRoom {
  return (shape) => {
    const length = sizeOf(shape);
    const address = scope.alloc(length * 4);
    return { address, read: () => ({ data: memory.floats(address, length), shape: [...shape] }) };
  };
}

export interface WeightsWanted {
  readonly mode: 'none' | 'all' | 'mean';
  /** Takes the place of `mode`. */
  readonly rows: WeightsRows | undefined;
  readonly sizes: AttentionSizes;
  /** Shape of the weights in this mode; its last size is the number of columns. */
  readonly shape: readonly number[];
}

/** Fields of `struct mh_weights_out`, and the weights to read after the call. */
export function weightsOut(
  scope: Scope,
  room: MakeRoom,
  wanted: WeightsWanted,
): { fields: Fields; read(): Tensor | null } {
  if (wanted.rows) return chosenRows(scope, room, wanted.rows, wanted);
  if (wanted.mode === 'none') return { fields: {}, read: () => null };
  const output = room(wanted.shape);
  return { fields: { mode: wanted.mode === 'all' ? 1 : 2, data: output.address }, read: output.read };
}

function chosenRows(scope: Scope, room: MakeRoom, chosen: WeightsRows, { sizes, shape }: WeightsWanted) {
  checkOptions('weightsRows', chosen, { heads: true, rows: true });
  const headCount = chosen.heads?.length ?? sizes.heads;
  const rowCount = chosen.rows?.length ?? sizes.queries;
  const output = room([sizes.batch, headCount, rowCount, shape.at(-1) ?? 0]);
  const fields = {
    mode: 3,
    data: output.address,
    heads: chosen.heads && scope.copyIn(int32List('weightsRows.heads', chosen.heads)),
    head_count: headCount,
    rows: chosen.rows && scope.copyIn(int32List('weightsRows.rows', chosen.rows)),
    row_count: rowCount,
  };
  return { fields, read: output.read };
}

/** Fields `raw_scores` and `scores` of a pass, if wanted, and the two to read after it. */
export function stagesOut(room: MakeRoom, wanted: boolean | undefined, shape: readonly number[]) {
  if (!wanted) return { fields: {}, read: () => ({}) };
  const [rawScores, scores] = [room(shape), room(shape)];
  return {
    fields: { raw_scores: rawScores.address, scores: scores.address },
    read: () => ({ rawScores: rawScores.read(), scores: scores.read() }),
  };
}
