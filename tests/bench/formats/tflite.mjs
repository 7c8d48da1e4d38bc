// Writes TensorFlow Lite models by the schema's field numbers: one subgraph of float operators.
import { Builder } from 'flatbuffers';

const SCHEMA_VERSION = 3;
const FLOAT32 = 0; // TensorType
const INT32 = 2;
/** BuiltinOperator. */
const OPERATORS = {
  add: 0,
  fullyConnected: 9,
  mul: 18,
  reshape: 22,
  softmax: 25,
  transpose: 39,
  mean: 40,
  sub: 41,
  rsqrt: 76,
  squaredDifference: 99,
  batchMatMul: 126,
  gelu: 150,
};
/** BuiltinOptions: number in the union, number of fields, and those that are set: [field, type, value];
 * null for an operator without any. */
const OPTIONS = {
  add: { type: 11, fields: 2, set: [] },
  fullyConnected: { type: 8, fields: 4, set: [[2, 'Int8', 1]] }, // keep_num_dims
  mul: { type: 21, fields: 1, set: [] },
  reshape: { type: 17, fields: 1, set: [] },
  softmax: { type: 9, fields: 1, set: [[0, 'Float32', 1]] }, // beta
  transpose: { type: 26, fields: 0, set: [] },
  mean: { type: 27, fields: 1, set: [[0, 'Int8', 1]] }, // keep_dims
  sub: { type: 28, fields: 2, set: [] },
  batchMatMul: { type: 101, fields: 3, set: [] },
  batchMatMulTurned: { type: 101, fields: 3, set: [[1, 'Int8', 1]] }, // adj_y
  gelu: { type: 116, fields: 1, set: [] }, // approximate: false
  rsqrt: null,
  squaredDifference: null,
};

/** A graph under construction. Tensors are numbers: what `input`, `constant` and `node` return. */
export class TfliteGraph {
  #tensors = [];
  #nodes = [];
  #inputs = [];
  /** Buffer 0 is, by the format, the empty one of tensors without data. */
  #buffers = [null];

  input(shape) {
    const tensor = this.#tensor(shape, FLOAT32, 0);
    this.#inputs.push(tensor);
    return tensor;
  }

  constant(shape, data) {
    this.#buffers.push(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    return this.#tensor(shape, data instanceof Int32Array ? INT32 : FLOAT32, this.#buffers.length - 1);
  }

  /** The output of an operator; `options` names a row of OPTIONS if not the operator's own. */
  node(operator, inputs, shape, options = operator) {
    const output = this.#tensor(shape, FLOAT32, 0);
    this.#nodes.push({ operator, inputs, output, options: OPTIONS[options] });
    return output;
  }

  #tensor(shape, type, buffer) {
    this.#tensors.push({ shape, type, buffer });
    return this.#tensors.length - 1;
  }

  /** The bytes of the model, with these tensors as its outputs. */
  finish(outputs) {
    const writer = new Writer();
    const operators = [...new Set(this.#nodes.map(({ operator }) => OPERATORS[operator]))];
    const buffers = writer.tables(this.#buffers, (data) => (data ? [[0, 'Offset', writer.bytes(data)]] : []), 3);
    const tensors = writer.tables(
      this.#tensors,
      ({ shape, type, buffer }, i) => [
        [0, 'Offset', writer.ints(shape)],
        [1, 'Int8', type],
        [2, 'Int32', buffer],
        [3, 'Offset', writer.text(`t${i}`)],
      ],
      10,
    );
    const nodes = writer.tables(this.#nodes, (node) => nodeFields(writer, node, operators), 12);
    const subgraph = writer.table(5, [
      [0, 'Offset', tensors],
      [1, 'Offset', writer.ints(this.#inputs)],
      [2, 'Offset', writer.ints(outputs)],
      [3, 'Offset', nodes],
      [4, 'Offset', writer.text('main')],
    ]);
    const codes = writer.tables(operators, operatorCodeFields, 4);
    return writer.finish(
      writer.table(8, [
        [0, 'Int32', SCHEMA_VERSION],
        [1, 'Offset', codes],
        [2, 'Offset', writer.offsets([subgraph])],
        [3, 'Offset', writer.text('multihead-bench')],
        [4, 'Offset', buffers],
      ]),
    );
  }
}

function nodeFields(writer, { operator, inputs, output, options }, operators) {
  const fields = [
    [0, 'Int32', operators.indexOf(OPERATORS[operator])],
    [1, 'Offset', writer.ints(inputs)],
    [2, 'Offset', writer.ints([output])],
  ];
  if (!options) return fields;
  return [...fields, [3, 'Int8', options.type], [4, 'Offset', writer.table(options.fields, options.set)]];
}

/** Codes above 127 did not fit the first schema; they have a second field. */
function operatorCodeFields(code) {
  return [
    [0, 'Int8', Math.min(code, 127)],
    [2, 'Int32', 1],
    [3, 'Int32', code],
  ];
}

/** Tables and vectors over the flatbuffers builder, which writes from the end: children before their table. */
class Writer {
  #builder = new Builder(1 << 20);

  /** `fields` are [number, type, value]. */
  table(count, fields) {
    const builder = this.#builder;
    builder.startObject(count);
    for (const [field, type, value] of fields) builder[`addField${type}`](field, value, 0);
    return builder.endObject();
  }

  tables(items, fieldsOf, count) {
    return this.offsets(items.map((item, i) => this.table(count, fieldsOf(item, i))));
  }

  offsets(values) {
    return this.#vector(values, 'addOffset');
  }

  ints(values) {
    return this.#vector(values, 'addInt32');
  }

  #vector(values, add) {
    const builder = this.#builder;
    builder.startVector(4, values.length, 4);
    for (const value of [...values].reverse()) builder[add](value);
    return builder.endVector();
  }

  /** At an address divisible by 16, as kernels want their weights. Copied at once: by byte it takes seconds. */
  bytes(data) {
    const builder = this.#builder;
    builder.startVector(1, data.length, 16);
    builder.space -= data.length;
    builder.bb.bytes().set(data, builder.space);
    return builder.endVector();
  }

  text(value) {
    return this.#builder.createString(value);
  }

  finish(root) {
    this.#builder.finish(root, 'TFL3');
    return this.#builder.asUint8Array().slice();
  }
}
