/** From a look to what is drawn: all heads of a kind of attention, and the map of one head or of a layer's mean. Pure. */
import type { Look } from '../../study/translator.js';
import { weightMax } from '../pictures/colour.js';
import type { EntropyValues, HeadRef, PictureToken } from '../pictures/types.js';

/** Of the translation on the source, of the source on itself, of the translation on itself. */
export const kinds = ['cross', 'encoder', 'decoder'] as const;
export type Kind = (typeof kinds)[number];

/** One head, or the mean over all heads of a layer. */
export interface Chosen {
  readonly layer: number;
  readonly head: number | 'mean';
}

/** What can look, and where: T queries, S keys. */
export interface Attention {
  readonly kind: Kind;
  readonly layers: number;
  readonly heads: number;
  readonly queries: readonly PictureToken[];
  readonly keys: readonly PictureToken[];
  /** [layers, heads, T, S] */
  readonly weights: Float32Array;
  /** [layers, heads], mean entropy of the rows, normalised. */
  readonly entropies: EntropyValues;
}

export interface ShownMap {
  /** [T, S] */
  readonly weights: Float32Array;
  /** [T, S], 0 where a token was not yet there; null: all is visible. */
  readonly visible: Uint8Array | null;
  /** A round number that no weight is above. */
  readonly max: number;
  readonly rowEntropy: EntropyValues;
}

/** A token that is not written yet. */
export const nextToken: PictureToken = { text: '…', special: true };

/** A row is named by the token that it writes. */
function writtenRows({ written, read }: Look): readonly PictureToken[] {
  return read.map((_, row) => written[row] ?? nextToken);
}

export function attentionOf(look: Look, kind: Kind): Attention {
  const { heads } = look;
  const parts = {
    cross: { layers: look.layers, queries: writtenRows(look), keys: look.source, weights: look.cross },
    encoder: { layers: look.encoderLayers, queries: look.source, keys: look.source, weights: look.encoder },
    decoder: { layers: look.layers, queries: writtenRows(look), keys: look.read, weights: look.decoder },
  };
  const part = parts[kind];
  const size = part.queries.length * part.keys.length;
  const values = Float32Array.from({ length: part.layers * heads }, (_, map) =>
    mean(normalised(part.weights.subarray(map * size, (map + 1) * size), part.keys.length, kind === 'decoder')),
  );
  return { kind, heads, ...part, entropies: { values, max: 1, unit: 'normalised' } };
}

export function mapOf(attention: Attention, chosen: Chosen): ShownMap {
  const { kind, queries, keys } = attention;
  const weights = chosenWeights(attention, chosen);
  const causal = kind === 'decoder';
  const bits = entropies(weights, keys.length);
  return {
    weights,
    visible: causal
      ? Uint8Array.from({ length: weights.length }, (_, cell) => Number(cell % keys.length <= cell / keys.length))
      : null,
    max: weightMax(weights),
    rowEntropy: { values: bits, max: Math.log2(Math.max(2, causal ? queries.length : keys.length)), unit: 'bits' },
  };
}

/** The nearest choice that the network has. */
export function fitChoice({ layer, head }: Chosen, { layers, heads }: Pick<Attention, 'layers' | 'heads'>): Chosen {
  return { layer: Math.min(layer, layers - 1), head: head === 'mean' ? head : Math.min(head, heads - 1) };
}

/** The heads that a choice is of. */
export function headsOf({ layer, head }: Chosen, heads: number): readonly HeadRef[] {
  if (head !== 'mean') return [{ layer, head }];
  return Array.from({ length: heads }, (_, each) => ({ layer, head: each }));
}

function chosenWeights({ queries, keys, heads, weights }: Attention, chosen: Chosen): Float32Array {
  const size = queries.length * keys.length;
  const maps = headsOf(chosen, heads).map(({ layer, head }) => {
    const start = (layer * heads + head) * size;
    return weights.subarray(start, start + size);
  });
  return Float32Array.from({ length: size }, (_, cell) => mean(maps.map((map) => map[cell] ?? 0)));
}

/** Bits of each row. */
function entropies(weights: Float32Array, keys: number): Float32Array {
  return Float32Array.from({ length: weights.length / keys }, (_, row) =>
    weights
      .subarray(row * keys, (row + 1) * keys)
      .reduce((bits, weight) => bits - (weight > 0 ? weight * Math.log2(weight) : 0), 0),
  );
}

/** Of each row that has a choice: its entropy as a share of the largest it can have. */
function normalised(weights: Float32Array, keys: number, causal: boolean): readonly number[] {
  return [...entropies(weights, keys)].flatMap((bits, row) => {
    const seen = causal ? row + 1 : keys;
    return seen > 1 ? [bits / Math.log2(seen)] : [];
  });
}

const mean = (values: readonly number[]): number =>
  values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
