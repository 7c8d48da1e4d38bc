/**
 * The engine's linear memory: the only file that touches `memory.buffer`.
 *
 * No view of wasm memory leaves this file, since growth detaches views. Data goes in by `copyIn`, comes out by
 * `copyOut` as a copy. What a call needs lives in a scope and ends with it.
 */
import { MultiheadError } from './errors.js';

/** What malloc promises, and what every type of the C side needs. */
const ALIGNMENT = 8;
const SMALLEST_CHUNK = 64 * 1024;
/** More than this is given back after a call, for modules and models to have. */
const LARGEST_KEPT = 64 * 1024 * 1024;

/** `enum mh_field_kind`. */
const KIND_SIZE = 0;
const KIND_POINTER = 1;
const KIND_INT32 = 2;
const KIND_UINT32 = 3;
const KIND_FLOAT = 4;
const KIND_TEXT = 5;
const KIND_DOUBLE = 6;

interface Field {
  readonly offset: number;
  readonly kind: number;
}

interface Structure {
  readonly size: number;
  readonly fields: ReadonlyMap<string, Field>;
}

/** Values of a C struct by field name. Objects are structs inside it; `undefined` leaves a field zero. */
export interface Fields {
  readonly [name: string]: number | boolean | Fields | undefined;
}

/** Memory that a call may use until it returns. Handed out by `Memory.scope`. */
export interface Scope {
  /** `bytes` bytes of undefined content, 8-byte aligned. */
  alloc(bytes: number): number;
  /** A copy of the array's elements. */
  copyIn(data: Float32Array | Int32Array | Uint8Array): number;
  /** A zeroed struct with these fields set. A name that the C header does not have is an error. */
  struct(name: string, fields?: Fields): number;
}

/** The allocator that the wasm exports. */
export interface Allocator {
  readonly malloc: (bytes: number) => number;
  readonly free: (address: number) => void;
}

export class Memory {
  readonly #memory: WebAssembly.Memory;
  readonly #allocator: Allocator;
  readonly #structures: ReadonlyMap<string, Structure>;
  #chunks: { readonly address: number; readonly size: number }[] = [];
  #used = 0;
  #chunkSize = SMALLEST_CHUNK;
  #busy = false;

  /** `layouts` are addresses that `mh_layout()` and its like return. */
  constructor(memory: WebAssembly.Memory, allocator: Allocator, layouts: readonly number[]) {
    this.#memory = memory;
    this.#allocator = allocator;
    this.#structures = new Map(layouts.flatMap((layout) => [...this.#readLayout(layout)]));
  }

  /** Size of the linear memory in bytes. */
  get bytes(): number {
    return this.#memory.buffer.byteLength;
  }

  /**
   * Runs `body` with memory that is given back when it returns or throws. The memory itself is kept for the next call,
   * so that a steady stream of calls of one size allocates nothing. `body` is synchronous and opens no second scope.
   */
  scope<T>(body: (scope: Scope) => T): T {
    if (this.#busy) throw new Error('Memory.scope: a scope is already open');
    this.#busy = true;
    try {
      return body({
        alloc: (bytes) => this.#bump(bytes),
        copyIn: (data) => this.#copyIn(data),
        struct: (name, fields) => this.#struct(name, fields ?? {}),
      });
    } finally {
      this.#busy = false;
      this.#rewind();
    }
  }

  /** As `scope`, for one large block that should not stay reserved, such as a weights file. */
  lend<T>(data: Uint8Array, body: (address: number) => T): T {
    const address = this.reserve(data.length);
    try {
      new Uint8Array(this.#memory.buffer, address, data.length).set(data);
      return body(address);
    } finally {
      this.#allocator.free(address);
    }
  }

  /** A block of its own, which the caller ends with `release`. Throws code `memory`. */
  reserve(bytes: number): number {
    // The wasm would take a size of 2³² or more for its remainder.
    const address = bytes < 2 ** 32 ? this.#allocator.malloc(Math.max(bytes, 1)) >>> 0 : 0;
    if (address !== 0) return address;
    throw new MultiheadError(
      'memory',
      `out of memory: ${bytes} bytes were asked for and the engine already holds ${this.bytes}. Use fewer tokens, ask for fewer outputs (stages, hidden, logits), or dispose what is no longer needed.`,
      { details: { asked: bytes, held: this.bytes } },
    );
  }

  release(address: number): void {
    this.#allocator.free(address);
  }

  /** A copy of `bytes` bytes, in a buffer of its own, which is not shared even if this memory is. */
  copyOut(address: number, bytes: number): ArrayBuffer {
    return new Uint8Array(this.#memory.buffer, address, bytes).slice().buffer;
  }

  /** A copy of `length` f32 values. */
  floats(address: number, length: number): Float32Array {
    return new Float32Array(this.copyOut(address, length * 4));
  }

  int32s(address: number, length: number): Int32Array {
    return new Int32Array(this.copyOut(address, length * 4));
  }

  /** Writes f32 values over what is there. */
  setFloats(address: number, data: Float32Array): void {
    new Float32Array(this.#memory.buffer, address, data.length).set(data);
  }

  uint32(address: number): number {
    return this.#view().getUint32(address, true);
  }

  /** A zero-terminated UTF-8 string. */
  text(address: number): string {
    const bytes = new Uint8Array(this.#memory.buffer);
    const end = bytes.indexOf(0, address);
    return new TextDecoder().decode(bytes.slice(address, end));
  }

  /** The bytes that a struct takes. */
  sizeOf(name: string): number {
    return this.#structure(name).size;
  }

  /** One field of a struct: text for character arrays, else a number. */
  field(name: string, address: number, field: string): number | string {
    const { offset, kind } = this.#field(name, field);
    const at = address + offset;
    if (kind === KIND_TEXT) return this.text(at);
    if (kind === KIND_FLOAT) return this.#view().getFloat32(at, true);
    if (kind === KIND_DOUBLE) return this.#view().getFloat64(at, true);
    if (kind === KIND_INT32) return this.#view().getInt32(at, true);
    return this.uint32(at);
  }

  #bump(bytes: number): number {
    const size = Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
    let chunk = this.#chunks.at(-1);
    if (!chunk || this.#used + size > chunk.size) {
      const chunkSize = Math.max(size, this.#chunkSize);
      chunk = { address: this.reserve(chunkSize), size: chunkSize };
      this.#chunks.push(chunk);
      this.#used = 0;
    }
    const address = chunk.address + this.#used;
    this.#used += size;
    return address;
  }

  /** One chunk is kept for the next scope; several are replaced by one of their total size, too much by nothing. */
  #rewind(): void {
    const total = this.#chunks.reduce((sum, chunk) => sum + chunk.size, 0);
    if (this.#chunks.length > 1 || total > LARGEST_KEPT) {
      this.#chunkSize = total > LARGEST_KEPT ? SMALLEST_CHUNK : total;
      for (const chunk of this.#chunks) this.#allocator.free(chunk.address);
      this.#chunks = [];
    }
    this.#used = 0;
  }

  #copyIn(data: Float32Array | Int32Array | Uint8Array): number {
    const address = this.#bump(data.byteLength);
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    new Uint8Array(this.#memory.buffer, address, data.byteLength).set(bytes);
    return address;
  }

  #struct(name: string, fields: Fields): number {
    const { size } = this.#structure(name);
    const address = this.#bump(size);
    new Uint8Array(this.#memory.buffer, address, size).fill(0);
    this.#write(name, address, fields, '');
    return address;
  }

  #write(name: string, address: number, fields: Fields, prefix: string): void {
    for (const [key, value] of Object.entries(fields)) {
      if (value === undefined) continue;
      if (typeof value === 'object') this.#write(name, address, value, `${prefix}${key}.`);
      else this.#writeField(name, address, prefix + key, Number(value));
    }
  }

  #writeField(name: string, address: number, field: string, value: number): void {
    const { offset, kind } = this.#field(name, field);
    const view = this.#view();
    if (kind === KIND_FLOAT) {
      view.setFloat32(address + offset, value, true);
    } else if (kind === KIND_INT32) {
      requireInteger(name, field, value, -(2 ** 31), 2 ** 31 - 1);
      view.setInt32(address + offset, value, true);
    } else if (kind === KIND_SIZE || kind === KIND_POINTER || kind === KIND_UINT32) {
      requireInteger(name, field, value, 0, 2 ** 32 - 1);
      view.setUint32(address + offset, value, true);
    } else {
      throw new Error(`${name}.${field}: this kind of field is not for writing`);
    }
  }

  #structure(name: string): Structure {
    const structure = this.#structures.get(name);
    if (!structure) throw new Error(`the engine has no struct ${name}`);
    return structure;
  }

  #field(name: string, field: string): Field {
    const found = this.#structure(name).fields.get(field);
    if (!found) throw new Error(`struct ${name} has no field ${field}`);
    return found;
  }

  #view(): DataView {
    return new DataView(this.#memory.buffer);
  }

  /** Section 9 of `c/include/multihead.h`: rows of (structure, name, offset, kind), four 32-bit words each. */
  #readLayout(layout: number): Map<string, Structure> {
    const structures = new Map<string, { size: number; fields: Map<string, Field> }>();
    for (let row = layout; this.uint32(row) !== 0; row += 16) {
      const name = this.text(this.uint32(row));
      const field = this.text(this.uint32(row + 4));
      const offset = this.uint32(row + 8);
      const structure = structures.get(name) ?? { size: 0, fields: new Map() };
      structures.set(name, structure);
      if (field === '') structure.size = offset;
      else structure.fields.set(field, { offset, kind: this.uint32(row + 12) });
    }
    return structures;
  }
}

function requireInteger(name: string, field: string, value: number, low: number, high: number): void {
  if (Number.isInteger(value) && value >= low && value <= high) return;
  throw new MultiheadError('argument', `${name}.${field} is ${value}: it must be a whole number, ${low} to ${high}`, {
    details: { structure: name, field, value },
  });
}
