// How far a model's attention moves with the way its weights are stored:
//
//     node training/bilingual/storage.mjs WEIGHTS STORED DATA
//
// Both are safetensors files of the bilingual model; DATA is what prepare.mjs made. Over 360 held-out sentences under the
// three masks. Run after ./build.sh. The largest change is `attention_error` of the model's config.json.
import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { loadModel } from '../../dist/index.js';
import { bilingual } from '../../dist/models/bilingual/index.js';
import { readSequences } from '../tokens.mjs';

const SENTENCES = 30; // of each held-out file
const MASKS = { causal: { causal: true }, bidirectional: {}, window: { window: 8 } };

const [weights, stored, data] = process.argv.slice(2);
if (!data) {
  console.error('node training/bilingual/storage.mjs WEIGHTS STORED DATA');
  process.exit(2);
}
const load = (path) => loadModel({ ...bilingual, weights: pathToFileURL(resolve(path)) }, { thread: 'here' });
const [exact, small] = [await load(weights), await load(stored)];

/** KL(exact ‖ small) of two rows of logits, nats. */
function divergence(logits, others) {
  const total = (row) => Math.log(row.reduce((sum, x) => sum + Math.exp(x - row[0]), 0)) + row[0];
  const [one, other] = [total(logits), total(others)];
  return logits.reduce((sum, x, i) => sum + Math.exp(x - one) * (x - one - (others[i] - other)), 0);
}

const sums = { sentences: 0, weights: 0, largest: 0, change: 0, predictions: 0, divergence: 0, same: 0 };
const largestAt = (row) => row.indexOf(Math.max(...row));

async function compare(ids, mask) {
  const [a, b] = [await exact.run(ids, { mask, logits: 'all' }), await small.run(ids, { mask, logits: 'all' })];
  a.attention.forEach((weight, i) => {
    const change = Math.abs(weight - b.attention[i]);
    sums.largest = Math.max(sums.largest, change);
    sums.change += change;
  });
  sums.weights += a.attention.length;
  const width = a.logits.length / ids.length;
  for (let i = 0; i < ids.length; i++) {
    const rows = [a, b].map(({ logits }) => logits.subarray(i * width, (i + 1) * width));
    sums.predictions++;
    sums.divergence += divergence(...rows);
    sums.same += largestAt(rows[0]) === largestAt(rows[1]);
  }
}

for (const file of readdirSync(join(data, 'held-out')).sort()) {
  for (const ids of readSequences(join(data, 'held-out', file)).slice(0, SENTENCES)) {
    sums.sentences++;
    for (const mask of Object.values(MASKS)) {
      await compare(ids, mask);
    }
  }
}
console.log(`${sums.sentences} sentences, ${sums.weights} attention weights: at most ${sums.largest.toFixed(4)}`);
console.log(`mean change ${(sums.change / sums.weights).toExponential(1)}`);
console.log(`KL of the predictions ${(sums.divergence / sums.predictions).toExponential(1)} nats`);
console.log(`same first prediction ${((100 * sums.same) / sums.predictions).toFixed(1)} %`);
exact.dispose();
small.dispose();
