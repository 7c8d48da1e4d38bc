/** Dense tensors of f32 and booleans: making them, and checking their shapes. */
import { MultiheadError } from './errors.js';
import type { BoolTensor, Tensor } from './types.js';

/** Lists of lists of values, all of one length at each depth. */
export type Nested<T> = T | readonly Nested<T>[];

/**
 * A tensor of f32, from nested lists or from flat data with its shape. Flat data is not copied.
 *
 * @throws {MultiheadError} `shape` if the lists are ragged, or the length is not the product of `shape`.
 * @example
 * tensor([[1, 2, 3], [4, 5, 6]]).shape; // [2, 3]
 * tensor(new Float32Array(12), [3, 4]);
 */
export function tensor(values: Float32Array | Nested<number>, shape?: readonly number[]): Tensor {
  if (values instanceof Float32Array) return withShape(values, shape ?? [values.length]);
  const flat = flatten(values, 'number');
  return withShape(Float32Array.from(flat.values), shape ?? flat.shape);
}

/**
 * A tensor of booleans, for masks: from nested lists, or from flat bytes (nonzero is true) with their shape.
 *
 * @throws {MultiheadError} `shape` as `tensor`.
 * @example
 * boolTensor([[false, true], [false, false]]);
 */
export function boolTensor(values: Uint8Array | Nested<boolean>, shape?: readonly number[]): BoolTensor {
  if (values instanceof Uint8Array) return withShape(values, shape ?? [values.length]);
  const flat = flatten(values, 'boolean');
  return withShape(Uint8Array.from(flat.values, Number), shape ?? flat.shape);
}

/** The product of the sizes: 1 for a scalar. */
export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

/** `[2, 3]`, as messages show it. */
export function shapeText(shape: readonly number[]): string {
  return `[${shape.join(', ')}]`;
}

/** Throws code `shape` unless `actual` is one of `expected`; `meaning` explains the sizes, as `[T, S]`. */
export function requireShape(
  name: string,
  actual: Tensor | BoolTensor,
  expected: readonly number[],
  meaning = '',
): void {
  checkTensor(name, actual);
  const same = actual.shape.length === expected.length && actual.shape.every((size, i) => size === expected[i]);
  if (same) return;
  const explained = meaning === '' ? '' : ` = ${meaning}`;
  throw new MultiheadError(
    'shape',
    `${name} has shape ${shapeText(actual.shape)}: it must be ${shapeText(expected)}${explained}`,
    { details: { name, shape: [...actual.shape], expected: [...expected] } },
  );
}

/** Throws unless this is a tensor whose data fills its shape. */
export function checkTensor(name: string, value: Tensor | BoolTensor): void {
  if (!value || !ArrayBuffer.isView(value.data) || !Array.isArray(value.shape)) {
    throw new MultiheadError('argument', `${name} is not a tensor: make one with tensor(values) or boolTensor(values)`);
  }
  if (value.data.length !== sizeOf(value.shape)) throw lengthError(name, value.data.length, value.shape);
}

export function isFloat(value: Tensor | BoolTensor): value is Tensor {
  return value.data instanceof Float32Array;
}

/** Whole numbers, as the engine takes them. Throws code `argument` naming the first that is not one. */
export function int32List(name: string, values: readonly number[]): Int32Array {
  values.forEach((value, i) => {
    if ((value | 0) === value) return;
    throw new MultiheadError('argument', `${name}[${i}] is ${value}: it must be a whole number`, {
      details: { name, index: i, value },
    });
  });
  return Int32Array.from(values);
}

function withShape<Data extends Float32Array | Uint8Array>(data: Data, shape: readonly number[]) {
  if (data.length !== sizeOf(shape)) throw lengthError('the tensor', data.length, shape);
  return { data, shape: [...shape] };
}

function lengthError(name: string, length: number, shape: readonly number[]): MultiheadError {
  return new MultiheadError(
    'shape',
    `${name} has ${length} values, and its shape ${shapeText(shape)} means ${sizeOf(shape)}`,
    { details: { name, length, shape: [...shape] } },
  );
}

function flatten<T>(nested: Nested<T>, type: string): { readonly values: T[]; readonly shape: number[] } {
  const shape: number[] = [];
  for (let level: Nested<T> | undefined = nested; Array.isArray(level); level = level[0]) shape.push(level.length);
  const values: T[] = [];
  const visit = (value: Nested<T>, depth: number): void => {
    if (Array.isArray(value)) {
      if (value.length !== shape[depth]) throw raggedError(depth, value.length, shape[depth]);
      for (const inner of value) visit(inner, depth + 1);
    } else {
      if (depth !== shape.length) throw raggedError(depth, 'one value', shape[depth]);
      if (typeof value !== type) throw new MultiheadError('argument', `a tensor of ${type}s has the value ${value}`);
      values.push(value as T);
    }
  };
  visit(nested, 0);
  return { values, shape };
}

function raggedError(depth: number, got: unknown, expected: unknown): MultiheadError {
  return new MultiheadError('shape', `ragged lists: at depth ${depth} one has ${got} where the first has ${expected}`);
}
