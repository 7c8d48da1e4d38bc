// Makes the numbers that the trainer reads from the texts:
//
//     node training/bilingual/prepare.mjs CORPUS OUT
//
// CORPUS is the folder of the texts (corpus.mjs names the files). Into OUT go
//
//   echoes.tokens                what the first steps are trained on
//   texts.tokens                 what most are
//   masks.tokens                 what the last are: some of it again, in another order, with fewer small worlds
//   held-out/SOURCE.tokens       what is not, a file for each source
//   tests.json                   questions with exact answers, about pairs of words that training never tells
//
// A sequence is at most 64 tokens: <s>, then whole sentences as long as they fit, then </s>.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Random } from '../random.mjs';
import { BEGIN, END, encode, GIVEN, given, isReadable, writeSequences } from '../tokens.mjs';
import { readSource, SOURCES, sentences } from './corpus.mjs';
import { en, zh } from './words.mjs';
import { worldTest, worldText } from './worlds.mjs';

const LONGEST = 64;
const WORLD_TEXTS = 160_000; // half in each language
const ECHOES = 40_000; // for the first steps
const HELD_OUT_SEQUENCES = 400; // of each source, at most
const TESTS = 250; // of each kind and language

const [corpus, out] = process.argv.slice(2);
if (!out) {
  console.error('node training/bilingual/prepare.mjs CORPUS OUT');
  process.exit(2);
}
/** Ids of a piece of text, without <s> and </s>. `first`: does it begin the sequence? Later English words have a space before. */
const encodePiece = (text, first, language) => encode(first || language === 'zh' ? text : ` ${text}`);

// ===== Sequences ======================================================================================================

/** Sequences of the pieces in their order, each as many whole pieces as fit; a piece that is too long is cut. */
function* fill(pieces, language, random, strung) {
  let ids = [];
  let left = strung(random);
  for (const piece of pieces) {
    let next = encodePiece(piece, ids.length === 0, language);
    if (ids.length > 0 && (left === 0 || ids.length + next.length > LONGEST - 2)) {
      yield [BEGIN, ...ids, END];
      ids = [];
      left = strung(random);
      next = encodePiece(piece, true, language);
    }
    if (next.length > LONGEST - 2) {
      yield [BEGIN, ...next.slice(0, LONGEST - 1)]; // goes on: no </s>
      left = strung(random);
      continue;
    }
    ids.push(...next);
    left--;
  }
  if (ids.length > 0) {
    yield [BEGIN, ...ids, END];
  }
}

/** How many lines of a source whose lines have nothing to do with each other stand together: mostly one. */
const fewLines = (random) => (random.chance(0.6) ? 1 : random.whole(2, 5));
const asManyAsFit = () => Number.POSITIVE_INFINITY;

const NAMES = {
  en: { pattern: /\b(Tom|Mary)\b/g, of: { Tom: en.men, Mary: en.women } },
  zh: { pattern: /汤姆|玛丽/g, of: { 汤姆: zh.men, 玛丽: zh.women } },
};

/** Tatoeba's people are all called Tom and Mary: two times of three they get other names here. */
function varyNames(text, language, random) {
  const { pattern, of } = NAMES[language];
  const chosen = {};
  return text.replace(pattern, (name) => {
    chosen[name] ??= random.chance(1 / 3) ? name : random.pick(of[name]);
    return chosen[name];
  });
}

function sequencesOf(texts, source, random, vary) {
  const lines = source.unit === 'line' && source.name !== 'zh wikipedia';
  const name = (piece) => (vary ? varyNames(piece, source.language, random) : piece);
  const found = [];
  const add = (pieces, strung) => {
    for (const ids of fill(pieces.map(name), source.language, random, strung)) {
      if (isReadable(ids)) {
        found.push(ids);
      }
    }
  };
  if (lines) {
    add(
      texts.map(([line]) => line),
      fewLines,
    );
  } else {
    for (const text of texts) {
      add(
        text.flatMap((paragraph) => sentences(paragraph, source.language)),
        asManyAsFit,
      );
    }
  }
  return found;
}

/** All of a source as often as its epochs say, in an order and with joints of its own each time. */
function training(texts, source) {
  const random = new Random(`training ${source.name}`);
  const found = [];
  for (let epochs = source.epochs; epochs > 0; epochs--) {
    const shuffled = random.shuffle([...texts]);
    found.push(
      ...sequencesOf(shuffled.slice(0, Math.ceil(shuffled.length * Math.min(1, epochs))), source, random, true),
    );
  }
  return found;
}

// ===== Files ==========================================================================================================

function* worlds() {
  for (const language of ['en', 'zh']) {
    const random = new Random(`worlds ${language}`);
    for (let i = 0; i < WORLD_TEXTS / 2; i++) {
      const [told, rest] = worldText(random, language);
      const ids = [...given(encodePiece(told, true, language)), ...encodePiece(rest, told === '', language)];
      yield ids.length <= LONGEST - 2 ? [BEGIN, ...ids, END] : [BEGIN, ...ids.slice(0, LONGEST - 1)];
    }
  }
}

/**
 * Words in any order, and the same again and again: what comes next is what came next before. For the first steps: of few
 * words at first, then of ever more, so that heads which look back form while that is easy.
 */
function* echoes() {
  const random = new Random('echoes');
  const words = [
    ...Object.values(en)
      .flat()
      .map((word) => ` ${word}`),
    ...Object.values(zh).flat(),
  ];
  const ids = random.shuffle([...new Set(words.flatMap(encode))]);
  const fewAtFirst = (done) => 32 * (ids.length / 32) ** Math.min(1, Math.max(0, (done - 0.35) / 0.5));
  for (let i = 0; i < ECHOES; i++) {
    const known = ids.slice(0, Math.round(fewAtFirst(i / ECHOES)));
    const length = random.whole(4, 15);
    const once = random.chance(0.5) ? random.some(known, length) : Array.from({ length }, () => random.pick(known));
    const times = Array.from({ length: random.whole(length, 4 * length) }, (_, place) => once[place % length]);
    yield [BEGIN, ...given(once), ...times].slice(0, LONGEST);
  }
}

function tests() {
  const found = [];
  for (const language of ['en', 'zh']) {
    const random = new Random(`tests ${language}`);
    for (const kind of ['places', 'colours', 'likes', 'has', 'gives']) {
      for (let i = 0; i < TESTS; i++) {
        found.push({ language, ...worldTest(random, language, kind) });
      }
    }
  }
  return found;
}

mkdirSync(join(out, 'held-out'), { recursive: true });
writeFileSync(join(out, 'tests.json'), `${JSON.stringify(tests(), null, 1)}\n`);

writeSequences(join(out, 'echoes.tokens'), [...echoes()]);
const order = new Random('order');
/** [place in the file, sequence]. Worlds are denser at its beginning, since what they teach takes long to learn. */
const all = [...worlds()].map((ids) => [order.next() ** 1.5, ids]);
console.log(`worlds: ${all.length} sequences, ${all.reduce((sum, [, ids]) => sum + ids.length, 0)} tokens`);
for (const source of SOURCES) {
  const texts = readSource(corpus, source);
  const sequences = training(texts.training, source);
  console.log(
    `${source.name}: ${sequences.length} sequences, ${sequences.reduce((sum, ids) => sum + ids.length, 0)} tokens`,
  );
  for (const ids of sequences) {
    all.push([order.next(), ids]);
  }
  const random = new Random(`held-out ${source.name}`);
  const heldOut = random.shuffle(sequencesOf(texts.heldOut, source, random, false)).slice(0, HELD_OUT_SEQUENCES);
  writeSequences(join(out, 'held-out', `${source.name.replace(' ', '-')}.tokens`), heldOut);
}
all.sort(([one], [other]) => one - other);
const inOrder = all.map(([, ids]) => ids);
writeSequences(join(out, 'texts.tokens'), inOrder);
const isWorld = (ids) => ids.some((id) => id >= GIVEN);
const chosen = inOrder.filter((ids) => order.chance(isWorld(ids) ? 0.12 : 0.3));
writeSequences(join(out, 'masks.tokens'), order.shuffle(chosen));
