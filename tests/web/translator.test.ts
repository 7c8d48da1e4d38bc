/** The shipped translator: what it writes, and that a head looks at the words it is writing. */
import { readFile } from 'node:fs/promises';
import { translator } from 'multihead/models/translator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BEGIN, END, encode, tokenizer } from '../../training/tokens.mjs';
import { Agreement, readAlignments } from '../../training/translator/alignments.mjs';
import { type Probe, Trainer } from '../../web/src/train/index.js';

const { heads, vocabulary, positions } = translator.network;
const frame = (text: string) => Int32Array.from([BEGIN, ...encode(text), END]);
const peakOf = (row: Float32Array) => row.indexOf(Math.max(...row));

let model: Trainer;
beforeAll(async () => {
  model = await Trainer.create(translator.network);
  model.load(await readFile(translator.weights));
});
afterAll(() => model?.dispose());

function look(source: Int32Array, tokens: Int32Array) {
  const {
    logits,
    crossAttention,
    sourceLength = 0,
    length,
  } = model.probe({ source, tokens, causal: true }, { logits: true }) satisfies Probe;
  if (!logits || !crossAttention) throw new Error('no encoder-decoder');
  return { logits, crossAttention, sourceLength, length };
}

function translate(text: string): string {
  const ids: number[] = [BEGIN];
  while (ids.length < positions && ids.at(-1) !== END) {
    ids.push(peakOf(look(frame(text), Int32Array.from(ids)).logits.subarray(-vocabulary)));
  }
  return tokenizer.decode(ids, { skip_special_tokens: true });
}

test.each([
  ['The ball is in the kitchen.', '球在厨房里。'],
  ['Kate likes bread.', '凯特喜欢面包。'],
  ['杰克在房间里。', 'jack is in the room.'],
  ['谁把盘子给了丽莎？', 'who gave the plate to lisa?'],
])('%s', (text, translation) => {
  expect(translate(text)).toBe(translation);
});

test('every row of cross-attention sums to 1', () => {
  const { crossAttention, sourceLength } = look(frame('Who likes music?'), frame('谁喜欢音乐？'));
  for (let at = 0; at < crossAttention.length; at += sourceLength) {
    const row = crossAttention.subarray(at, at + sourceLength);
    expect(row.reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 5);
  }
});

/** Of one head, over all pairs that were aligned by hand, as the card has it. */
function agreementOf(layer: number, head: number, from: 'en' | 'zh', to: 'en' | 'zh'): Agreement {
  const agreement = new Agreement();
  for (const pair of readAlignments()) {
    const tokens = frame(pair.text[to]).slice(0, -1);
    const { crossAttention, sourceLength } = look(frame(pair.text[from]), tokens);
    const map = crossAttention.subarray((layer * heads + head) * tokens.length * sourceLength);
    const peaks = Array.from({ length: tokens.length - 1 }, (_, row) =>
      peakOf(map.subarray(row * sourceLength + 1, (row + 1) * sourceLength - 1)),
    );
    agreement.add(pair, from, to, peaks);
  }
  return agreement;
}

test.each([
  [2, 2, 'en', 'zh', 0.24],
  [3, 1, 'zh', 'en', 0.18],
] as const)('head %i.%i looks at what it writes, %s to %s', (layer, head, from, to, errorRate) => {
  expect(agreementOf(layer - 1, head - 1, from, to).errorRate).toBeCloseTo(errorRate, 1);
});
