/** What people type, and what servers send, that nobody hoped for. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { launchBrowser, type ServedFolder, serveFolder } from './support/browser.js';
import { builtSite, LensPage } from './support/lens-page.js';

let browser: Browser;
let folder: string;
let server: ServedFolder;
let lens: LensPage;

beforeAll(async () => {
  // A server with the site and a model beside it.
  folder = mkdtempSync(join(tmpdir(), 'multihead-e2e-'));
  symlinkSync(resolve(builtSite()), join(folder, 'site'));
  [browser, server] = await Promise.all([launchBrowser(), serveFolder(folder)]);
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
  rmSync(folder, { recursive: true, force: true });
});
afterEach(() => lens?.close());

describe('text', () => {
  /** Types nothing by key: what is pasted comes at once. */
  const paste = async (text: string) => {
    await lens.field.fill(text);
  };
  const open = async (mask = 'causal') => {
    lens = await LensPage.open(browser, `${server.url}site/#text=A+cat&mask=${mask}`);
  };
  const emptied = () =>
    lens.page.waitForFunction(() => {
      const root = document.querySelector('multihead-lens')?.renderRoot;
      return root?.querySelector('.picture .hint') && !root.querySelector('mh-heatmap, mh-heads');
    });

  test.each(['causal', 'none'])(
    'none, and nothing but space: says so, and goes on with the next (mask: %s)',
    async (mask) => {
      await open(mask);
      for (const text of ['', '   \t  ', '\u3000\u00a0']) {
        await paste(text);
        await emptied();
        await lens.page.getByText('Type a sentence, or choose an example.').first().waitFor();
      }
      await lens.page.waitForFunction(() => location.hash.includes('text=%E3%80%80'));
      await lens.page.reload();
      await emptied();
      await paste('A dog.');
      await lens.answered();
      expect((await lens.answer()).texts.join('')).toContain('dog');
      expect(lens.problems).toEqual([]);
    },
  );

  test('of one letter', async () => {
    await open();
    await paste('a');
    await lens.answered();
    const said = await lens.answer();
    expect(said.texts).toEqual(['<s>', 'a']);
    expect(said.attention[0]).toBe(1);
    expect(await lens.predictions()).toHaveLength(5);
    expect(lens.problems).toEqual([]);
  });

  test.each(['causal', 'none'])('of as many tokens as fit, one more, and far too many (mask: %s)', async (mask) => {
    await open(mask);
    const words = (count: number) => `The${' cat'.repeat(count - 1)}`;
    const fits = mask === 'causal' ? 63 : 62; // and a start token, and an end token
    await paste(words(fits));
    await lens.answered();
    const full = await lens.answer();
    expect([full.texts.length, full.over]).toEqual([64, 0]);
    expect(await lens.page.getByText('more than the model takes').count()).toBe(0);
    await lens.page.getByText('64 / 64 tokens').waitFor();

    await paste(words(fits + 1));
    await lens.answered();
    expect((await lens.answer()).over).toBe(1);
    await lens.page.getByText('1 token more than the model takes: it is marked and left out.').waitFor();

    const long = 'The cat sat on the mat. '.repeat(209).slice(0, 5000);
    const begun = Date.now();
    await paste(long);
    await lens.answered();
    expect(Date.now() - begun).toBeLessThan(5000);
    const far = await lens.answer();
    expect(far.texts).toHaveLength(64);
    expect(far.over).toBeGreaterThan(1000);
    // Nothing is lost: all of it is in the field, and what is over is marked.
    expect(await lens.field.inputValue()).toBe(long);
    const marked = await lens.page.evaluate(() =>
      [...(document.querySelector('multihead-lens')?.renderRoot.querySelectorAll('.chip.over') ?? [])].map(
        (chip) => chip.textContent?.trim() ?? '',
      ),
    );
    const rest = Number(/^\+(\d+)$/.exec(marked.at(-1) ?? '')?.[1]);
    expect(marked.length - 1 + rest).toBe(far.over);

    // The page still answers: a key and a frame.
    await lens.field.click();
    await lens.page.keyboard.press('ControlOrMeta+Home');
    const start = Date.now();
    await lens.page.keyboard.type('A');
    await lens.answered();
    expect(Date.now() - start).toBeLessThan(3000);
    expect((await lens.state()).text).toBe(`A${long}`);
    expect(lens.problems).toEqual([]);
  });

  test.each([
    ['emoji', '👩‍👩‍👧 🇨🇳 ❤️‍🔥 👍🏽'],
    ['scripts side by side', 'I ♥ 北京 Москва Ελλάδα 한국어 ไทย'],
    ['right to left', 'مرحبا بالعالم שלום עולם'],
    ['control characters', 'a\u0000b\u0007c\u001bd\u200be\u202ef\ufeff'],
    ['lines and tabs', 'one\ntwo\r\nthree\tfour'],
    ['half a character', 'a\ud83dz\udc31b'],
    ['marks upon marks', `Z${'\u0300\u0323'.repeat(40)}algo`],
    ['markup', '<b>&amp;</b> {{t}} %s [MASK] <s> </s>'],
  ])('of %s: whole characters, finite numbers, the text kept', async (_, text) => {
    await open();
    for (const mask of ['causal', 'none']) {
      await lens.choose('mask', mask);
      await lens.page.evaluate((sentence) => {
        const element = document.querySelector('multihead-lens');
        const field = element?.renderRoot.querySelector('textarea');
        if (!field) return;
        field.value = sentence;
        field.dispatchEvent(new InputEvent('input', { bubbles: true, composed: true }));
      }, text);
      await lens.answered();
      const { attention, tokens, logits } = await lens.answer();
      const typed = (await lens.state()).text;
      expect(typed).toBe(text.replace(/\r\n/g, '\n'));
      expect(attention.every(Number.isFinite)).toBe(true);
      expect(logits.every(Number.isFinite)).toBe(true);
      for (const token of tokens) {
        expect(token.start).toBeLessThanOrEqual(token.end);
        if (text !== 'a\ud83dz\udc31b') expect(token.text).not.toMatch(/\p{Surrogate}|\ufffd/u);
        // Spans never cut a character in two.
        const part = typed.slice(token.start, token.end);
        if (text !== 'a\ud83dz\udc31b') expect(part).not.toMatch(/\p{Surrogate}/u);
      }
    }
    // The link gives it back, but for what no link can hold.
    await lens.page.waitForFunction(() => location.hash.includes('mask=none'));
    await lens.page.reload();
    await lens.answered();
    expect((await lens.state()).text).toBe(text.replace(/\r\n/g, '\n').replace(/\p{Surrogate}/gu, '\ufffd'));
    expect(lens.problems).toEqual([]);
  });
});

describe('a model', () => {
  const MODEL = 'web/models/bilingual';
  const at = (name: string) => join(folder, 'model', name);
  const weights = () => readFileSync(join(MODEL, 'model.safetensors'));

  const restore = () => {
    rmSync(join(folder, 'model'), { recursive: true, force: true });
    mkdirSync(join(folder, 'model'));
    for (const name of ['config.json', 'model.safetensors', 'tokenizer.json']) cpSync(join(MODEL, name), at(name));
  };

  /** Every weight of a tensor of F32 becomes NaN. */
  function poison(file: Buffer, tensor: string): Buffer {
    const length = Number(file.readBigUInt64LE());
    const header = JSON.parse(file.subarray(8, 8 + length).toString()) as Record<
      string,
      { data_offsets: [number, number] }
    >;
    const [from, to] = header[tensor]?.data_offsets ?? [0, 0];
    for (let offset = from; offset < to; offset += 4) file.writeFloatLE(Number.NaN, 8 + length + offset);
    return file;
  }

  const fetchFailed = ['A file could not be loaded.', 'Check the connection and try again.'] as const;
  const notAModel = ['This is not a model the engine can read.', 'It needs config.json'] as const;
  const cases: readonly (readonly [string, () => void, readonly [title: string, remedy: string], RegExp])[] = [
    [
      'that is not there',
      () => rmSync(join(folder, 'model'), { recursive: true }),
      fetchFailed,
      /could not read http:\S+\/model\/\S+: the server says 404/,
    ],
    [
      'whose config is a web page',
      () => writeFileSync(at('config.json'), '<!doctype html><title>Not here</title>'),
      notAModel,
      /got HTML, not JSON, from http:\S+\/model\/config\.json/,
    ],
    [
      'whose weights are a web page',
      () => writeFileSync(at('model.safetensors'), '<html><body>Welcome!</body></html>'),
      notAModel,
      /got HTML, not weights, from http:\S+\/model\/model\.safetensors/,
    ],
    [
      'whose weights end too early',
      () => writeFileSync(at('model.safetensors'), weights().subarray(0, 1_000_000)),
      notAModel,
      /model\.safetensors: .*(truncat|end|length|bytes|outside|past)/i,
    ],
    ['whose weights are empty', () => writeFileSync(at('model.safetensors'), ''), notAModel, /model\.safetensors: /],
    [
      'whose tokenizer is not JSON',
      () => writeFileSync(at('tokenizer.json'), '{"model": '),
      notAModel,
      /tokenizer\.json is not a JSON file of a model/,
    ],
    [
      'of another kind',
      () => writeFileSync(at('config.json'), '{"model_type": "llama", "num_hidden_layers": 2}'),
      notAModel,
      /config\.json/,
    ],
    [
      'with weights that are no numbers',
      () => writeFileSync(at('model.safetensors'), poison(weights(), 'h.2.ln_1.weight')),
      ['The model’s weights are damaged.', 'Put its files there anew and try again.'],
      /model\.safetensors: tensor "h\.2\.ln_1\.weight" holds NaN at index 0/,
    ],
  ];

  test.each(cases)(
    '%s: says what is wrong, keeps what is typed, and works once it is mended',
    async (_, spoil, message, detail) => {
      restore();
      spoil();
      const [title, remedy] = message;
      lens = await LensPage.create(browser);
      await lens.page.goto(`${server.url}site/#text=A+bird&mask=causal&model=${encodeURIComponent('/model/')}`);
      const failure = lens.page.locator('multihead-lens .failure');
      await failure.waitFor();
      const said = (await failure.textContent())?.replace(/\s+/g, ' ') ?? '';
      expect(said).toContain(title);
      expect(said).toContain(remedy);
      expect(said).toMatch(detail);
      expect(said).not.toContain('undefined');
      // In the other language too.
      await lens.page.locator('#language').click();
      await lens.drawn();
      expect(await failure.getByRole('heading').textContent()).toMatch(/\p{Script=Han}/u);

      await lens.field.fill('A bird sings.');
      expect(await lens.field.inputValue()).toBe('A bird sings.');
      restore();
      await lens.page.getByRole('button', { name: '重试' }).click();
      await lens.answered();
      expect((await lens.answer()).texts.join('')).toContain('sings');
      expect(await failure.count()).toBe(0);
      // The browser itself complains of what is missing, and nobody else of anything.
      expect(lens.problems.filter((problem) => !/status of 404/.test(problem))).toEqual([]);
    },
  );
});
