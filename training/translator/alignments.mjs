// The hand-made alignments: which words of a sentence and of its translation mean one another, and how far a map of
// attention says the same.
//
// In alignments.json `zh` has a space between words; `sure` and `possible` name links as english=chinese, a later one of
// the same words with #2, #3. What has no word of its own in the other language, such as articles and measure words, is
// linked possibly. Links are compared between units, the shortest stretches of a text that are whole words and whole
// tokens: a token may be part of a word, and in Chinese several words.
import { readFileSync } from 'node:fs';
import { tokenizer } from '../tokens.mjs';

const WORD = /[\p{L}\p{N}']+|[^\s]/gu;

/** Words with their places in the text. */
function englishWords(text) {
  return [...text.matchAll(WORD)].map(({ 0: word, index }) => ({ word, start: index, end: index + word.length }));
}

function chineseWords(spaced) {
  let start = 0;
  return spaced.split(' ').map((word) => {
    const placed = { word, start, end: start + word.length };
    start = placed.end;
    return placed;
  });
}

/** For each token, the first and last word that it has a part of. A space before a word is not a part of one. */
function wordsOfTokens(text, words) {
  const wordAt = (place) => words.findIndex(({ start, end }) => start <= place && place < end);
  let start = 0;
  return tokenizer.tokenize(text, { add_special_tokens: false }).map((token) => {
    const end = start + token.length;
    const first = wordAt(token.startsWith('▁') ? start + 1 : start);
    const last = token === '▁' ? first : wordAt(end - 1);
    start = end;
    return { first, last };
  });
}

/** The unit of each word, and of each token. */
function unitsOf(text, words) {
  const tokens = wordsOfTokens(text, words);
  let unit = -1;
  const ofWords = words.map((_, i) => {
    unit += tokens.some(({ first, last }) => first < i && i <= last) ? 0 : 1;
    return unit;
  });
  return { ofWords, ofTokens: tokens.map(({ first }) => ofWords[first]) };
}

/** The unit of `word` or `word#2` in a sentence. */
function find(words, units, name) {
  const [, word, times] = /^(.+?)(?:#(\d))?$/.exec(name);
  const places = words.flatMap((candidate, i) => (candidate.word === word ? [i] : []));
  const place = places[Number(times ?? 1) - 1];
  if (place === undefined) {
    throw new Error(`alignments.json: there is no ${name} in ${words.map((candidate) => candidate.word).join(' ')}`);
  }
  return units.ofWords[place];
}

/** Sentence pairs { kind, text: { en, zh }, tokenUnits: { en, zh }, sure, possible }; sure links are possible ones too. */
export function readAlignments() {
  const path = new URL('./alignments.json', import.meta.url);
  return JSON.parse(readFileSync(path, 'utf8')).map((entry) => {
    const text = { en: entry.en.toLowerCase(), zh: entry.zh.replaceAll(' ', '') };
    const words = { en: englishWords(text.en), zh: chineseWords(entry.zh) };
    const units = { en: unitsOf(text.en, words.en), zh: unitsOf(text.zh, words.zh) };
    const read = (links) =>
      (links === '' ? [] : links.split(' ')).map((link) => {
        const [, en, zh] = /^(.+?)=(.+)$/.exec(link);
        return { en: find(words.en, units.en, en), zh: find(words.zh, units.zh, zh) };
      });
    const sure = read(entry.sure);
    const tokenUnits = { en: units.en.ofTokens, zh: units.zh.ofTokens };
    return { kind: entry.kind, text, tokenUnits, sure, possible: [...sure, ...read(entry.possible)] };
  });
}

/** Counts how well links found between units agree with those made by hand. */
export class Agreement {
  #found = 0;
  #sure = 0;
  #foundSure = 0;
  #foundPossible = 0;
  #rows = 0;
  #rowsOnUnit = 0;

  /**
   * peaks: for each token of the target, the place of the source token that it is most about; from and to: the languages.
   */
  add(pair, from, to, peaks) {
    const key = (source, target) => `${source} ${target}`;
    const keysOf = (links) => new Set(links.map((link) => key(link[from], link[to])));
    const [sure, possible] = [keysOf(pair.sure), keysOf(pair.possible)];
    const linked = new Set(pair.possible.map((link) => link[to]));
    const found = new Set();
    for (const [token, peak] of peaks.entries()) {
      const target = pair.tokenUnits[to][token];
      const link = key(pair.tokenUnits[from][peak], target);
      found.add(link);
      if (linked.has(target)) {
        this.#rows++;
        this.#rowsOnUnit += possible.has(link);
      }
    }
    this.#found += found.size;
    this.#sure += sure.size;
    this.#foundSure += [...found].filter((link) => sure.has(link)).length;
    this.#foundPossible += [...found].filter((link) => possible.has(link)).length;
  }

  /** Alignment error rate (Och & Ney 2003, "A systematic comparison of various statistical alignment models", eq. 27): 0 is best. */
  get errorRate() {
    return 1 - (this.#foundSure + this.#foundPossible) / (this.#found + this.#sure);
  }

  /** Of the target's tokens whose unit has a link, how many peak on a unit that is linked to it. */
  get onUnit() {
    return this.#rowsOnUnit / this.#rows;
  }
}
