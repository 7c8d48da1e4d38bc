// What a trained model can do, and what its heads do, measured:
//
//     node training/bilingual/measure.mjs MODEL DATA
//
// MODEL is a folder with config.json, model.safetensors and tokenizer.json; DATA is what prepare.mjs made. Run after
// ./build.sh. Prints Markdown: answers to the questions of tests.json, then a table of heads.
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { loadModel } from '../../dist/index.js';
import { readSequences } from '../tokens.mjs';

const SENTENCES = 40; // of each held-out file
const CAUSAL = { mask: { causal: true } };

const [folder, data] = process.argv.slice(2);
if (!data) {
  console.error('node training/bilingual/measure.mjs MODEL DATA');
  process.exit(2);
}
const at = (name) => pathToFileURL(resolve(folder, name));
const model = await loadModel(
  {
    name: 'measured',
    config: at('config.json'),
    weights: at('model.safetensors'),
    tokenizer: at('tokenizer.json'),
    tokenizerConfig: at('tokenizer_config.json'),
  },
  { thread: 'here' },
);
const { layers, heads } = model.info;
const everyHead = Array.from({ length: layers * heads }, (_, index) => index);
const nameOf = (head) => `${Math.floor(head / heads) + 1}.${(head % heads) + 1}`;
const percent = (share) => `${(100 * share).toFixed(1)} %`;

// ===== Questions ======================================================================================================

/** The tokens before the answer, the answer's first token, and where the answer was told: from that token to before that. */
async function asTokens({ prompt, answer, language }) {
  const tokens = await model.tokenize(`${prompt}${language === 'en' ? ' ' : ''}${answer}`, { endToken: false });
  const first = tokens.findIndex((token) => !token.special && token.end > prompt.length);
  const ids = tokens.map((token) => token.id);
  const from = ids.indexOf(ids[first]);
  return { ids: ids.slice(0, first), answer: ids[first], told: { from, before: from + ids.length - first } };
}

/** Of each head, does the last row look most at a token of the answer, where it was told? */
function headsThatLook({ attention, tokens }, told) {
  const size = tokens.length;
  return everyHead.filter((head) => {
    const row = attention.subarray((head * size + size - 1) * size, (head + 1) * size * size);
    const most = row.indexOf(Math.max(...row));
    return most >= told.from && most < told.before;
  });
}

async function ask(tests) {
  const sums = { asked: 0, right: 0, explained: 0, byHead: new Map() };
  for (const test of tests) {
    const { ids, answer, told } = await asTokens(test);
    const result = await model.run(ids, { ...CAUSAL, logits: 'last', topK: 1 });
    const right = result.topK[0].predictions[0].id === answer;
    const looking = headsThatLook(result, told);
    sums.asked++;
    sums.right += right;
    sums.explained += right && looking.length > 0;
    for (const head of looking) {
      sums.byHead.set(head, (sums.byHead.get(head) ?? 0) + 1);
    }
  }
  return sums;
}

async function reportQuestions() {
  const tests = JSON.parse(readFileSync(join(data, 'tests.json'), 'utf8'));
  console.log('| | questions | right | right, and a head looks most at the answer | heads that do most often |');
  console.log('|---|---|---|---|---|');
  for (const language of ['en', 'zh']) {
    for (const kind of new Set(tests.map((test) => test.kind))) {
      const sums = await ask(tests.filter((test) => test.language === language && test.kind === kind));
      const best = [...sums.byHead].sort((a, b) => b[1] - a[1]).slice(0, 4);
      const names = best.map(([head, count]) => `${nameOf(head)} ${percent(count / sums.asked)}`).join(', ');
      console.log(
        `| ${language} ${kind} | ${sums.asked} | ${percent(sums.right / sums.asked)} | ${percent(sums.explained / sums.asked)} | ${names} |`,
      );
    }
  }
}

// ===== Heads ==========================================================================================================

/** Patterns: which keys they name for row i of these tokens, [] where they say nothing. */
const range = (end) => Array.from({ length: end }, (_, j) => j);
const PATTERNS = {
  'previous token': (_, i) => (i > 1 ? [i - 1] : []),
  'this token': (_, i) => (i > 0 ? [i] : []),
  'first token (sink)': (_, i) => (i > 1 ? [0] : []),
  'same word before': (tokens, i) => range(i).filter((j) => j > 0 && tokens[j].id === tokens[i].id),
  'after the same word (induction)': (tokens, i) =>
    range(i + 1).filter((j) => j > 1 && tokens[j - 1].id === tokens[i].id),
  punctuation: (tokens, i) => range(i).filter((j) => /^[\p{P}]+$/u.test(tokens[j].text)),
  'two back': (_, i) => (i > 2 ? [i - 2] : []),
  'three back': (_, i) => (i > 3 ? [i - 3] : []),
};

class Tally {
  weight = 0;
  chance = 0;
  rows = 0;

  get mean() {
    return this.weight / this.rows;
  }

  get lift() {
    return (this.weight - this.chance) / this.rows;
  }
}

function addMaps(tallies, { attention, tokens }) {
  const size = tokens.length;
  for (const [name, keysOf] of Object.entries(PATTERNS)) {
    for (let i = 1; i < size; i++) {
      const keys = keysOf(tokens, i);
      if (keys.length === 0) {
        continue;
      }
      for (const head of everyHead) {
        const tally = tallies[head][name];
        tally.rows++;
        tally.chance += keys.length / (i + 1);
        for (const j of keys) {
          tally.weight += attention[(head * size + i) * size + j];
        }
      }
    }
  }
}

function* heldOutSentences() {
  for (const file of readdirSync(join(data, 'held-out')).sort()) {
    yield* readSequences(join(data, 'held-out', file)).slice(0, SENTENCES);
  }
}

async function reportHeads() {
  const tallies = everyHead.map(() => Object.fromEntries(Object.keys(PATTERNS).map((name) => [name, new Tally()])));
  let sentences = 0;
  for (const ids of heldOutSentences()) {
    addMaps(tallies, await model.run(ids, CAUSAL));
    sentences++;
  }
  console.log(
    `\nHeads under a causal mask, over ${sentences} held-out sentences: the pattern that a head follows furthest`,
  );
  console.log(
    'above chance, the share of its attention that goes there, and what looking everywhere alike would give.\n',
  );
  console.log('| head | looks at | share | by chance | next |');
  console.log('|---|---|---|---|---|');
  for (const head of everyHead) {
    const [[name, best], [second, other]] = Object.entries(tallies[head]).sort((a, b) => b[1].lift - a[1].lift);
    const chance = (best.chance / best.rows).toFixed(2);
    console.log(
      `| ${nameOf(head)} | ${name} | ${best.mean.toFixed(2)} | ${chance} | ${second} ${other.mean.toFixed(2)} |`,
    );
  }
}

await reportQuestions();
await reportHeads();
model.dispose();
