// Makes the pairs of numbers that the trainer reads from pairs of sentences:
//
//     node training/translator/prepare.mjs CORPUS OUT
//
// CORPUS is the folder with par_en_zh_tatoeba.tsv. Into OUT go
//
//   train.tokens         what is trained on, in both directions, shuffled
//   held-out/*.tokens    what is not: sentences and worlds, English to Chinese and back
//   tests.json           the same as texts, each with all its translations
//
// A source is <s>, the tokens of a sentence, </s>, as the tokenizer makes them; its target is the same of the
// translation. Nothing says which way to translate: the language of the source does.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clean, cleanEnglish, wordsAlone } from '../bilingual/corpus.mjs';
import { hash, Random } from '../random.mjs';
import { BEGIN, END, encode, isReadable, writeSequences } from '../tokens.mjs';
import { men, women } from './words.mjs';
import { dictionary, world } from './worlds.mjs';

const LONGEST = 48;
const HELD_OUT = 40; // one sentence of so many, with all its translations
const WORLDS = 40_000;
const WORLD_TESTS = 300;
const DIRECTIONS = [
  ['en', 'zh'],
  ['zh', 'en'],
];

const [corpus, out] = process.argv.slice(2);
if (!out) {
  console.error('node training/translator/prepare.mjs CORPUS OUT');
  process.exit(2);
}

// ===== Sentences ======================================================================================================

/** Pairs { en, zh }, none of them twice. */
function readPairs() {
  const seen = new Set();
  const pairs = [];
  for (const line of readFileSync(join(corpus, 'par_en_zh_tatoeba.tsv'), 'utf8').split(/\r?\n/)) {
    const [english = '', chinese = ''] = line.split('\t');
    const pair = { en: cleanEnglish(english), zh: clean(chinese) };
    const key = keys(pair).join('|');
    if (pair.en && pair.zh && !seen.has(key)) {
      seen.add(key);
      pairs.push(pair);
    }
  }
  return pairs;
}

/** By the words alone, and never the same in both languages. */
const keys = ({ en, zh }) => [`en ${wordsAlone(en)}`, `zh ${wordsAlone(zh)}`];

/**
 * Parts the pairs so that no sentence of either language is in both parts. Sentences that share a translation hang
 * together, however far; what hangs together falls on one side, by the first of its keys in the alphabet.
 */
function part(pairs) {
  const parents = new Map();
  const rootOf = (key) => {
    const parent = parents.get(key) ?? key;
    if (parent === key) {
      return key;
    }
    const root = rootOf(parent);
    parents.set(key, root);
    return root;
  };
  for (const pair of pairs) {
    const [one, other] = keys(pair).map(rootOf).sort();
    parents.set(other, one);
  }
  const isHeldOut = (pair) => hash(rootOf(keys(pair)[0])) % HELD_OUT === 0;
  return { training: pairs.filter((pair) => !isHeldOut(pair)), heldOut: pairs.filter(isHeldOut) };
}

const NAMES = { Tom: { zh: '汤姆', others: men }, Mary: { zh: '玛丽', others: women } };

/** Tatoeba's people are all called Tom and Mary: two times of three they get other names here, the same on both sides. */
function varyNames(pair, random) {
  let { en, zh } = pair;
  for (const [name, { zh: name2, others }] of Object.entries(NAMES)) {
    const word = new RegExp(`\\b${name}\\b`, 'g');
    if (word.test(en) && zh.includes(name2) && random.chance(2 / 3)) {
      const other = random.pick(others);
      en = en.replace(word, other.en);
      zh = zh.replaceAll(name2, other.zh);
    }
  }
  return { en, zh };
}

// ===== Tokens =========================================================================================================

/** [[source, target]], or [] if one is too long or has characters that the vocabulary has not. */
function tokensOf(pair, direction) {
  const sides = direction.map((language) => encode(pair[language]));
  const fit = sides.every((ids) => isReadable(ids) && ids.length <= LONGEST - 2);
  return fit ? [sides.map((ids) => [BEGIN, ...ids, END])] : [];
}

const bothWays = (pair) => DIRECTIONS.flatMap((direction) => tokensOf(pair, direction));

function trainingTokens(sentences, worlds) {
  const random = new Random('names');
  const named = sentences.flatMap((pair) =>
    DIRECTIONS.flatMap((direction) => tokensOf(varyNames(pair, random), direction)),
  );
  return new Random('order').shuffle([...named, ...worlds.flatMap(bothWays), ...dictionary.flatMap(bothWays)]);
}

// ===== Worlds and tests ===============================================================================================

/** So many different ones, none of which is among `others`. */
function makeWorlds(seed, count, heldOut, others = new Set()) {
  const random = new Random(seed);
  const found = new Map();
  while (found.size < count) {
    const pair = world(random, heldOut);
    if (!others.has(pair.en)) {
      found.set(pair.en, pair);
    }
  }
  return [...found.values()];
}

/** Each sentence once, with all its translations. */
function testsOf(pairs, kind, [from, to]) {
  const tests = new Map();
  for (const pair of pairs.filter((candidate) => tokensOf(candidate, [from, to]).length > 0)) {
    const key = wordsAlone(pair[from]);
    const test = tests.get(key) ?? { from, to, kind, source: pair[from], references: [] };
    test.references.push(pair[to]);
    tests.set(key, test);
  }
  return [...tests.values()];
}

// ===== Files ==========================================================================================================

mkdirSync(join(out, 'held-out'), { recursive: true });
const { training, heldOut } = part(readPairs());
const worlds = makeWorlds('worlds', WORLDS, false);
const heldOutWorlds = makeWorlds('held-out worlds', WORLD_TESTS, true, new Set(worlds.map(({ en }) => en)));
const tests = [];
for (const [kind, pairs] of Object.entries({ sentences: heldOut, worlds: heldOutWorlds })) {
  for (const direction of DIRECTIONS) {
    const tokens = pairs.flatMap((pair) => tokensOf(pair, direction));
    writeSequences(join(out, 'held-out', `${kind}-${direction.join('-')}.tokens`), tokens.flat());
    tests.push(...testsOf(pairs, kind, direction));
  }
}
writeFileSync(join(out, 'tests.json'), `${JSON.stringify(tests, null, 1)}\n`);
writeSequences(join(out, 'train.tokens'), trainingTokens(training, worlds).flat());
