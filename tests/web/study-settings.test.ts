/** Settings of a training as pairs of a link, and back. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  countParameters,
  defaultSettings,
  exampleCounts,
  fitHeads,
  headCounts,
  pairsToSettings,
  ranges,
  type Settings,
  settingsToPairs,
  widths,
} from '../../web/src/study/settings.js';
import { taskIds } from '../../web/src/study/tasks/index.js';

const whole = ({ min, max }: { readonly min: number; readonly max: number }) => fc.integer({ min, max });
const real = ({ min, max }: { readonly min: number; readonly max: number }) =>
  fc.double({ min, max, noNaN: true }).map((value) => Math.abs(value));

const anySettings: fc.Arbitrary<Settings> = fc
  .record({
    task: fc.constantFrom(...taskIds),
    seed: whole(ranges.seed),
    layers: whole(ranges.layers),
    heads: whole(ranges.heads),
    width: fc.constantFrom(...widths),
    norm: fc.constantFrom('pre' as const, 'post' as const),
    scaled: fc.boolean(),
    taught: fc.boolean(),
    attentionDropout: real(ranges.attentionDropout),
    residualDropout: real(ranges.residualDropout),
    optimiser: fc.constantFrom('adamw' as const, 'sgd' as const),
    rate: real(ranges.rate),
    warmUp: whole(ranges.warmUp),
    steps: whole(ranges.steps),
    clip: real(ranges.clip),
    decay: real(ranges.decay),
    batch: whole(ranges.batch),
    examples: fc.constantFrom(...exampleCounts),
  })
  .map(fitHeads);

test('any settings come back from their link', () => {
  fc.assert(
    fc.property(anySettings, (settings) => {
      expect(pairsToSettings(settingsToPairs(settings))).toEqual({ settings, problems: [] });
    }),
  );
});

test('the default needs no words', () => {
  expect(settingsToPairs(defaultSettings)).toEqual([]);
  expect(pairsToSettings([])).toEqual({ settings: defaultSettings, problems: [] });
});

test('a second run is told by what differs from the first', () => {
  const first = { ...defaultSettings, heads: 8 };
  const second = { ...first, scaled: false };
  const pairs = settingsToPairs(second, first);
  expect(pairs).toEqual([['scaled', '0']]);
  expect(pairsToSettings(pairs, first)).toEqual({ settings: second, problems: [] });
});

test.each([
  ['task', 'poetry'],
  ['seed', '0'],
  ['seed', '1.5'],
  ['layers', '99'],
  ['layers', '-1'],
  ['layers', ''],
  ['width', '65'],
  ['norm', 'none'],
  ['scaled', 'yes'],
  ['rate', 'NaN'],
  ['rate', '1e999'],
  ['rate', '0'],
  ['steps', '1e9'],
  ['attentionDropout', '1'],
  ['clip', '-1'],
  ['batch', '100000'],
  ['examples', '3'],
])('%s=%s is not taken, and named', (name, value) => {
  expect(pairsToSettings([[name, value]])).toEqual({ settings: defaultSettings, problems: [name] });
  expect(pairsToSettings([[name, null]]).problems).toEqual([name]);
});

test('heads that do not divide the width become the nearest number that does', () => {
  const { settings, problems } = pairsToSettings([
    ['width', '48'],
    ['heads', '7'],
  ]);
  expect(settings).toMatchObject({ width: 48, heads: 6 });
  expect(problems).toEqual(['heads']);
  for (const width of widths) for (const heads of headCounts(width)) expect(width % heads).toBe(0);
});

test('a model has as many parameters with many heads as with one', () => {
  const counts = headCounts(64).map((heads) => countParameters({ ...defaultSettings, heads }));
  expect(new Set(counts).size).toBe(1);
});
