/** chrF of the translator's card, against sacreBLEU 2.6.0: corpus_chrf(translations, references). */
import { expect, test } from 'vitest';
import { chrf } from '../../training/translator/chrf.mjs';

const sentences = [
  {
    translation: 'the apple is on the table .',
    references: ['The apple lies on the table.', 'An apple is on the table.'],
    score: 87.45342295179897,
  },
  { translation: '苹果在桌子上。', references: ['桌子上有苹果。'], score: 25.952380952380956 },
  { translation: 'he', references: ['she is here'], score: 20.79866888519135 },
  { translation: '谁喜欢音乐？', references: ['谁喜欢听音乐？', '音乐是谁喜欢的？'], score: 33.147831050228305 },
  { translation: 'tom likes apples', references: ['tom likes apples'], score: 100 },
];

test('each sentence, and all together, score as sacreBLEU says', () => {
  for (const sentence of sentences) expect(chrf([sentence])).toBeCloseTo(sentence.score, 10);
  expect(chrf(sentences)).toBeCloseTo(71.12119391818405, 10);
});

test('nothing in common is 0', () => {
  expect(chrf([{ translation: '猫', references: ['dog'] }])).toBe(0);
});
