/**
 * What a head does, measured on its weights over many sequences: for each known pattern, how much of its attention goes
 * where the pattern says, and how much would go there if it looked at all that it sees alike.
 *
 * Weights are `[L, B, H, T, T]` under a causal mask, B sequences. Only rows with a token of a sequence count.
 */
import { type Batch, UNGRADED } from './task.js';

export const patternIds = [
  'induction',
  'answer',
  'previous',
  'same',
  'self',
  'mirror',
  'back',
  'first',
  'even',
] as const;
/**
 * - `induction`: after an earlier copy of this token, at what followed it (Olsson et al. 2022, "In-context learning and
 *   induction heads")
 * - `answer`: at an earlier copy of the token that is the right answer here, elsewhere than induction says
 * - `previous`: at the token before
 * - `same`: at earlier copies of this token
 * - `self`: at this very token
 * - `mirror`: as far before a middle as this token is after it
 * - `back`: a fixed number of tokens back, two or more
 * - `first`: at the first token, where attention goes to rest (a sink)
 * - `even`: at everything alike
 */
export type PatternId = (typeof patternIds)[number];

/** One head's best pattern. */
export interface Finding {
  readonly pattern: PatternId;
  /** Mean weight there, over the rows where the pattern says anything; of `even`, entropy over its maximum. */
  readonly score: number;
  /** Tokens back, of `back`. */
  readonly offset: number | null;
}

export interface HeadMaps {
  readonly attention: Float32Array;
  readonly layers: number;
  readonly heads: number;
  readonly batch: Batch;
}

/** A pattern needs this share of a head's attention to give it its name. */
const ENOUGH = 0.4;
/** … and must be this far above what looking everywhere alike would give. */
const ABOVE_CHANCE = 0.25;
/** By so much a place must fall behind the answer before the head is named for the answer: a place says how it is found. */
const HANDICAP = 0.15;
/** A head that spreads its attention this evenly looks at nothing in particular. */
const EVEN = 0.9;

/** Adds up weight on cells of a pattern, and what even attention would put there. */
class Tally {
  weight = 0;
  chance = 0;
  rows = 0;

  add(weight: number, cells: number, visible: number): void {
    if (cells === 0) return;
    this.weight += weight;
    this.chance += cells / visible;
    this.rows++;
  }

  /** Mean weight; 0 for a pattern that never applies, or on fewer rows than would tell anything. */
  score(least: number): number {
    return this.rows > 0 && this.rows >= least ? this.weight / this.rows : 0;
  }

  /** Mean weight above what even attention gives. */
  lift(least: number): number {
    return this.rows > 0 && this.rows >= least ? (this.weight - this.chance) / this.rows : 0;
  }
}

/** Keys that a pattern names for each row of a sequence. */
interface Named {
  readonly pattern: PatternId;
  /** Tokens back, of `back`; twice the middle, of `mirror`. */
  readonly distance: number | null;
  /** By row; empty where the pattern says nothing. */
  readonly keys: readonly (readonly number[])[];
}

function namedKeys(tokens: Int32Array, targets: Int32Array, rows: number): Named[] {
  const range = Array.from({ length: rows }, (_, i) => i);
  const before = (i: number, fits: (j: number) => boolean): number[] => range.slice(0, i + 1).filter(fits);
  const rule = (pattern: PatternId, keys: (i: number) => readonly number[], distance: number | null = null): Named => ({
    pattern,
    distance,
    keys: range.map(keys),
  });
  // Position 0 is the start token, which has no copies and a name of its own.
  const afterCopy = (i: number) => before(i, (j) => j > 1 && tokens[j - 1] === tokens[i]);
  return [
    rule('induction', (i) => (i > 0 ? afterCopy(i) : [])),
    rule('answer', (i) =>
      targets[i] === UNGRADED ? [] : before(i, (j) => tokens[j] === targets[i] && !afterCopy(i).includes(j)),
    ),
    rule('previous', (i) => (i > 1 ? [i - 1] : [])),
    rule('same', (i) => before(i, (j) => j < i && j > 0 && tokens[j] === tokens[i])),
    rule('self', (i) => (i > 0 ? [i] : [])),
    rule('first', (i) => (i > 1 ? [0] : [])),
    ...range
      .slice(2, Math.ceil(rows / 2) + 2)
      .map((offset) => rule('back', (i) => (i > offset ? [i - offset] : []), offset)),
    ...Array.from({ length: Math.max(0, 2 * rows - 8) }, (_, i) => i + 4).map((sum) =>
      rule('mirror', (i) => (2 * i > sum + 1 && sum - i > 0 ? [sum - i] : []), sum),
    ),
  ];
}

/** Rows of sequence `b` that hold a token: all until the padding. */
function rowsOf({ tokens, length }: Batch, b: number): number {
  let rows = length;
  while (rows > 1 && tokens[b * length + rows - 1] === 0) rows--;
  return rows;
}

/** Every head's best pattern, `[L, H]`; null for a head that does nothing that has a name. */
export function nameHeads({ attention, layers, heads, batch }: HeadMaps): readonly (Finding | null)[] {
  const { count, length } = batch;
  const named = Array.from({ length: count }, (_, b) => {
    const at = b * length;
    return namedKeys(batch.tokens.subarray(at, at + length), batch.targets.subarray(at, at + length), rowsOf(batch, b));
  });
  return Array.from({ length: layers * heads }, (_, index) => {
    const [layer, head] = [Math.floor(index / heads), index % heads];
    const mapOf = (b: number) => {
      const start = ((layer * count + b) * heads + head) * length * length;
      return attention.subarray(start, start + length * length);
    };
    return findPattern(named, mapOf, length);
  });
}

function findPattern(
  named: readonly (readonly Named[])[],
  mapOf: (b: number) => Float32Array,
  length: number,
): Finding | null {
  const tallies = new Map<string, { readonly rule: Named; readonly tally: Tally }>();
  const evenness = new Tally();
  named.forEach((rules, b) => {
    const map = mapOf(b);
    for (const rule of rules) {
      const key = `${rule.pattern} ${rule.distance}`;
      const known = tallies.get(key) ?? { rule, tally: new Tally() };
      tallies.set(key, known);
      rule.keys.forEach((keys, i) => {
        let weight = 0;
        for (const j of keys) weight += map[i * length + j] ?? 0;
        known.tally.add(weight, keys.length, i + 1);
      });
    }
    const rows = rules[0]?.keys.length ?? 0;
    for (let i = 2; i < rows; i++)
      evenness.add(relativeEntropy(map.subarray(i * length, i * length + i + 1)), 1, i + 1);
  });
  // On a few rows any pattern may look strong.
  const least = named.length * 2;
  let best: Finding | null = null;
  let bestLift = ABOVE_CHANCE;
  for (const { rule, tally } of tallies.values()) {
    const score = tally.score(least);
    const lift = tally.lift(least) - (rule.pattern === 'answer' ? HANDICAP : 0);
    if (score < ENOUGH || lift <= bestLift) continue;
    bestLift = lift;
    best = { pattern: rule.pattern, score, offset: rule.pattern === 'back' ? rule.distance : null };
  }
  const even = evenness.score(1);
  return best ?? (even >= EVEN ? { pattern: 'even', score: even, offset: null } : null);
}

/** Entropy of a row over that of even attention, 0 to 1. */
function relativeEntropy(row: Float32Array): number {
  let nats = 0;
  for (const weight of row) if (weight > 0) nats -= weight * Math.log(weight);
  return row.length > 1 ? nats / Math.log(row.length) : 0;
}

/** Mean entropy of every head's rows over its maximum, `[L, H]`: 0 looks at one token, 1 at all alike. */
export function headEntropies({ attention, layers, heads, batch }: HeadMaps): Float32Array {
  const { count, length } = batch;
  return Float32Array.from({ length: layers * heads }, (_, index) => {
    const [layer, head] = [Math.floor(index / heads), index % heads];
    let sum = 0;
    let rows = 0;
    for (let b = 0; b < count; b++) {
      const start = ((layer * count + b) * heads + head) * length * length;
      for (let i = 1; i < rowsOf(batch, b); i++, rows++)
        sum += relativeEntropy(attention.subarray(start + i * length, start + i * length + i + 1));
    }
    return rows > 0 ? sum / rows : 0;
  });
}

/** How alike the heads of a layer look: mean cosine of every two maps, `[L]`; 1 for layers of one head. */
export function headSimilarities({ attention, layers, heads, batch }: HeadMaps): Float32Array {
  const cells = batch.length * batch.length;
  return Float32Array.from({ length: layers }, (_, layer) => {
    let sum = 0;
    let pairs = 0;
    for (let b = 0; b < batch.count; b++) {
      const maps = Array.from({ length: heads }, (_, head) => {
        const start = ((layer * batch.count + b) * heads + head) * cells;
        return attention.subarray(start, start + cells);
      });
      for (let one = 0; one < heads; one++)
        for (let other = 0; other < one; other++, pairs++)
          sum += cosine(maps[one] as Float32Array, maps[other] as Float32Array);
    }
    return pairs > 0 ? sum / pairs : 1;
  });
}

function cosine(a: Float32Array, b: Float32Array): number {
  let [product, squaresA, squaresB] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [a[i] as number, b[i] as number];
    product += x * y;
    squaresA += x * x;
    squaresB += y * y;
  }
  return product / Math.sqrt(squaresA * squaresB);
}
