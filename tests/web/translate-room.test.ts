/** The Translate room without a page: how a translator reads and writes, what is drawn of it, and its link. */
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { MultiheadError } from '../../web/src/core/errors.js';
import type { Look, TranslatorFiles, Written } from '../../web/src/study/translator.js';
import { Trainer } from '../../web/src/train/index.js';
import { translateEn } from '../../web/src/view/i18n/translate.en.js';
import { translateZh } from '../../web/src/view/i18n/translate.zh.js';
import { languageOf } from '../../web/src/view/translate/examples.js';
import { hashToRoom, type RoomSettings, roomToHash, writtenOf } from '../../web/src/view/translate/link.js';
import { attentionOf, fitChoice, mapOf, nextToken } from '../../web/src/view/translate/maps.js';
import { Translation } from '../../web/src/view/translate/translation.js';
import { hostHere } from '../../web/src/worker/connection.js';
import { createTranslationApi } from '../../web/src/worker/serve-translation.js';
import type { TranslationApi } from '../../web/src/worker/translation-protocol.js';

const positions = 12;
const vocabulary = 8016;

/** A network with the shipped tokenizer that has learned nothing: what it writes is arbitrary, and always the same. */
const network = {
  architecture: 'encoder-decoder',
  layers: 2,
  encoderLayers: 1,
  heads: 2,
  embedDim: 16,
  vocabulary,
  positions,
} as const;

let files: TranslatorFiles;
beforeAll(async () => {
  const trainer = await Trainer.create(network, { seed: 3 });
  // Logits of a tied head grow with its embedding: probabilities that differ.
  const embedding = trainer.read('wte.weight');
  trainer.write('wte.weight', { ...embedding, data: embedding.data.map((value) => 40 * value) });
  const tokenizer = readFileSync(new URL('../../web/models/bilingual/tokenizer.json', import.meta.url));
  files = { network, weights: trainer.save(), tokenizer };
  trainer.dispose();
});

async function loaded(api: TranslationApi = createTranslationApi()) {
  const host = hostHere(api);
  const info = await host.call((remote) => remote.loadTranslator(files));
  return { host, info, here: true };
}

async function looker() {
  const { host } = await loaded();
  return (source: string, written: Written = { ids: [] }, more = 0): Promise<Look> =>
    host.call((api) => api.look(source, written, more));
}

const idsOf = ({ written }: Look) => written.map(({ id }) => id);

describe('a translator', () => {
  test('gives weights of every head whose rows sum to 1, and a decoder that sees nothing later', async () => {
    const look = await looker();
    const seen = await look('今天天气很好。', { ids: [] }, 4);
    const attention = { cross: seen.cross, encoder: seen.encoder, decoder: seen.decoder };
    const [S, T] = [seen.source.length, seen.read.length];
    expect(seen.source.map(({ text }) => text).join('')).toBe('<s>今天天气很好。</s>');
    expect(Object.values(attention).map(({ length }) => length)).toEqual([4 * T * S, 2 * S * S, 4 * T * T]);
    for (const [kind, keys] of Object.entries({ cross: S, encoder: S, decoder: T })) {
      const weights = attention[kind as keyof typeof attention];
      for (let start = 0; start < weights.length; start += keys) {
        const row = weights.subarray(start, start + keys);
        expect(row.reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 5);
        if (kind === 'decoder') expect(row.subarray(((start / T) % T) + 1).every((weight) => weight === 0)).toBe(true);
      }
    }
  });

  test('writes the same at once, token by token, and when it looks again at what it wrote', async () => {
    const look = await looker();
    const atOnce = await look('Hello there.', { ids: [] }, 6);
    let stepped = await look('Hello there.');
    for (let step = 0; step < 6; step++) {
      const best = stepped.candidates.at(-1)?.[0];
      stepped = await look('Hello there.', { ids: idsOf(stepped) }, 1);
      if (!stepped.ended) expect(stepped.written.at(-1)?.id).toBe(best?.id);
    }
    const again = await look('Hello there.', { ids: idsOf(atOnce) });
    for (const other of [stepped, again]) expect({ ...other, milliseconds: 0 }).toEqual({ ...atOnce, milliseconds: 0 });
    expect(atOnce.written.length).toBeGreaterThan(2);
  });

  test('names candidates in order, with the probability of what is written among them', async () => {
    const look = await looker();
    const seen = await look('Hello there.', { ids: [] }, 3);
    for (const [place, row] of seen.candidates.slice(0, seen.written.length).entries()) {
      expect(row).toHaveLength(8);
      const probabilities = row.map(({ probability }) => probability);
      expect(probabilities).toEqual([...probabilities].sort((a, b) => b - a));
      expect(row[0]?.id).toBe(seen.written[place]?.id);
      expect(row[0]?.probability).toBe(seen.probabilities[place]);
    }
    // Another token in the first place changes what is likely in the second, not in the first.
    const other = seen.candidates[0]?.[5]?.id as number;
    const forced = await look('Hello there.', { ids: [other] });
    expect(forced.candidates[0]).toEqual(seen.candidates[0]);
    expect(forced.candidates[1]).not.toEqual(seen.candidates[1]);
    expect(forced.probabilities[0]).toBe(seen.candidates[0]?.[5]?.probability);
  });

  test('reads a typed translation as the tokens it makes, and says whether its text makes them again', async () => {
    const look = await looker();
    const typed = await look('我很好。', { text: '  I am well. ' });
    expect(typed).toMatchObject({ text: 'i am well.', respells: true, ended: false, writtenOver: null });
    expect(idsOf(await look('我很好。', { text: typed.text }))).toEqual(idsOf(typed));
    // "a" and "m" where the tokenizer makes "am".
    const [a, m] = await Promise.all(['a', 'm'].map(async (text) => idsOf(await look('我', { text }))[0] as number));
    expect(await look('我', { ids: [a as number, m as number] })).toMatchObject({ text: 'am', respells: false });
  });

  test('leaves out what is too long, and says exactly what', async () => {
    const look = await looker();
    const text = '今天天气很好，我们去公园吧，好不好？他昨天没有去学校。';
    const seen = await look(text, { text });
    expect(seen.source).toHaveLength(positions);
    const read = seen.source.slice(1, -1).map((token) => token.text);
    expect(read.join('') + seen.sourceOver?.text).toBe(text);
    expect(seen.written).toHaveLength(positions);
    expect(seen.written.map((token) => token.text).join('') + seen.writtenOver?.text).toBe(text);
    expect(seen).toMatchObject({ full: true, ended: false });
    expect(seen.read).toHaveLength(positions);
    expect(await look(text, { text }, 5)).toMatchObject({ written: seen.written });
    // Words keep their spaces.
    const words = 'one two three four five six seven eight nine ten eleven twelve thirteen';
    const { source, sourceOver } = await look(words);
    expect(words.endsWith(` ${sourceOver?.text}`)).toBe(true);
    expect(sourceOver?.text.split(' ').length).toBeGreaterThan(1);
    expect(source.at(-1)?.text).toBe('</s>');
  });

  test('writes nothing after the end', async () => {
    const look = await looker();
    const seen = await look('你好', { text: '你好</s>你好' }, 3);
    expect(seen).toMatchObject({ ended: true, text: '你好', writtenOver: { text: '你好' } });
    expect(seen.read).toHaveLength(seen.written.length);
  });

  test('names what it has no token for, and takes an empty text', async () => {
    const look = await looker();
    expect((await look('I like 🍉.')).unknown.map(({ text }) => text)).toEqual(['🍉']);
    expect((await look('I like tea.')).unknown).toEqual([]);
    expect((await look('')).source.map(({ text }) => text)).toEqual(['<s>', '</s>']);
  });

  test('refuses ids that are none, networks that do not translate, and to be asked before it is loaded', async () => {
    const look = await looker();
    for (const id of [-1, 1.5, vocabulary]) await expect(look('你好', { ids: [id] })).rejects.toThrow('is no token');
    const { host } = await loaded();
    const small = { ...files, network: { ...network, vocabulary: 100 } };
    await expect(host.call((api) => api.loadTranslator(small))).rejects.toThrow(MultiheadError);
    const api = hostHere(createTranslationApi());
    await expect(api.call((remote) => remote.look('你好', { ids: [] }, 0))).rejects.toThrow('before a translator');
  });
});

describe('a translation', () => {
  const begun = async (text: string, written: Written | null = { ids: [] }, api?: TranslationApi) => {
    const heard = { changes: 0, pauses: 0 };
    const translation: Translation = new Translation(
      {
        load: () => loaded(api),
        changed: () => heard.changes++,
        pause: async () => {
          heard.pauses++;
          if (heard.pauses === 3) translation.stop();
        },
      },
      text,
      written,
    );
    await translation.begin();
    return { translation, heard };
  };

  test('begins whole, or with what is given', async () => {
    const { translation: whole } = await begun('你好', null);
    expect(whole.look?.ended || whole.look?.full).toBe(true);
    expect(whole.writtenText).toBe(whole.look?.text);
    const { translation: given } = await begun('你好', { text: 'hello' });
    expect(given).toMatchObject({ writtenText: 'hello', canGoOn: true });
    expect(given.look?.text).toBe('hello');
  });

  test('plays until it is stopped, goes on, and plays anew from its end', async () => {
    const { translation, heard } = await begun('你好');
    await translation.play();
    expect(translation.playing).toBe(false);
    expect(translation.ids).toHaveLength(3);
    const three = translation.ids;
    await translation.finish();
    expect(translation.canGoOn).toBe(false);
    expect(translation.ids.slice(0, 3)).toEqual(three);
    heard.pauses = 0;
    await translation.play();
    expect(translation.ids).toEqual(three);
  });

  test('steps, takes back, forces and cuts', async () => {
    const { translation } = await begun('你好');
    await Promise.all([translation.step(), translation.step(), translation.step()]);
    const written = translation.ids;
    expect(written).toHaveLength(3);
    const other = translation.look?.candidates[1]?.[3]?.id as number;
    await translation.force(1, other);
    expect(translation.ids).toEqual([written[0], other]);
    await translation.cut(1);
    expect(translation.ids).toEqual([written[0]]);
    expect(translation.writtenText).toBe(translation.look?.text);
  });

  test('answers the text that was typed last, and writes no more into another', async () => {
    const { translation } = await begun('你好');
    void translation.step();
    const typing = ['H', 'He', 'Hel', 'Hello'].map((text) => translation.setText(text));
    await Promise.all(typing);
    expect(translation.look?.source.map(({ text }) => text).join('')).toBe('<s>Hello</s>');
    expect(translation.ids).toEqual([]);
    await translation.setWritten(' 你 ');
    expect(translation.writtenText).toBe(' 你 ');
    expect(translation.look?.text).toBe('你');
    await translation.setText('  ');
    expect(translation.look).toBeNull();
    await translation.step();
    expect(translation.look).toBeNull();
  });

  test('says what failed, keeps the texts, and tries again', async () => {
    let failing = true;
    const api = createTranslationApi();
    const look: TranslationApi['look'] = async (...asked) =>
      failing ? { error: { name: 'Error', message: 'it broke', details: {} } } : api.look(...asked);
    const { translation } = await begun('你好', { text: 'well' }, { ...api, look });
    expect(translation.status).toMatchObject({ kind: 'failed', error: { message: 'it broke' } });
    expect(translation).toMatchObject({ text: '你好', writtenText: 'well', look: null });
    failing = false;
    await translation.retry();
    expect(translation).toMatchObject({ status: { kind: 'ready' }, look: { text: 'well' }, writtenText: 'well' });
  });

  test('tells nobody any more once it is closed, and gives its translator on', async () => {
    const { translation, heard } = await begun('你好');
    const before = heard.changes;
    const step = translation.step();
    expect(translation.release()).not.toBeNull();
    await step;
    expect(heard.changes).toBe(before);
    expect(translation.release()).toBeNull();
  });
});

describe('what is drawn', () => {
  test('rows are named by what they write, in every kind of attention', async () => {
    const look = await looker();
    const seen = await look('你好', { text: '你好' });
    expect(attentionOf(seen, 'cross')).toMatchObject({ queries: [...seen.written, nextToken], keys: seen.source });
    expect(attentionOf(seen, 'encoder')).toMatchObject({ layers: 1, queries: seen.source, keys: seen.source });
    expect(attentionOf(seen, 'decoder')).toMatchObject({ queries: [...seen.written, nextToken], keys: seen.read });
    const ended = await look('你好', { text: '你好</s>' });
    expect(attentionOf(ended, 'cross').queries).toEqual(ended.written);
  });

  test('the mean of a layer, its entropies, and what a decoder cannot see', async () => {
    const look = await looker();
    const seen = await look('你好吗', { text: '很好' });
    const attention = attentionOf(seen, 'decoder');
    const [head0, head1, both] = [0, 1, 'mean' as const].map((head) => mapOf(attention, { layer: 1, head }));
    both?.weights.forEach((weight, i) => {
      expect(weight).toBeCloseTo(((head0?.weights[i] ?? 0) + (head1?.weights[i] ?? 0)) / 2, 6);
    });
    const T = seen.read.length;
    expect(both?.visible).toEqual(Uint8Array.from({ length: T * T }, (_, i) => Number(i % T <= Math.floor(i / T))));
    // The first row sees one token alone.
    expect(head0?.rowEntropy.values[0]).toBeCloseTo(0, 6);
    expect(mapOf(attentionOf(seen, 'cross'), { layer: 0, head: 0 }).visible).toBeNull();
  });

  test('entropy is that of its definition: even weights have the most', () => {
    const keys = ['a', 'b', 'c', 'd'].map((text) => ({ text }));
    const seen = {
      heads: 1,
      layers: 2,
      written: keys.slice(0, 1),
      read: keys.slice(0, 1),
      source: keys,
      cross: Float32Array.of(0.25, 0.25, 0.25, 0.25, 0, 1, 0, 0),
    } as unknown as Look;
    const attention = attentionOf(seen, 'cross');
    expect([...attention.entropies.values]).toEqual([1, 0]);
    expect(mapOf(attention, { layer: 0, head: 0 }).rowEntropy).toMatchObject({ max: 2, unit: 'bits' });
    expect(mapOf(attention, { layer: 0, head: 0 }).rowEntropy.values[0]).toBe(2);
    expect(fitChoice({ layer: 7, head: 'mean' }, attention)).toEqual({ layer: 1, head: 'mean' });
    expect(fitChoice({ layer: 0, head: 3 }, attention)).toEqual({ layer: 0, head: 0 });
  });
});

describe('the link', () => {
  const plain = hashToRoom('', vocabulary).settings;

  test('comes back as it was, for any text', () => {
    const all: readonly Partial<RoomSettings>[] = [
      {},
      { text: '' },
      { text: '100 % & more = 1+1 #1 🍉 é' },
      { text: '今天', written: { text: 'to day' }, at: 0 },
      { text: 'Hi', written: { ids: [] }, kind: 'decoder', chosen: { layer: 0, head: 2 } },
      { text: 'Hi', written: { ids: [5, 8015, 3] }, kind: 'encoder', chosen: { layer: 2, head: 'mean' }, at: 3 },
    ];
    for (const part of all) {
      const settings = { ...plain, ...part };
      expect(hashToRoom(`#${roomToHash(settings)}&lang=zh`, vocabulary)).toEqual({ settings, problems: [] });
    }
    expect(roomToHash({ ...plain, text: 'I am', kind: 'decoder', chosen: { layer: 2, head: 0 } })).toBe(
      'room=translate&text=I+am&show=decoder&head=3.1',
    );
  });

  test('names what it cannot read and keeps the rest', () => {
    const hash = '#room=translate&text=Hi&tokens=1.x&show=all&head=0.1&at=-1&constructor=1';
    expect(hashToRoom(hash, vocabulary)).toEqual({
      settings: { ...plain, text: 'Hi' },
      problems: ['tokens', 'show', 'head', 'at'],
    });
    expect(hashToRoom(`#tokens=${vocabulary}&text=%E0%A4%A`, vocabulary).problems).toEqual(['tokens', 'text']);
  });

  test('says nothing of a translation that the model makes by itself, and all of another', async () => {
    const look = await looker();
    const whole = await look('你好', { ids: [] }, 100);
    expect(writtenOf(whole)).toBeNull();
    expect(writtenOf(await look('你好', { text: 'well' }))).toEqual({ text: 'well' });
    const ended = await look('你好', { text: 'well</s>' });
    expect(writtenOf(ended)).toEqual({ ids: idsOf(ended) });
    expect(writtenOf(await look('你好'))).toEqual({ text: '' });
  });
});

test('the language of a sentence is that of its letters', () => {
  expect(['今天', 'OK 好', 'today', '123', ''].map(languageOf)).toEqual(['zh', 'zh', 'en', 'en', 'en']);
});

const places = (text: string) => [...text.matchAll(/\{\{(\w+)\}\}/g)].map((match) => match[1]).sort();

test.each(Object.entries(translateZh))('%s has the same places in both languages', (key, text) => {
  expect(text).not.toBe('');
  expect(places(text)).toEqual(places(translateEn[key as keyof typeof translateEn]));
});
