// Texts as the numbers that the trainer reads.
//
// A .tokens file is sequences, one after the other: a 16-bit number, how many tokens, and as many 16-bit ids, little
// endian, whose highest bit says that nobody asks for this token. For a translator each sequence is a source, and the
// next its target.
import { readFileSync, writeFileSync } from 'node:fs';
import { Tokenizer } from '@huggingface/tokenizers';

const model = new URL('../web/models/bilingual/', import.meta.url);
const read = (name) => JSON.parse(readFileSync(new URL(name, model), 'utf8'));
/** Of a token's 16 bits, the one that says that nobody asks for it. */
export const GIVEN = 0x8000;
const UNKNOWN = 1;

/** `<s>` and `</s>` */
export const [BEGIN, END] = [2, 3];

export const tokenizer = new Tokenizer(read('tokenizer.json'), read('tokenizer_config.json'));

const known = new Map();

/** Ids of what stands between spaces: the tokenizer cuts there first, so each such part can be remembered. */
function encodeWord(word) {
  let ids = known.get(word);
  if (ids === undefined) {
    ids = tokenizer.encode(word, { add_special_tokens: false }).ids;
    known.set(word, ids);
  }
  return ids;
}

/** Ids of a text, without <s> and </s>. */
export const encode = (text) => (text.match(/ ?[^ ]+/g) ?? []).flatMap(encodeWord);

/** Tokens that are given: nobody asks for them. */
export const given = (ids) => ids.map((id) => id | GIVEN);

/** Are nearly all of its characters in the vocabulary? */
export const isReadable = (ids) => ids.length > 0 && ids.filter((id) => id === UNKNOWN).length <= ids.length * 0.05;

/** Writes a .tokens file. */
export function writeSequences(path, sequences) {
  const numbers = new Uint16Array(sequences.reduce((sum, ids) => sum + ids.length + 1, 0));
  let at = 0;
  for (const ids of sequences) {
    numbers[at] = ids.length;
    numbers.set(ids, at + 1);
    at += ids.length + 1;
  }
  writeFileSync(path, Buffer.from(numbers.buffer));
  console.log(`${path}: ${sequences.length} sequences, ${at - sequences.length} tokens`);
}

/** The sequences of a .tokens file. */
export function readSequences(path) {
  const bytes = readFileSync(path);
  const numbers = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2);
  const found = [];
  for (let place = 0; place < numbers.length; place += numbers[place] + 1) {
    found.push(Array.from(numbers.subarray(place + 1, place + 1 + numbers[place])));
  }
  return found;
}
