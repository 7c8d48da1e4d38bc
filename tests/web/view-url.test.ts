import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cellCode, presets, type Scope } from '../../web/src/view/mask.js';
import {
  ablationKinds,
  combinations,
  defaultState,
  entropyUnits,
  type LensState,
  palettes,
  precisions,
  scaleTypes,
  views,
} from '../../web/src/view/state.js';
import { hashPairs, hashToState, stateToHash } from '../../web/src/view/url.js';

const restore = (state: LensState) => hashToState(`#${stateToHash(state)}`);
const position = fc.nat(4095);
const head = fc.record({ layer: fc.nat(30), head: fc.nat(30) });
const scope = fc.oneof(
  fc.constant<Scope>('all'),
  head.map(({ layer, head }): Scope => `${layer}.${head}`),
);
const cells = fc
  .array(fc.tuple(fc.record({ query: position, key: position }).map(cellCode), fc.boolean()), { minLength: 1 })
  .map((list) => new Map(list));
const byHead = { selector: ({ layer, head }: { layer: number; head: number }) => `${layer}.${head}` };
const anyState: fc.Arbitrary<LensState> = fc.record({
  text: fc.string({ unit: 'grapheme' }),
  model: fc.constantFrom('', 'https://example.org/models/a b?c=d&e#f', './models/中文/'),
  heads: fc.uniqueArray(head, { minLength: 1, ...byHead }),
  combine: fc.constantFrom(...combinations),
  mask: fc.record({
    preset: fc.constantFrom(...presets),
    window: position,
    prefix: position,
    padding: fc.uniqueArray(position).map((list) => list.sort((a, b) => a - b)),
    painted: fc.array(fc.tuple(scope, cells)).map((list) => new Map(list)),
  }),
  history: fc.constant(defaultState.history),
  tool: fc.constant(defaultState.tool),
  tokenTool: fc.constant(defaultState.tokenTool),
  asTable: fc.boolean(),
  precision: fc.constantFrom(...precisions),
  paintScope: fc.constant(defaultState.paintScope),
  scale: fc.oneof(
    fc.constantFrom('default' as const, 'none' as const),
    fc.double({ min: -100, max: 100, noNaN: true }),
  ),
  temperature: fc.double({ min: 0.1, max: 10, noNaN: true }),
  ablations: fc.uniqueArray(
    fc.record({ layer: fc.nat(30), head: fc.nat(30), kind: fc.constantFrom(...ablationKinds) }),
    {
      ...byHead,
    },
  ),
  query: fc.option(position),
  replaced: fc.option(position),
  view: fc.constantFrom(...views),
  unit: fc.constantFrom(...entropyUnits),
  palette: fc.constantFrom(...palettes),
  scaleType: fc.constantFrom(...scaleTypes),
});

describe('state and hash', () => {
  it('any state comes back exactly', () => {
    fc.assert(
      fc.property(anyState, (state) => {
        const restored = restore(state);
        expect(restored.problems).toEqual([]);
        // −0 and 0 are the same scale to the engine and to a reader.
        expect({ ...restored.state, scale: restored.state.scale || 0 }).toEqual({ ...state, scale: state.scale || 0 });
      }),
    );
  });

  it.each(['', '苹果在桌子上，香蕉在椅子上。', '👩‍👩‍👧 ✓ é', 'a+b=c & d#e %41 %', ' lead\n\ttail ', '𠮷野家', 'نص'])(
    'text %j comes back exactly',
    (text) => {
      expect(restore({ ...defaultState, text }).state.text).toBe(text);
    },
  );

  it('survives a URL parser', () => {
    const state = { ...defaultState, text: '小明 "喜欢" <打球> `a` ^|' };
    const url = new URL(`http://localhost/app/#${stateToHash(state)}`);
    expect(hashToState(url.hash).state).toEqual(state);
  });

  it('is readable', () => {
    const state: LensState = {
      ...defaultState,
      text: 'The cat sat.',
      query: null,
      heads: [{ layer: 1, head: 0 }],
      mask: {
        ...defaultState.mask,
        painted: new Map([['all', new Map([1, 2, 3].map((key) => [cellCode({ query: 4, key }), true]))]]),
      },
    };
    expect(stateToHash(state)).toBe('text=The+cat+sat.&heads=2.1&mask=causal&paint=all:h4.1-3');
  });

  it('an empty hash is the default, and a text alone pins no query', () => {
    expect(hashToState('')).toEqual({ state: defaultState, problems: [] });
    expect(hashToState('#text=Hi').state).toEqual({ ...defaultState, text: 'Hi', query: null });
  });
});

describe('a broken hash', () => {
  it.each([
    ['text=%E4%BD', 'text'],
    ['heads=0.1', 'heads'],
    ['heads=', 'heads'],
    ['heads=2.1,x', 'heads'],
    ['mask=purple', 'mask'],
    ['window=-1', 'window'],
    ['window=99999', 'window'],
    ['prefix=1.5', 'prefix'],
    ['padding=1,,2', 'padding'],
    ['paint=all', 'paint'],
    ['paint=all:', 'paint'],
    ['paint=all:h3.9-2', 'paint'],
    ['paint=all:h9999.1', 'paint'],
    ['paint=5:h1.1', 'paint'],
    ['scale=NaN', 'scale'],
    ['scale=Infinity', 'scale'],
    ['temperature=0', 'temperature'],
    ['temperature=1e99', 'temperature'],
    ['ablate=2.1.explode', 'ablate'],
    ['ablate=zero', 'ablate'],
    ['query=abc', 'query'],
    ['view=__proto__', 'view'],
    ['model=javascript:alert(1)', 'model'],
  ])('%s: the default stays, and the part is named', (hash, name) => {
    const { state, problems } = hashToState(`#${hash}&unit=bits`);
    expect(problems).toEqual([name]);
    const expected = name === 'text' ? { ...defaultState, query: null } : defaultState;
    expect(state).toEqual({ ...expected, unit: 'bits' });
  });

  it('of any kind never throws', () => {
    fc.assert(
      fc.property(fc.string(), (hash) => {
        hashToState(hash);
        hashToState(`#${hash}`);
      }),
    );
    const names = fc.constantFrom('text', 'heads', 'mask', 'paint', 'padding', 'ablate', 'scale', 'query');
    fc.assert(fc.property(names, fc.string(), (name, value) => void hashToState(`#${name}=${value}`)));
  });

  it('with half a surrogate pair in the text still makes a link', () => {
    expect(restore({ ...defaultState, text: 'a\uD83Db' }).state.text).toBe('a\uFFFDb');
  });

  it('may hold parts of others', () => {
    expect(hashPairs('#lang=zh&x&=y')).toEqual([
      ['lang', 'zh'],
      ['', 'y'],
    ]);
    expect(hashToState('#lang=zh&utm=1').problems).toEqual([]);
  });
});
