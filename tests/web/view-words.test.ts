import { describe, expect, it } from 'vitest';
import { formatError, formatMegabytes, formatMilliseconds, formatTiny } from '../../web/src/view/format.js';
import { en } from '../../web/src/view/i18n/en.js';
import { matchLanguage, preferredLanguage, translator } from '../../web/src/view/i18n/index.js';
import { zh } from '../../web/src/view/i18n/zh.js';

const places = (text: string) => [...text.matchAll(/\{\{(\w+)\}\}/g)].map((match) => match[1]).sort();

describe('languages', () => {
  it.each(Object.entries(zh))('%s has the same places in both', (key, text) => {
    expect(text).not.toBe('');
    expect(places(text)).toEqual(places(en[key as keyof typeof zh]));
  });

  it('are chosen by tag, the first of ours, else English', () => {
    expect(matchLanguage('zh-Hant-TW')).toBe('zh');
    expect(matchLanguage('EN_us')).toBe('en');
    expect(matchLanguage('zho')).toBeNull();
    expect(preferredLanguage(['fr-FR', 'zh-CN', 'en'])).toBe('zh');
    expect(preferredLanguage(['fr'])).toBe('en');
    expect(preferredLanguage([])).toBe('en');
  });

  it('fill in values and choose plurals', () => {
    const [english, chinese] = [translator('en'), translator('zh')];
    expect(english('edit.painted', { count: 1 })).toBe('1 cell painted');
    expect(english('edit.painted', { count: 3 })).toBe('3 cells painted');
    expect(chinese('edit.painted', { count: 1 })).toBe('涂抹了 1 格');
    // The same values again, and other values, however they are remembered.
    expect(english('head.short', { layer: 2, head: 11 })).toBe('L2·H11');
    expect(english('head.short', { layer: 21, head: 1 })).toBe('L21·H1');
    expect(english('head.short', { layer: 2, head: 11 })).toBe('L2·H11');
    expect(english('output.putBack', { token: '<b>&{{x}}' })).toBe('Put “<b>&{{x}}” back');
  });

  it('say the sentence about weights as agreed', () => {
    expect(translator('en')('caveat')).toBe('Attention weights show where a head looks, not why the model decided.');
    expect(translator('zh')('caveat')).toBe('注意力权重只说明这个头在看哪里，不等于模型这样判断的原因。');
  });

  it('of the site fill in values', () => {
    expect(translator('en')('site.theme', { theme: 'dark' })).toBe('Colours: dark');
    expect(translator('zh')('site.theme', { theme: '深色' })).toBe('配色：深色');
  });
});

describe('numbers', () => {
  it('are short', () => {
    expect([0, 1.23e-7].map(formatTiny)).toEqual(['0', '1e-7']);
    expect([0.421, 3.14, 48.6].map(formatMilliseconds)).toEqual(['0.42', '3.1', '49']);
    expect(formatMegabytes(2_184_000)).toBe('2.2');
    expect(formatError(0.0073)).toBe('.0073');
  });
});
