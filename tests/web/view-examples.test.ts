import { beforeAll, describe, expect, it } from 'vitest';
import { bilingual } from '../../web/models/bilingual/index.js';
import type { Model } from '../../web/src/core/types.js';
import { examples, withExample } from '../../web/src/view/examples.js';
import { shownMaps, strongestKey } from '../../web/src/view/maps.js';
import { defaultState, runOptions } from '../../web/src/view/state.js';
import { loadModel } from '../../web/src/worker/load-model.js';

/** What each example is there to show: its pinned token, and where that looks most. */
const shows: readonly (readonly [query: string, key: string])[] = [
  ['it', 'cat'],
  ['the', 'to'],
  ['.', 'banana'],
  ['他', '小明'],
  ['在', '上'],
  ['我们', '公园'],
];

describe('examples, in the model that comes with the page', () => {
  let model: Model;
  beforeAll(async () => {
    model = await loadModel(bilingual, { thread: 'here' });
  });

  it.each(examples.map((example, index) => [example.text, example, shows[index]] as const))(
    '%s',
    async (text, example, expected) => {
      const state = withExample(defaultState, example);
      const tokens = await model.tokenize(text, { endToken: example.preset !== 'causal' });
      const result = await model.run(text, runOptions(state, tokens.length, model.info));
      const [map] = shownMaps({ state, result, baseline: null, roundingError: null, arrived: 0 }, state);
      const key = map && strongestKey(map, example.query, result.tokens.length);
      expect([result.tokens[example.query]?.text, result.tokens[key ?? -1]?.text]).toEqual(expected);
    },
  );

  it.each([
    [1, 'book'],
    [4, '桌子'],
  ])('example %i: what was told is predicted, %s', async (index, word) => {
    const example = examples[index];
    if (!example) throw new Error(`no example ${index}`);
    const state = withExample(defaultState, example);
    const tokens = await model.tokenize(example.text, { endToken: false });
    const result = await model.run(example.text, runOptions(state, tokens.length, model.info));
    expect(result.topK[0]?.predictions[0]?.text).toBe(word);
  });
});
