import { expect, it } from 'vitest';
import { boolTensor, tensor } from '../../web/src/index.js';

it('reads nested lists, and flat data with a shape', () => {
  expect(
    tensor([
      [1, 2, 3],
      [4, 5, 6],
    ]),
  ).toEqual({ data: Float32Array.of(1, 2, 3, 4, 5, 6), shape: [2, 3] });
  expect(tensor(new Float32Array(6), [1, 2, 3]).shape).toEqual([1, 2, 3]);
  expect(tensor(new Float32Array(6)).shape).toEqual([6]);
  expect(tensor(5)).toEqual({ data: Float32Array.of(5), shape: [] });
  expect(tensor([])).toEqual({ data: new Float32Array(), shape: [0] });
  expect(boolTensor([[true, false]])).toEqual({ data: Uint8Array.of(1, 0), shape: [1, 2] });
});

it('does not copy flat data', () => {
  const data = new Float32Array(4);
  expect(tensor(data, [2, 2]).data).toBe(data);
});

it.each([
  [() => tensor([[1, 2], [3]]), 'ragged lists: at depth 1 one has 1 where the first has 2'],
  [() => tensor([[1, 2], 3]), 'ragged lists: at depth 1 one has one value where the first has 2'],
  [() => tensor(new Float32Array(5), [2, 3]), 'the tensor has 5 values, and its shape [2, 3] means 6'],
  [() => tensor([[true]] as unknown as number[]), 'a tensor of numbers has the value true'],
  [() => boolTensor([[1]] as unknown as boolean[]), 'a tensor of booleans has the value 1'],
])('refuses %s', (make, message) => {
  expect(make).toThrowError(message);
});
