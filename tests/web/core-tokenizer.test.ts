/** Tokens with the text they cover, for the shipped tokenizer and for small ones of the other common kinds. */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { splitGraphemes, wellFormed } from '../../web/src/core/token-spans.js';
import { ModelTokenizer } from '../../web/src/core/tokenizer.js';
import type { Token } from '../../web/src/index.js';

const read = (path: string) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'));
const TOKENIZER = '../../web/models/bilingual/tokenizer.json';

let tokenizer: ModelTokenizer;
beforeAll(async () => {
  tokenizer = await ModelTokenizer.create(read(TOKENIZER), {}, 'tokenizer.json');
});

const texts = (tokens: readonly Token[]) => tokens.map((token) => token.text);

/** Spans lie in the text, in order, on boundaries of graphemes, and together cover all that is not white space. */
function expectSoundSpans(text: string, tokens: readonly Token[]): void {
  const graphemes = splitGraphemes(text);
  const boundaries = new Set([0, ...graphemes.map((span) => span.end)]);
  const covered = new Uint8Array(text.length);
  let start = 0;
  for (const token of tokens) {
    expect(boundaries.has(token.start), `start ${token.start} of ${JSON.stringify(token)}`).toBe(true);
    expect(boundaries.has(token.end), `end ${token.end} of ${JSON.stringify(token)}`).toBe(true);
    expect(token.start).toBeGreaterThanOrEqual(start);
    expect(token.end).toBeGreaterThanOrEqual(token.start);
    expect(wellFormed(token.text)).toBe(token.text);
    expect(token.text).not.toBe('');
    if (token.end > token.start) expect(token.text).toBe(wellFormed(text.slice(token.start, token.end)));
    covered.fill(1, token.start, token.end);
    start = token.start;
  }
  for (const { start: at, end } of graphemes) {
    const grapheme = text.slice(at, end);
    if (!/^[\s\u2581]+$/u.test(grapheme)) expect(covered[at], `nothing covers ${JSON.stringify(grapheme)}`).toBe(1);
  }
}

describe('the shipped tokenizer', () => {
  it('gives the ids that Hugging Face recorded', () => {
    for (const { text, ids } of read('../golden/bilingual/reference/index.json') as { text: string; ids: number[] }[]) {
      const tokens = [...tokenizer.startTokens, ...tokenizer.encode(text), ...tokenizer.endTokens];
      expect(tokens.map((token) => token.id)).toEqual(ids);
    }
  });

  it('keeps case and leaves the space before a word out', () => {
    const tokens = tokenizer.encode("The cat didn't cross  the STREET.");
    expect(texts(tokens).slice(0, 6)).toEqual(['The', 'cat', 'didn', "'", 't', 'cross']);
    expect(texts(tokens).slice(-2)).toEqual(['STREET', '.']);
    expect(tokens[1]).toMatchObject({ start: 4, end: 7, wordStart: true, special: false });
    expect(tokens.filter((token) => token.wordStart).map((token) => token.text)).toEqual([
      'The',
      'cat',
      'didn',
      'cross',
      'the',
      'STREET',
    ]);
  });

  it('begins a word at each token of a script without spaces', () => {
    const tokens = tokenizer.encode('苹果在桌子上，很好。Good');
    expect(texts(tokens)).toEqual(['苹果', '在', '桌子', '上', '，', '很好', '。', ...texts(tokenizer.encode('Good'))]);
    expect(tokens.slice(0, 8).every((token) => token.wordStart)).toBe(true);
  });

  it('never splits an emoji, whose characters it does not know', () => {
    const text = 'a 👨‍👩‍👧 b 👍🏽🇨🇳 c';
    const tokens = tokenizer.encode(text);
    expectSoundSpans(text, tokens);
    expect(texts(tokens)).toContain('👨‍👩‍👧');
    expect(texts(tokens)).toContain('👍🏽🇨🇳');
    expect(tokens.every((token) => !token.special)).toBe(true);
  });

  it('gives a grapheme to every token that meets in it', () => {
    const tokens = tokenizer.encode('e\u0301\u0323x');
    const shared = tokens.filter((token) => token.start === 0);
    expect(shared.length).toBeGreaterThan(1);
    expect(shared.every((token) => token.end === 3 && token.text === 'e\u0301\u0323')).toBe(true);
    expect(shared.map((token) => token.wordStart)).toEqual([true, ...shared.slice(1).map(() => false)]);
    expect(tokens.at(-1)?.text).toBe('x');
  });

  it.each([
    '',
    ' ',
    '   ',
    '\n',
    'a\nb\tc\r\nd',
    'naïve CAFÉ ÅNGSTRÖM',
    'ΟΔΥΣΣΕΥΣ ΟΔΟΣ.',
    'İstanbul Iı',
    'ﬁﬂ ½ ①',
    'ｆｕｌｌ　ｗｉｄｔｈ，！？（）',
    '“引号”……——《书名》、。',
    'mixed 混合 текст テキスト 한국어 ไทย עברית',
    '🏳️‍🌈👩🏿‍🚀❤️‍🔥 1️⃣',
    'Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘!͖̬̰̙̗̿̋ͥͥ̂ͣ̐́́͜͞',
    '  leading and trailing  ',
    'a▁b▁▁c',
    '\ud83d alone \ude00',
    '\u0000\u200b\ufeff\u00ad',
    '<s>[MASK]</s>',
    'x'.repeat(300),
  ])('covers %j', (text) => {
    expectSoundSpans(text, tokenizer.encode(text));
  });

  it('covers any text', () => {
    const units = ['grapheme', 'binary', 'grapheme-composite'] as const;
    for (const unit of units) {
      fc.assert(
        fc.property(fc.string({ unit, maxLength: 40 }), (text) => expectSoundSpans(text, tokenizer.encode(text))),
        { numRuns: 200, seed: 1 },
      );
    }
    const words = fc.constantFrom(
      'the',
      ' cat',
      '苹果',
      '，',
      '😀',
      ' ',
      '\n',
      'é',
      'ñ',
      'Ö',
      '[MASK]',
      '<unk>',
      'Σ',
      '▁',
    );
    fc.assert(
      fc.property(fc.array(words, { maxLength: 20 }), (parts) => {
        const text = parts.join('');
        expectSoundSpans(text, tokenizer.encode(text));
      }),
      { numRuns: 300, seed: 2 },
    );
  });

  it('sees a special token that was typed, with its span', () => {
    const tokens = tokenizer.encode('The [MASK] sat');
    expect(tokens.find((token) => token.id === 4)).toMatchObject({
      text: '[MASK]',
      start: 4,
      end: 10,
      special: true,
      wordStart: true,
    });
  });

  it('sees [MASK] in the place of a word, with the space that words have before them', () => {
    expect(texts(tokenizer.encode('It is on the [MASK].'))).toEqual(['It', 'is', 'on', 'the', '[MASK]', '.']);
    expect(texts(tokenizer.encode('苹果在[MASK]上'))).toEqual(['苹果', '在', '[MASK]', '上']);
  });

  it('knows its start, end and mask tokens', () => {
    expect(tokenizer.startTokens).toEqual([{ id: 2, text: '<s>', start: 0, end: 0, special: true, wordStart: true }]);
    expect(tokenizer.endTokens.map((token) => token.text)).toEqual(['</s>']);
    expect(tokenizer.maskToken).toBe(4);
    expect(tokenizer.size).toBe(8016);
  });

  it('spells ids', () => {
    const tokens = tokenizer.fromIds([2, 33, 295, 4, 3158, 3]);
    expect(texts(tokens)).toEqual(['<s>', 'the', 'cat', '[MASK]', '苹果', '</s>']);
    expect(tokens.map(({ start, end }) => [start, end])).toEqual([
      [0, 0],
      [0, 3],
      [4, 7],
      [7, 7],
      [7, 9],
      [9, 9],
    ]);
    expect(tokens.map((token) => token.special)).toEqual([true, false, false, true, false, true]);
  });

  it('labels ids without their leading space, and spaces by a sign', () => {
    expect(tokenizer.label(295)).toBe('cat');
    expect(tokenizer.label(79)).toBe('␣');
    expect(tokenizer.label(4)).toBe('[MASK]');
    expect(tokenizer.label(99_999)).toBe('#99999');
  });
});

describe('where the host cannot segment text', () => {
  afterEach(() => vi.unstubAllGlobals());

  it.each(['a\r\nb', 'e\u0301\u0323x', '👨‍👩‍👧 👍🏽 🇨🇳🇩🇪 ❤️‍🔥 1️⃣', '苹果，é', '', '\ud83d'])(
    'splits %j as it would',
    (text) => {
      const byHost = splitGraphemes(text);
      vi.stubGlobal('Intl', {});
      expect(splitGraphemes(text)).toEqual(byHost);
    },
  );
});

// ===== Other kinds =====

/** GPT-2's alphabet, in the order of bytes. */
function byteAlphabet(): string[] {
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => {
    const printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte !== 173);
    return String.fromCodePoint(printable ? byte : next++);
  });
}

const BYTE_LEVEL = {
  version: '1.0',
  added_tokens: [{ id: 300, content: '<|endoftext|>', special: true }],
  normalizer: null,
  pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
  post_processor: null,
  decoder: { type: 'ByteLevel' },
  model: {
    type: 'BPE',
    vocab: { ...Object.fromEntries(byteAlphabet().map((char, byte) => [char, byte])), Ġt: 256, he: 257, Ġthe: 258 },
    merges: ['Ġ t', 'h e', 'Ġt he'],
  },
};

const WORD_PIECE = {
  version: '1.0',
  added_tokens: [{ id: 0, content: '[UNK]', special: true }],
  normalizer: {
    type: 'BertNormalizer',
    clean_text: true,
    handle_chinese_chars: true,
    strip_accents: null,
    lowercase: true,
  },
  pre_tokenizer: { type: 'BertPreTokenizer' },
  post_processor: null,
  decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
  model: {
    type: 'WordPiece',
    unk_token: '[UNK]',
    continuing_subword_prefix: '##',
    max_input_chars_per_word: 100,
    vocab: { '[UNK]': 0, the: 1, ca: 2, '##t': 3, sat: 4, '.': 5, 小: 6, 明: 7, cafe: 8 },
  },
};

const BYTE_FALLBACK = {
  version: '1.0',
  added_tokens: [{ id: 0, content: '<unk>', special: true }],
  normalizer: {
    type: 'Sequence',
    normalizers: [
      { type: 'Prepend', prepend: '▁' },
      { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
    ],
  },
  pre_tokenizer: null,
  post_processor: null,
  decoder: {
    type: 'Sequence',
    decoders: [{ type: 'Replace', pattern: { String: '▁' }, content: ' ' }, { type: 'ByteFallback' }, { type: 'Fuse' }],
  },
  model: {
    type: 'BPE',
    unk_token: '<unk>',
    byte_fallback: true,
    vocab: {
      '<unk>': 0,
      '▁': 1,
      a: 2,
      b: 3,
      '▁a': 4,
      ...Object.fromEntries(
        Array.from({ length: 256 }, (_, byte) => [
          `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`,
          10 + byte,
        ]),
      ),
    },
    merges: ['▁ a'],
  },
};

const KNOWN_ONLY = {
  version: '1.0',
  added_tokens: [{ id: 0, content: '<unk>', special: true }],
  normalizer: null,
  pre_tokenizer: null,
  post_processor: null,
  decoder: null,
  model: { type: 'BPE', unk_token: '<unk>', vocab: { '<unk>': 0, a: 1, b: 2, ab: 3 }, merges: ['a b'] },
};

const tokenizerOf = (json: object) => ModelTokenizer.create(structuredClone(json), {}, 'test.json');

describe('byte-level BPE, as GPT-2', () => {
  it('reads words, and characters in several tokens', async () => {
    const gpt2 = await tokenizerOf(BYTE_LEVEL);
    const tokens = gpt2.encode('the the 苹é😀');
    expect(tokens[0]).toMatchObject({ text: 't', start: 0, end: 1 });
    expect(tokens.find((token) => token.id === 258)).toMatchObject({ text: 'the', start: 4, end: 7, wordStart: true });
    const apple = tokens.filter((token) => token.text === '苹');
    expect(apple).toHaveLength(3);
    expect(apple.map((token) => [token.start, token.end])).toEqual([
      [8, 9],
      [8, 9],
      [8, 9],
    ]);
    expect(apple.map((token) => token.wordStart)).toEqual([true, false, false]);
    expect(tokens.filter((token) => token.text === '😀')).toHaveLength(4);
  });

  it('covers any text', async () => {
    const gpt2 = await tokenizerOf(BYTE_LEVEL);
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 20 }), (text) => expectSoundSpans(text, gpt2.encode(text))),
      { numRuns: 200, seed: 3 },
    );
  });

  it('shows no broken bytes', async () => {
    const gpt2 = await tokenizerOf(BYTE_LEVEL);
    expect(gpt2.label(0xe8)).toBe('<E8>');
    expect(gpt2.label(258)).toBe('the');
    expect(gpt2.label(10)).toBe('↵');
    expect(gpt2.label(300)).toBe('<|endoftext|>');
    const spelled = gpt2.fromIds([0xe8, 0x8b, 0xb9, 0xe8, 65]);
    expect(texts(spelled)).toEqual(['苹', '苹', '苹', '\ufffd', 'A']);
  });

  it('has no start and end tokens where the format has none', async () => {
    const gpt2 = await tokenizerOf(BYTE_LEVEL);
    expect([gpt2.startTokens, gpt2.endTokens, gpt2.maskToken]).toEqual([[], [], undefined]);
  });
});

describe('WordPiece, as BERT', () => {
  it('reads pieces, accents and unknown words', async () => {
    const bert = await tokenizerOf(WORD_PIECE);
    const text = 'The cat xyzzy plugh  sat. 小明 CAFÉ qwe小';
    const tokens = bert.encode(text);
    expect(texts(tokens)).toEqual(['The', 'ca', 't', 'xyzzy', 'plugh', 'sat', '.', '小', '明', 'CAFÉ', 'qwe', '小']);
    expectSoundSpans(text, tokens);
    expect(bert.label(3)).toBe('t');
  });
});

describe('BPE with bytes for unknown characters, as Llama', () => {
  it('reads the space it puts in, and bytes', async () => {
    const llama = await tokenizerOf(BYTE_FALLBACK);
    const tokens = llama.encode('ab 苹 a');
    expect(texts(tokens)).toEqual(['a', 'b', ' ', '苹', '苹', '苹', 'a']);
    expectSoundSpans('ab 苹 a', tokens);
    expect(llama.encode('苹')[0]).toMatchObject({ id: 1, text: '␣', start: 0, end: 0 });
  });
});

describe('BPE that gives one token for each unknown character', () => {
  it('finds which', async () => {
    const small = await tokenizerOf(KNOWN_ONLY);
    expect(texts(small.encode('abxyabz'))).toEqual(['ab', 'x', 'y', 'ab', 'z']);
    expect(texts(small.encode('xy'))).toEqual(['x', 'y']);
  });
});

it('says which file is no tokenizer', async () => {
  await expect(ModelTokenizer.create({}, {}, 'http://x/tokenizer.json')).rejects.toMatchObject({
    code: 'model-format',
    message: expect.stringMatching(/^http:\/\/x\/tokenizer\.json is not a tokenizer this can read: /),
  });
});
