/** The table of steps against the real engine: what it writes must follow, row by row, from what it writes above. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bilingual } from '../../web/models/bilingual/index.js';
import { loadModel, type Model, type RunOptions } from '../../web/src/index.js';
import { type RowStep, rowSteps, seesKey } from '../../web/src/view/row-steps.js';

const text = 'The cat sat on the mat.';
const layer = 1;
const head = 2;
const query = 4;
/** Scores are f32 sums in the engine; the table has two decimals. */
const digits = 4;

let model: Model;
beforeAll(async () => {
  model = await loadModel(bilingual);
});
afterAll(() => model?.dispose());

async function stepsOf(options: RunOptions): Promise<Partial<Record<RowStep['kind'], readonly number[]>>> {
  const result = await model.run(text, { mask: { causal: true }, stages: true, ...options });
  const size = result.tokens.length;
  const start = ((layer * result.heads + head) * size + query) * size;
  const row = (data: Float32Array | undefined) => data?.subarray(start, start + size) ?? new Float32Array();
  const { scale } = options;
  const factor = typeof scale === 'number' ? scale : scale === 'none' ? 1 : 1 / Math.sqrt(model.info.headDim);
  const steps = rowSteps({
    rawScores: row(result.rawScores),
    scores: row(result.scores),
    weights: row(result.attention),
    factor,
    temperature: options.temperature ?? 1,
    uniform: options.ablate?.some(({ kind }) => kind === 'uniform') ?? false,
  });
  return Object.fromEntries(steps.map(({ kind, values }) => [kind, values]));
}

function expectRow(found: readonly number[] | undefined, expected: readonly number[]): void {
  expect(found).toHaveLength(expected.length);
  expected.forEach((value, key) => {
    if (Number.isFinite(value)) expect(found?.[key]).toBeCloseTo(value, digits);
    else expect(found?.[key]).toBe(value);
  });
}

/** From scores to weights, as the last two rows of the table say. */
function expectSoftmax(scores: readonly number[], steps: Awaited<ReturnType<typeof stepsOf>>): void {
  const max = Math.max(...scores);
  expectRow(
    steps.exponents,
    scores.map((score) => Math.exp(score - max)),
  );
  const exponents = steps.exponents ?? [];
  const sum = exponents.reduce((total, value) => total + value, 0);
  expectRow(
    steps.weights,
    exponents.map((value) => value / sum),
  );
}

describe('the steps of a row', () => {
  const hidden = (value: number, key: number) => (key > query ? Number.NEGATIVE_INFINITY : value);

  for (const temperature of [1, 0.1, 0.5, 2, 10])
    for (const scale of ['default', 'none', 0.4, -0.7] as const)
      it(`follow from one another with scale ${scale} and temperature ${temperature}`, async () => {
        const steps = await stepsOf({ scale, temperature });
        const factor = typeof scale === 'number' ? scale : scale === 'none' ? 1 : 1 / Math.sqrt(model.info.headDim);
        const raw = steps.raw ?? [];
        expect(raw.some((value) => Math.abs(value) > 0.1)).toBe(true);
        expectRow(
          steps.scaled,
          raw.map((value, key) => hidden(value * factor, key)),
        );
        const scaled = steps.scaled ?? [];
        expect(steps.heated === undefined).toBe(temperature === 1);
        if (steps.heated)
          expectRow(
            steps.heated,
            scaled.map((value) => value / temperature),
          );
        expectSoftmax(steps.heated ?? scaled, steps);
      });

  it('of a head that looks equally say so instead of q·k', async () => {
    const steps = await stepsOf({ ablate: [{ layer, head, kind: 'uniform' }], temperature: 2 });
    expect(Object.keys(steps)).toEqual(['uniform', 'exponents', 'weights']);
    expectSoftmax(steps.uniform ?? [], steps);
    expectRow(
      steps.weights,
      Array.from({ length: steps.weights?.length ?? 0 }, (_, key) => (key > query ? 0 : 1 / (query + 1))),
    );
  });

  it('of a row that sees no key have no softmax', async () => {
    const size = (await model.tokenize(text, { endToken: false })).length;
    const mask = { causal: true, padding: Array.from({ length: size }, (_, key) => key) };
    const steps = await stepsOf({ mask });
    expect(Object.keys(steps)).toEqual(['raw', 'scaled', 'weights']);
    expect(seesKey(Float32Array.from(steps.scaled ?? []))).toBe(false);
    expect(steps.weights?.every((weight) => weight === 0)).toBe(true);
  });
});
