/** One row of attention as arithmetic, from the engine's q·k to its weights: each step follows from the one above. Pure. */

export type StepKind = 'raw' | 'scaled' | 'heated' | 'uniform' | 'exponents' | 'weights';

export interface RowStep {
  readonly kind: StepKind;
  /** `[T]` */
  readonly values: readonly number[];
}

/** What the engine said of one row, arrays `[T]`, and what it was asked for. */
export interface ScoredRow {
  readonly rawScores: Float32Array;
  /** rawScores · factor / temperature, −Infinity where hidden. */
  readonly scores: Float32Array;
  readonly weights: Float32Array;
  readonly factor: number;
  readonly temperature: number;
  /** The head is ablated so that it looks equally at every visible key: its scores are 0 whatever q·k is. */
  readonly uniform: boolean;
}

/** Can the row see any key at all? */
export const seesKey = (scores: Float32Array): boolean => scores.some((score) => score !== Number.NEGATIVE_INFINITY);

/** A score before the temperature. */
const scaledScore = (rawScore: number, factor: number, hidden: boolean): number =>
  hidden ? Number.NEGATIVE_INFINITY : rawScore * factor;

/** The steps there are; without a temperature the scaled scores are the engine's own. */
export function rowSteps(row: ScoredRow): readonly RowStep[] {
  const scores: RowStep[] = row.uniform ? [{ kind: 'uniform', values: [...row.scores] }] : scoreSteps(row);
  const weights: RowStep = { kind: 'weights', values: [...row.weights] };
  if (!seesKey(row.scores)) return [...scores, weights];
  const max = row.scores.reduce((largest, score) => Math.max(largest, score), Number.NEGATIVE_INFINITY);
  const exponents = Array.from(row.scores, (score) => Math.exp(score - max));
  return [...scores, { kind: 'exponents', values: exponents }, weights];
}

function scoreSteps({ rawScores, scores, factor, temperature }: ScoredRow): RowStep[] {
  const raw: RowStep = { kind: 'raw', values: [...rawScores] };
  if (temperature === 1) return [raw, { kind: 'scaled', values: [...scores] }];
  const scaled = Array.from(rawScores, (score, key) =>
    scaledScore(score, factor, scores[key] === Number.NEGATIVE_INFINITY),
  );
  return [raw, { kind: 'scaled', values: scaled }, { kind: 'heated', values: [...scores] }];
}
