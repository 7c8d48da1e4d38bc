// What a trained translator can do, and where its heads look, measured:
//
//     node training/translator/measure.mjs WEIGHTS DATA
//     node training/translator/measure.mjs WEIGHTS DATA --moved-from OTHER
//
// WEIGHTS and OTHER are safetensors files, DATA is what prepare.mjs made. Run after ./build.sh. Prints Markdown:
// translations of what was held out, then how far each head of cross-attention agrees with alignments made by hand; or how
// far the attention of WEIGHTS is from that of OTHER, of which it is a smaller copy.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { translator } from '../../dist/models/translator/index.js';
import { Trainer } from '../../dist/train/index.js';
import { BEGIN, END, encode, readSequences, tokenizer } from '../tokens.mjs';
import { Agreement, readAlignments } from './alignments.mjs';
import { chrf } from './chrf.mjs';

const TRANSLATED = 500; // of each kind and direction, at most
const COMPARED = 200;
const DIRECTIONS = [
  ['en', 'zh'],
  ['zh', 'en'],
];

const [weights, data, option, other] = process.argv.slice(2);
if (!data || (option && (option !== '--moved-from' || !other))) {
  console.error('node training/translator/measure.mjs WEIGHTS DATA [--moved-from OTHER]');
  process.exit(2);
}

const { layers, heads, positions, vocabulary } = translator.network;
const percent = (share) => `${(100 * share).toFixed(1)} %`;
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
const peakOf = (row) => row.reduce((best, value, i) => (value > row[best] ? i : best), 0);

async function load(path) {
  const model = await Trainer.create(translator.network);
  model.load(new Uint8Array(readFileSync(path)));
  return model;
}

const frame = (text) => Int32Array.from([BEGIN, ...encode(text), END]);
const look = (model, source, tokens) => model.probe({ source, tokens, causal: true }, { logits: true });

/** Ids that the model writes after `<s>`, each time the most probable one. */
function translate(model, source) {
  const ids = [BEGIN];
  while (ids.length < positions && ids.at(-1) !== END) {
    const { logits } = look(model, source, Int32Array.from(ids));
    ids.push(peakOf(logits.subarray(-vocabulary)));
  }
  return ids.slice(1).filter((id) => id !== END);
}

const spell = (ids) => tokenizer.decode(ids, { skip_special_tokens: true });

// ===== Translations ===================================================================================================

const plain = (text) => spell(encode(text));

function reportTranslations(model) {
  const tests = JSON.parse(readFileSync(join(data, 'tests.json'), 'utf8'));
  console.log('| held out | sentences | chrF | word for word as a reference |\n|---|---|---|---|');
  for (const kind of ['sentences', 'worlds']) {
    for (const [from, to] of DIRECTIONS) {
      const every = tests.filter((test) => test.kind === kind && test.from === from);
      const stride = Math.max(1, Math.floor(every.length / TRANSLATED)); // the file goes from short to long
      const asked = every.filter((_, i) => i % stride === 0).slice(0, TRANSLATED);
      const done = asked.map(({ source, references }) => ({
        translation: spell(translate(model, frame(source))),
        references: references.map(plain),
      }));
      const right = done.filter(({ translation, references }) => references.includes(translation)).length;
      console.log(
        `| ${kind}, ${from} to ${to} | ${asked.length} | ${chrf(done).toFixed(1)} | ${percent(right / asked.length)} |`,
      );
    }
  }
}

// ===== Alignments =====================================================================================================

/** Is none of these sentences trained on? */
function requireUnseen(pairs) {
  const trained = new Set(readSequences(join(data, 'train.tokens')).map((ids) => ids.join(' ')));
  for (const { text } of pairs) {
    for (const sentence of Object.values(text)) {
      if (trained.has(frame(sentence).join(' '))) {
        throw new Error(`alignments.json: '${sentence}' is in train.tokens`);
      }
    }
  }
}

/**
 * What is compared with the hand: each head; the mean of a layer's heads, and of all. Each is a function from a pass to
 * rows, one for each query, over the source's tokens without <s> and </s>.
 */
function mapsOf({ crossAttention, length, sourceLength }) {
  const size = length * sourceLength;
  const maps = Array.from({ length: layers * heads }, (_, i) => crossAttention.subarray(i * size, (i + 1) * size));
  const mean = (some) => Float32Array.from({ length: size }, (_, i) => sum(some.map((map) => map[i])) / some.length);
  const named = maps.map((map, i) => [`${Math.floor(i / heads) + 1}.${(i % heads) + 1}`, map]);
  for (let layer = 0; layer < layers; layer++) {
    named.push([`mean of layer ${layer + 1}`, mean(maps.slice(layer * heads, (layer + 1) * heads))]);
  }
  return [...named, ['mean of all', mean(maps)]];
}

class Measured {
  agreement = { writes: new Agreement(), reads: new Agreement() };
  resting = 0;
  rows = 0;

  add(pair, from, to, map, sourceLength) {
    const rows = Array.from({ length: map.length / sourceLength }, (_, i) =>
      map.subarray(i * sourceLength, (i + 1) * sourceLength),
    );
    const peaks = rows.map((row) => peakOf(row.subarray(1, -1)));
    this.agreement.writes.add(pair, from, to, peaks.slice(0, -1));
    this.agreement.reads.add(pair, from, to, peaks.slice(1));
    this.resting += sum(rows.map((row) => row[0] + row[sourceLength - 1]));
    this.rows += rows.length;
  }
}

/** The reference is written whatever the model would have written: of each head, what it looks at meanwhile. */
function alignDirection(model, pairs, [from, to]) {
  const measured = new Map();
  const diagonal = new Agreement();
  for (const pair of pairs) {
    const source = frame(pair.text[from]);
    const tokens = frame(pair.text[to]).slice(0, -1); // the last of them writes </s>
    const pass = look(model, source, tokens);
    for (const [name, map] of mapsOf(pass)) {
      const of = measured.get(name) ?? new Measured();
      of.add(pair, from, to, map, source.length);
      measured.set(name, of);
    }
    const [last, lastSource] = [tokens.length - 2, source.length - 3];
    const straight = Array.from({ length: last + 1 }, (_, i) => Math.round((i * lastSource) / Math.max(1, last)));
    diagonal.add(pair, from, to, straight);
  }
  return { measured, diagonal };
}

function reportAlignments(model, pairs, title) {
  const [there, back] = DIRECTIONS.map((direction) => alignDirection(model, pairs, direction));
  console.log(`\n${title}: ${pairs.length} pairs\n`);
  console.log(
    '| head | en to zh: AER, on the word | read | zh to en: AER, on the word | read | rests |\n|---|---|---|---|---|---|',
  );
  const cells = ({ errorRate, onUnit }) => `${errorRate.toFixed(2)}, ${percent(onUnit)}`;
  for (const [name, { agreement, resting, rows }] of there.measured) {
    const other = back.measured.get(name);
    const rest = percent((resting + other.resting) / (rows + other.rows));
    console.log(
      `| ${name} | ${cells(agreement.writes)} | ${cells(agreement.reads)} | ${cells(other.agreement.writes)} | ${cells(other.agreement.reads)} | ${rest} |`,
    );
  }
  console.log(`| the diagonal | ${cells(there.diagonal)} | | ${cells(back.diagonal)} | | |`);
}

// ===== A smaller copy =================================================================================================

async function reportMoved(model) {
  const exact = await load(other);
  const tests = JSON.parse(readFileSync(join(data, 'tests.json'), 'utf8'));
  const stride = Math.floor(tests.length / COMPARED);
  const moved = { crossAttention: [], encoderAttention: [], attention: [] };
  let same = 0;
  const asked = tests.filter((_, i) => i % stride === 0);
  for (const { source, references } of asked) {
    const ids = frame(source);
    const passes = [model, exact].map((one) => look(one, ids, frame(references[0]).slice(0, -1)));
    for (const [name, changes] of Object.entries(moved)) {
      passes[0][name].forEach((value, i) => {
        changes.push(Math.abs(value - passes[1][name][i]));
      });
    }
    same += String(translate(model, ids)) === String(translate(exact, ids));
  }
  console.log('| attention weights | number | largest change | mean change |\n|---|---|---|---|');
  for (const [name, changes] of Object.entries(moved)) {
    const largest = changes.reduce((most, change) => Math.max(most, change), 0);
    console.log(
      `| ${name} | ${changes.length} | ${largest.toFixed(4)} | ${(sum(changes) / changes.length).toExponential(1)} |`,
    );
  }
  console.log(`\n${same} of ${asked.length} translations are the same, token by token.`);
  exact.dispose();
}

const model = await load(weights);
if (other) {
  await reportMoved(model);
} else {
  const pairs = readAlignments();
  requireUnseen(pairs);
  reportTranslations(model);
  for (const kind of ['everyday', 'world']) {
    reportAlignments(
      model,
      pairs.filter((pair) => pair.kind === kind),
      kind,
    );
  }
  reportAlignments(model, pairs, 'both');
}
model.dispose();
