// Writes ONNX models: the few messages of onnx.proto3 that a graph of float tensors needs.

const VARINT = 0;
const BYTES = 2;
const FIXED32 = 5;
const FLOAT = 1; // TensorProto.DataType
const INT8 = 3;
const INT64 = 7;
const ATTRIBUTE = { float: 1, int: 2, string: 3, ints: 7 }; // AttributeProto.AttributeType

/** A protobuf message, field by field. */
class Message {
  #parts = [];

  varint(value) {
    let rest = BigInt.asUintN(64, BigInt(value));
    const bytes = [];
    for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
    bytes.push(Number(rest));
    this.#parts.push(Uint8Array.from(bytes));
    return this;
  }

  int(field, value) {
    return this.varint((field << 3) | VARINT).varint(value);
  }

  float(field, value) {
    this.varint((field << 3) | FIXED32);
    this.#parts.push(new Uint8Array(Float32Array.of(value).buffer));
    return this;
  }

  bytes(field, value) {
    this.varint((field << 3) | BYTES).varint(value.length);
    this.#parts.push(value);
    return this;
  }

  text(field, value) {
    return this.bytes(field, new TextEncoder().encode(value));
  }

  message(field, value) {
    return this.bytes(field, value.finish());
  }

  finish() {
    const result = new Uint8Array(this.#parts.reduce((sum, part) => sum + part.length, 0));
    let offset = 0;
    for (const part of this.#parts) {
      result.set(part, offset);
      offset += part.length;
    }
    return result;
  }
}

function tensorMessage(name, dims, data) {
  const message = new Message();
  for (const size of dims) message.int(1, size);
  message.int(2, data instanceof Float32Array ? FLOAT : data instanceof Int8Array ? INT8 : INT64).text(8, name);
  return message.bytes(9, new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
}

/** An attribute is a string, a whole number, a list of them, or { float }. */
function attributeMessage(name, value) {
  const message = new Message().text(1, name);
  if (typeof value === 'string') return message.text(4, value).int(20, ATTRIBUTE.string);
  if (Array.isArray(value)) {
    for (const item of value) message.int(8, item);
    return message.int(20, ATTRIBUTE.ints);
  }
  if (typeof value === 'object') return message.float(2, value.float).int(20, ATTRIBUTE.float);
  return message.int(3, value).int(20, ATTRIBUTE.int);
}

function valueInfoMessage(name, dims, type) {
  const shape = new Message();
  for (const size of dims) shape.message(1, new Message().int(1, size));
  const tensorType = new Message().int(1, type).message(2, shape);
  return new Message().text(1, name).message(2, new Message().message(1, tensorType));
}

/** A graph under construction. Every method returns the name of the tensor it makes. */
export class OnnxGraph {
  #nodes = [];
  #initializers = [];
  #inputs = [];
  #outputs = [];
  #opset;
  /** Names of tensors that have an 8-bit form: see onnx-int8.mjs. */
  rounded = new Set();

  /** `int8`: are linear layers to be in int8? */
  constructor(opset, int8 = false) {
    this.#opset = opset;
    this.int8 = int8;
  }

  input(name, dims, type = FLOAT) {
    this.#inputs.push(valueInfoMessage(name, dims, type));
    return name;
  }

  intInput(name, dims) {
    return this.input(name, dims, INT64);
  }

  output(name, dims) {
    this.#outputs.push(valueInfoMessage(name, dims, FLOAT));
    return name;
  }

  constant(name, dims, data) {
    this.#initializers.push(tensorMessage(name, dims, data));
    return name;
  }

  /** A list of sizes or indices. */
  sizes(name, values) {
    return this.constant(name, [values.length], BigInt64Array.from(values, BigInt));
  }

  /** A node of one output, or of the `outputs` named; an empty name is an output not wanted. */
  node(type, inputs, { attributes = {}, domain = '', outputs } = {}) {
    const names = outputs ?? [`t${this.#nodes.length}`];
    const message = new Message();
    for (const name of inputs) message.text(1, name);
    for (const name of names) message.text(2, name);
    message.text(3, `n${this.#nodes.length}`).text(4, type);
    for (const [name, value] of Object.entries(attributes)) message.message(5, attributeMessage(name, value));
    if (domain !== '') message.text(7, domain);
    this.#nodes.push(message);
    return names[0];
  }

  finish() {
    const graph = new Message();
    for (const node of this.#nodes) graph.message(1, node);
    graph.text(2, 'graph');
    for (const initializer of this.#initializers) graph.message(5, initializer);
    for (const input of this.#inputs) graph.message(11, input);
    for (const output of this.#outputs) graph.message(12, output);
    const irVersion = this.#opset >= 23 ? 11 : 9;
    return new Message()
      .int(1, irVersion)
      .text(2, 'multihead-bench')
      .message(7, graph)
      .message(8, new Message().text(1, '').int(2, this.#opset))
      .message(8, new Message().text(1, 'com.microsoft').int(2, 1))
      .finish();
  }
}
