/**
 * scaledDotProductAttention: its arguments, shapes and messages. That its numbers are PyTorch's is tested in tests/wasm,
 * over recorded and random cases.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import {
  boolTensor,
  type Engine,
  loadEngine,
  type ScaledDotProductOptions,
  scaledDotProductAttention,
  tensor,
} from '../../web/src/index.js';

let engine: Engine;
beforeAll(async () => {
  engine = await loadEngine();
});

const query = tensor([
  [1, 0],
  [0, 1],
]);
const square = { query, key: query, value: query };

/** `[rows, columns]` of small integers, different everywhere. */
function counting(...shape: number[]) {
  const size = shape.reduce((a, b) => a * b, 1);
  return tensor(
    Float32Array.from({ length: size }, (_, i) => ((i * 7) % 11) / 11),
    shape,
  );
}

function run(options: ScaledDotProductOptions) {
  return scaledDotProductAttention(engine, { needWeights: true, ...options });
}

function weightsOf(options: ScaledDotProductOptions): number[] {
  return Array.from(run(options).weights?.data ?? [], (weight) => Number(weight.toFixed(3)));
}

it('is softmax(QKᵀ/√D) V', () => {
  const high = Math.exp(1 / Math.SQRT2) / (Math.exp(1 / Math.SQRT2) + 1);
  const { output, weights, maskedRows } = run(square);
  const expected = [high, 1 - high, 1 - high, high];
  expected.forEach((value, i) => {
    expect(weights?.data[i]).toBeCloseTo(value, 6);
    expect(output.data[i]).toBeCloseTo(value, 6);
  });
  expect(output.shape).toEqual([2, 2]);
  expect(maskedRows).toBe(0);
});

it('gives no weights unless asked, as torch', () => {
  expect(scaledDotProductAttention(engine, square).weights).toBeNull();
});

it('runs its documented example', () => {
  expect(weightsOf({ ...square, isCausal: true })).toEqual([1, 0, 0.33, 0.67]);
});

describe('masks', () => {
  it('true KEEPS in a boolean mask, as in torch', () => {
    const attnMask = boolTensor([
      [false, true],
      [true, true],
    ]);
    expect(weightsOf({ ...square, attnMask }).slice(0, 2)).toEqual([0, 1]);
  });

  it('a float mask is added', () => {
    const attnMask = tensor([
      [Number.NEGATIVE_INFINITY, 0],
      [0, 100],
    ]);
    expect(weightsOf({ ...square, attnMask })).toEqual([0, 1, 0, 1]);
  });

  it('counts rows without a key, whose weights and output are zero', () => {
    const attnMask = boolTensor([
      [false, false],
      [true, true],
    ]);
    const { output, weights, maskedRows } = run({ ...square, attnMask });
    expect(maskedRows).toBe(1);
    expect([...output.data.slice(0, 2), ...(weights?.data.slice(0, 2) ?? [])]).toEqual([0, 0, 0, 0]);
  });

  it('broadcasts masks of every shape as written out in full', () => {
    const [x, y] = [counting(2, 3, 4, 5), counting(2, 3, 6, 5)];
    const shapes = [[6], [4, 6], [4, 1], [1, 6], [3, 4, 6], [1, 4, 6], [2, 1, 4, 6], [1, 3, 1, 6], [2, 3, 4, 1], [1]];
    for (const shape of shapes) {
      const mask = counting(...shape);
      const full = new Float32Array(2 * 3 * 4 * 6);
      const axes = [2, 3, 4, 6];
      full.forEach((_, flat) => {
        let [rest, from, stride] = [flat, 0, 1];
        for (let back = 1; back <= 4; back++) {
          const size = axes.at(-back) ?? 1;
          const own = shape.at(-back) ?? 1;
          if (own !== 1) from += (rest % size) * stride;
          stride *= own;
          rest = Math.floor(rest / size);
        }
        full[flat] = mask.data[from] ?? Number.NaN;
      });
      const given = run({ query: x, key: y, value: y, attnMask: mask });
      const written = run({ query: x, key: y, value: y, attnMask: tensor(full, axes) });
      expect(given.weights?.data, `mask ${shape}`).toEqual(written.weights?.data);
    }
  });

  it('broadcasts over several batch sizes', () => {
    const x = counting(2, 3, 2, 4, 5);
    const mask = counting(3, 1, 4, 4);
    const result = run({ query: x, key: x, value: x, attnMask: mask });
    expect(result.weights?.shape).toEqual([2, 3, 2, 4, 4]);
    const [one, all] = [x.data.length / 6, 4 * 4 * 2];
    for (let outer = 0; outer < 2; outer++) {
      for (let inner = 0; inner < 3; inner++) {
        const at = outer * 3 + inner;
        const part = tensor(x.data.slice(at * one, (at + 1) * one), [2, 4, 5]);
        const partMask = tensor(mask.data.slice(inner * 16, (inner + 1) * 16), [4, 4]);
        const alone = run({ query: part, key: part, value: part, attnMask: partMask });
        expect(result.weights?.data.slice(at * all, (at + 1) * all)).toEqual(alone.weights?.data);
      }
    }
  });

  it('refuses isCausal with attnMask, as torch, and takes causal with it', () => {
    const attnMask = boolTensor([
      [true, true],
      [false, true],
    ]);
    expect(() => run({ ...square, attnMask, isCausal: true })).toThrow(
      'isCausal and attnMask are not for use together; causal and attnMask are',
    );
    expect(weightsOf({ ...square, attnMask, causal: true })).toEqual([1, 0, 0, 1]);
  });

  it('has windows, offsets, prefixes, blocks and lengths', () => {
    const x = counting(4, 2);
    const visible = (options: object) =>
      weightsOf({ query: x, key: x, value: x, ...options }).map((weight) => Number(weight > 0));
    expect(visible({ window: 0 })).toEqual([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
    expect(visible({ window: [1, 0] })).toEqual([1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1]);
    expect(visible({ window: [Number.POSITIVE_INFINITY, 0] })).toEqual(visible({ causal: true }));
    expect(visible({ causal: true, queryOffset: 1 })).toEqual([1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1]);
    expect(visible({ causal: true, prefix: 2 })).toEqual([1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1]);
    expect(visible({ queryBlocks: [0, 0, 1, 1], keyBlocks: [0, 0, 1, 1] })).toEqual([
      1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1,
    ]);
    expect(visible({ keyLengths: [1] })).toEqual([1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
  });
});

it('scales as told', () => {
  const none = weightsOf({ ...square, scale: 1 });
  expect(none[0]).toBeCloseTo(Math.E / (Math.E + 1), 3);
  expect(weightsOf({ ...square, scale: 0 })).toEqual([0.5, 0.5, 0.5, 0.5]);
  expect(weightsOf({ ...square, scale: null })).toEqual(weightsOf(square));
});

it('shares key heads only with enableGqa', () => {
  const [x, y] = [counting(1, 4, 3, 2), counting(1, 2, 3, 2)];
  const grouped = run({ query: x, key: y, value: y, enableGqa: true });
  expect(grouped.output.shape).toEqual([1, 4, 3, 2]);
  const repeated = [0, 0, 1, 1].flatMap((head) => [...y.data.slice(head * 6, head * 6 + 6)]);
  const wide = tensor(Float32Array.from(repeated), [1, 4, 3, 2]);
  expect(grouped.output.data).toEqual(run({ query: x, key: wide, value: wide }).output.data);
  expect(() => run({ query: x, key: y, value: y })).toThrow(/^key has shape \[1, 2, 3, 2\]: it must be \[1, 4, 3, 2\]/);
});

it('drops weights by seed, and scales those it keeps', () => {
  const x = counting(32, 4);
  const drop = (dropoutSeed: number) => weightsOf({ query: x, key: x, value: x, dropoutP: 0.5, dropoutSeed });
  const whole = weightsOf({ query: x, key: x, value: x });
  const dropped = drop(1);
  expect(drop(1)).toEqual(dropped);
  expect(drop(2)).not.toEqual(dropped);
  const zeros = dropped.filter((weight) => weight === 0).length;
  expect(zeros / dropped.length).toBeGreaterThan(0.4);
  expect(zeros / dropped.length).toBeLessThan(0.6);
  dropped.forEach((weight, i) => {
    if (weight > 0) expect(weight).toBeCloseTo(2 * (whole[i] ?? 0), 2);
  });
});

it('returns the stages: scores are the raw ones scaled and masked', () => {
  const { rawScores, scores } = run({ ...square, isCausal: true, stages: true });
  expect([...(rawScores?.data ?? [])]).toEqual([1, 0, 0, 1]);
  expect(rawScores?.shape).toEqual([2, 2]);
  expect(scores?.data[0]).toBeCloseTo(Math.SQRT1_2, 6);
  expect(scores?.data[1]).toBe(Number.NEGATIVE_INFINITY);
});

it('returns only chosen rows of chosen heads', () => {
  const x = counting(2, 3, 5, 4);
  const all = run({ query: x, key: x, value: x }).weights;
  const some = run({ query: x, key: x, value: x, weightsRows: { heads: [0, 2], rows: [4] } }).weights;
  expect(some?.shape).toEqual([2, 2, 1, 5]);
  const row = (b: number, h: number) => all?.data.slice(((b * 3 + h) * 5 + 4) * 5, ((b * 3 + h) * 5 + 5) * 5) ?? [];
  expect([...(some?.data ?? [])]).toEqual([...row(0, 0), ...row(0, 2), ...row(1, 0), ...row(1, 2)]);
  const everyHead = run({ query: x, key: x, value: x, weightsRows: { rows: [0] } }).weights;
  expect(everyHead?.shape).toEqual([2, 3, 1, 5]);
});

describe('refuses', () => {
  const x = counting(2, 4, 3);
  const nan = tensor([[Number.NaN, 0]]);
  it.each<[string, string, Partial<ScaledDotProductOptions>]>([
    ['shape', 'query has shape [2]: it must be [..., T, D]', { query: tensor([1, 2]) }],
    ['shape', 'key has shape [3, 4, 3]: it must be [2, 4, 3]', { key: counting(3, 4, 3) }],
    ['shape', 'key has shape [2, 4, 2]: it must be [2, 4, 3]', { key: counting(2, 4, 2) }],
    ['shape', 'value has shape [2, 5, 3]: it must be [2, 4, 3]', { value: counting(2, 5, 3) }],
    [
      'shape',
      'value has 23 values, and its shape [2, 4, 3] means 24',
      { value: { data: new Float32Array(23), shape: [2, 4, 3] } },
    ],
    ['argument', 'query is not a tensor: make one with tensor(values)', { query: [[1, 2]] as never }],
    ['shape', 'attnMask has shape [3, 4], which does not broadcast to [2, 4, 4]', { attnMask: counting(3, 4) }],
    ['shape', 'attnMask has shape [1, 2, 4, 4], which does not broadcast', { attnMask: counting(1, 2, 4, 4) }],
    ['argument', 'window is -1: one width for both sides is 0 or more', { window: -1 }],
    ['shape', 'keyLengths has 2 values: it must have 1', { keyLengths: [1, 2] }],
    ['argument', 'keyLengths[0] is 1.5: it must be a whole number', { keyLengths: [1.5] }],
    ['argument', 'weightsRows.rows[1] is NaN: it must be a whole number', { weightsRows: { rows: [0, Number.NaN] } }],
  ])('%s: %s', (code, message, options) => {
    const call = () => run({ query: x, key: x, value: x, ...options });
    expect(call).toThrowError(expect.objectContaining({ name: 'MultiheadError', code }));
    expect(call).toThrow(message);
  });

  it.each<[string, RegExp, Partial<ScaledDotProductOptions>]>([
    ['argument', /dropout/, { dropoutP: 1 }],
    ['argument', /dropout/, { dropoutP: Number.NaN }],
    ['argument', /scale/, { scale: Number.POSITIVE_INFINITY }],
    ['argument', /row/, { weightsRows: { rows: [1, 1] } }],
    ['argument', /row/, { weightsRows: { rows: [9] } }],
    ['argument', /block/, { queryBlocks: [0, 0, 0, 0] }],
    ['shape', /length/, { keyLengths: [5] }],
  ])('%s by the engine: %s', (code, message, options) => {
    const call = () => run({ query: x, key: x, value: x, ...options });
    expect(call).toThrowError(expect.objectContaining({ name: 'MultiheadError', code }));
    expect(call).toThrow(message);
  });

  it('NaN in an input, naming the tensor, unless told not to look', () => {
    const call = (checkFinite: boolean) => run({ query: nan, key: nan, value: tensor([[1, 1]]), checkFinite });
    expect(() => call(true)).toThrowError(
      expect.objectContaining({ code: 'nonfinite', message: expect.stringMatching(/query/) }),
    );
    expect(() => call(false)).not.toThrow();
  });
});
