/** Memory of the engine: scopes, structs by field name, and what may not leave. */
import { beforeAll, expect, it } from 'vitest';
import { type Engine, loadEngine } from '../../web/src/index.js';

let engine: Engine;
beforeAll(async () => {
  engine = await loadEngine();
});

it('writes fields where they are read, nested ones and booleans too, and leaves the others zero', () => {
  engine.memory.scope((scope) => {
    const at = scope.struct('mh_attention', {
      batch: 3,
      scale: 0.5,
      mask: { causal: true, query_offset: -7, prefix: undefined },
    });
    const read = (field: string) => engine.memory.field('mh_attention', at, field);
    expect(read('batch')).toBe(3);
    expect(read('scale')).toBe(0.5);
    expect(read('mask.causal')).toBe(1);
    expect(read('mask.query_offset')).toBe(-7);
    expect(read('mask.prefix')).toBe(0);
    expect(read('heads')).toBe(0);
  });
});

it('knows no field or struct that the C header does not have', () => {
  const make = (name: string, fields: object) => engine.memory.scope((scope) => scope.struct(name, { ...fields }));
  expect(() => make('mh_attention', { hats: 1 })).toThrow('struct mh_attention has no field hats');
  expect(() => make('mh_attention', { mask: { hats: 1 } })).toThrow('struct mh_attention has no field mask.hats');
  expect(() => make('mh_hats', {})).toThrow('the engine has no struct mh_hats');
});

it.each([2.5, -1, Number.NaN, 2 ** 32])('does not write %d where a size is wanted', (value) => {
  expect(() => engine.memory.scope((scope) => scope.struct('mh_attention', { heads: value }))).toThrowError(
    expect.objectContaining({
      code: 'argument',
      message: `mh_attention.heads is ${value}: it must be a whole number, 0 to 4294967295`,
    }),
  );
});

it('gives copies, which later calls and growth leave alone', () => {
  const copy = engine.memory.scope((scope) => engine.memory.floats(scope.copyIn(Float32Array.of(1, 2, 3)), 3));
  engine.memory.scope((scope) => scope.copyIn(new Float32Array(2_000_000).fill(9)));
  expect([...copy]).toEqual([1, 2, 3]);
});

it('copies in a part of a larger array', () => {
  const part = Float32Array.of(1, 2, 3, 4).subarray(1, 3);
  expect([...engine.memory.scope((scope) => engine.memory.floats(scope.copyIn(part), 2))]).toEqual([2, 3]);
});

it('takes no more memory for the same work again', () => {
  const work = () =>
    engine.memory.scope((scope) => {
      for (let i = 0; i < 30; i++) scope.alloc(100_000 + i);
    });
  work();
  work();
  const { bytes } = engine.memory;
  for (let i = 0; i < 100; i++) work();
  expect(engine.memory.bytes).toBe(bytes);
});

it('gives the memory back when the body throws, and refuses a scope in a scope', () => {
  const nested = () => engine.memory.scope(() => engine.memory.scope(() => 0));
  expect(nested).toThrow('a scope is already open');
  expect(engine.memory.scope(() => 7)).toBe(7);
});

it('says what was asked for when there is not enough', () => {
  expect(() => engine.memory.reserve(3_000_000_000)).toThrowError(
    expect.objectContaining({
      code: 'memory',
      message: expect.stringMatching(
        /^out of memory: 3000000000 bytes were asked for and the engine already holds \d+\. Use/,
      ),
    }),
  );
});
