// The texts: which files, how they are cleaned, and which part of them is never trained on.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hash } from '../random.mjs';

/**
 * name, file and language; `epochs`: how often it is read in training; `unit`: what is one text: each line by itself
 * (then several are sometimes strung together), or a document, whose paragraphs follow each other.
 */
export const SOURCES = [
  { name: 'en tatoeba', file: 'en_tatoeba.txt', language: 'en', unit: 'line', epochs: 2 },
  { name: 'en tinystories', file: 'en_tinystories_sample.txt', language: 'en', unit: 'document', epochs: 4 },
  { name: 'en storybook', file: 'en_african_storybook.txt', language: 'en', unit: 'document', epochs: 3 },
  { name: 'en fairytaleqa', file: 'en_fairytaleqa.txt', language: 'en', unit: 'document', epochs: 1.5 },
  { name: 'en grimm', file: 'en_grimm_hunt.txt', language: 'en', unit: 'document', epochs: 1 },
  { name: 'en gutenberg', file: 'en_gutenberg_children.txt', language: 'en', unit: 'document', epochs: 0.2 },
  { name: 'zh tatoeba', file: 'zh_tatoeba.txt', language: 'zh', unit: 'line', epochs: 4 },
  { name: 'zh pairs', file: 'par_en_zh_tatoeba.tsv', column: 1, language: 'zh', unit: 'line', epochs: 2 },
  { name: 'zh crosswoz', file: 'zh_dialog_crosswoz.txt', language: 'zh', unit: 'document', epochs: 2 },
  { name: 'zh kdconv', file: 'zh_dialog_kdconv.txt', language: 'zh', unit: 'document', epochs: 2 },
  { name: 'zh luxun', file: 'zh_luxun.txt', language: 'zh', unit: 'document', epochs: 1 },
  { name: 'zh wikipedia', file: 'zh_wikipedia_easy.txt', language: 'zh', unit: 'line', epochs: 0.3 },
];

const HELD_OUT = 50; // one text of so many

/** Plain marks, single spaces. */
export function clean(text) {
  return text
    .replace(/[‘’]/g, "'")
    .replace(/[\u200b\ufeff]/g, '')
    .replace(/\s+/g, ' ')
    .trim();
}

export const cleanEnglish = (text) =>
  clean(text).replace(/[“”]/g, '"').replace(/--+|—/g, ' - ').replace(/_/g, '').replace(/ +/g, ' ');

/** The letters and digits of a text, by which two are the same. */
export const wordsAlone = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');

/** The texts of a source, each a list of cleaned paragraphs: { training, heldOut }. The same text twice counts once. */
export function readSource(folder, source) {
  const lines = readFileSync(join(folder, source.file), 'utf8').split(/\r?\n/);
  const wanted = lines.map((line) => (source.column === undefined ? line : (line.split('\t')[source.column] ?? '')));
  const paragraphs = wanted.map(source.language === 'en' ? cleanEnglish : clean);
  const texts = source.unit === 'line' ? paragraphs.map((line) => [line]) : documents(paragraphs);
  const parts = { training: [], heldOut: [] };
  const seen = new Set();
  for (const text of texts) {
    const key = text[0];
    if (key && !seen.has(key)) {
      seen.add(key);
      // By the words alone: a sentence that stands in two files falls on the same side in both.
      parts[hash(wordsAlone(key)) % HELD_OUT === 0 ? 'heldOut' : 'training'].push(text);
    }
  }
  return parts;
}

/** Paragraphs between blank lines; at most 40 together, so that a whole book is not one text. */
function documents(paragraphs) {
  const found = [[]];
  for (const paragraph of paragraphs) {
    if (paragraph === '' || found.at(-1).length === 40) {
      found.push([]);
    }
    if (paragraph !== '') {
      found.at(-1).push(paragraph);
    }
  }
  return found.filter((text) => text.length > 0);
}

/** Ends of sentences, after which a text may be cut. */
export function sentences(paragraph, language) {
  const pattern = language === 'zh' ? /[^。！？；…]+[。！？；…]*[”’」』）]*/g : /[^.!?]+[.!?]*["')]*\s*/g;
  return (paragraph.match(pattern) ?? [paragraph]).map((part) => part.trim()).filter((part) => part !== '');
}
