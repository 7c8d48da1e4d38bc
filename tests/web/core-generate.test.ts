/** model.generate: token by token what full runs predict, and choices that a seed repeats. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bilingual } from '../../web/models/bilingual/index.js';
import { type GeneratedToken, type GenerateOptions, loadModel, type Model } from '../../web/src/index.js';

const TEXT = 'The cat sat on the';
const CAUSAL = { mask: { causal: true } } as const;

let model: Model;
beforeAll(async () => {
  model = await loadModel(bilingual);
});
afterAll(() => model.dispose());

async function all(input: string | readonly number[], options: GenerateOptions): Promise<GeneratedToken[]> {
  const tokens: GeneratedToken[] = [];
  for await (const token of model.generate(input, options)) tokens.push(token);
  return tokens;
}

const idsOf = (made: readonly GeneratedToken[]) => made.map(({ token }) => token.id);

it('takes at temperature 0 what a full run finds most probable, one row a layer for each token', async () => {
  const made = await all(TEXT, { maxTokens: 12, temperature: 0, stopTokens: [] });
  expect(made).toHaveLength(12);
  const ids = (await model.tokenize(TEXT, { endToken: false })).map(({ id }) => id);
  for (const [step, { token, predictions, probability, result }] of made.entries()) {
    const full = await model.run(ids, { ...CAUSAL, logits: 'last' });
    expect(result.logits).toEqual(full.logits);
    expect(predictions).toEqual(full.topK[0]?.predictions);
    expect(token.id).toBe(predictions[0]?.id);
    expect(probability).toBeCloseTo(predictions[0]?.probability ?? 0, 5);
    expect(result.computed.rows).toBe(step === 0 ? 4 * ids.length : 4);
    ids.push(token.id);
  }
  const spelled = await model.tokenize(ids);
  expect(spelled.map(({ id }) => id)).toEqual(ids);
  expect(made.at(-1)?.token).toEqual(spelled.at(-1));
});

it('gives text that joins up', async () => {
  const made = await all('苹果在桌子上，香蕉在椅子上。', { maxTokens: 8, temperature: 0, stopTokens: [] });
  expect(made.map(({ text }) => text).join('')).not.toContain(' ');
  const [first] = await all(TEXT, { maxTokens: 1, temperature: 0, stopTokens: [] });
  expect(first?.text).toBe(` ${first?.token.text}`);
});

it('chooses the same with the same seed, and otherwise with another', async () => {
  const options = { maxTokens: 15, stopTokens: [], temperature: 1.5 };
  const [one, again] = [await all(TEXT, { ...options, seed: 7 }), await all(TEXT, { ...options, seed: 7 })];
  expect(idsOf(again)).toEqual(idsOf(one));
  expect(idsOf(await all(TEXT, { ...options, seed: 8 }))).not.toEqual(idsOf(one));
  const greedy = idsOf(await all(TEXT, { ...options, temperature: 0 }));
  expect(idsOf(await all(TEXT, { ...options, topK: 1 }))).toEqual(greedy);
  const free = await all(TEXT, { ...options, topK: 0, temperature: 3 });
  expect(idsOf(free)).not.toEqual(greedy);
  for (const { token, result } of one) {
    expect(rankOf(result.logits, token.id)).toBeLessThan(40);
  }
});

function rankOf(logits: Float32Array | undefined, id: number): number {
  return logits?.filter((logit) => logit > (logits[id] ?? 0)).length ?? Number.NaN;
}

it('draws as often as the probabilities say', async () => {
  const predictions = (await model.run(TEXT, { ...CAUSAL, logits: 'last', topK: 3 })).topK[0]?.predictions ?? [];
  const total = predictions.reduce((sum, { probability }) => sum + probability, 0);
  const counts = new Map<number, number>();
  for (let seed = 0; seed < 200; seed++) {
    const [made] = await all(TEXT, { maxTokens: 1, topK: 3, seed });
    if (made) counts.set(made.token.id, (counts.get(made.token.id) ?? 0) + 1);
  }
  for (const { id, probability } of predictions) {
    const share = probability / total;
    const spread = 4 * Math.sqrt((share * (1 - share)) / 200);
    expect(Math.abs((counts.get(id) ?? 0) / 200 - share)).toBeLessThan(spread);
  }
});

describe('stops', () => {
  it('at a stop token, at maxTokens, and where the model has no more positions', async () => {
    const made = idsOf(await all(TEXT, { maxTokens: 6, temperature: 0, stopTokens: [] }));
    const stop = made[3] ?? -1;
    const until = idsOf(await all(TEXT, { maxTokens: 6, temperature: 0, stopTokens: [stop] }));
    expect(until).toEqual(made.slice(0, made.indexOf(stop)));
    expect(await all(TEXT, { maxTokens: 0 })).toEqual([]);
    const long = Array.from({ length: 62 }, (_, i) => 100 + i);
    expect(await all(long, { stopTokens: [] })).toHaveLength(2);
    expect(model.info.endTokens).toEqual([3]);
  });

  it('when the loop is left, or the signal says so', async () => {
    for await (const { token } of model.generate(TEXT)) {
      expect(token.id).toBeGreaterThan(0);
      break;
    }
    const controller = new AbortController();
    const tokens = model.generate(TEXT, { signal: controller.signal, stopTokens: [] });
    await tokens.next();
    controller.abort();
    await expect(tokens.next()).rejects.toMatchObject({ name: 'AbortError' });
    expect(await tokens.next()).toEqual({ done: true, value: undefined });
  });
});

it('passes options on to the runs', async () => {
  const run = { ablate: [{ layer: 1, head: 2, kind: 'zero' as const }], attention: 'all' as const };
  const [made] = await all(TEXT, { maxTokens: 1, run });
  const plain = await model.run(TEXT, { ...CAUSAL, ...run });
  expect(made?.result.attention).toEqual(plain.attention);
  expect(made?.result.rowStatistics).toHaveLength(0);
});

const bad: [GenerateOptions, RegExp][] = [
  [{ maxTokens: -1 }, /^maxTokens of generate is -1/],
  [{ temperature: Number.NaN }, /^temperature of generate is NaN/],
  [{ topK: 1.5 }, /^topK of generate is 1.5/],
  [{ seed: 0.5 }, /^seed of generate is 0.5/],
  [{ predictions: 9000 }, /^predictions of generate is 9000: it must be a whole number from 0 to 8016/],
  [{ stopTokens: 3 as never }, /^stopTokens of generate is 3/],
  [{ tokens: 3 } as never, /^generate has no option tokens/],
  [{ run: { stage: true } as never }, /^run has no option stage/],
];
it.each(bad)('%j is refused', async (options, message) => {
  await expect(model.generate(TEXT, options).next()).rejects.toMatchObject({
    code: 'argument',
    message: expect.stringMatching(message),
  });
});
