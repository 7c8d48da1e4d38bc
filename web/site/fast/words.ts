/** The words around the measurement, in both languages; the article itself is in index.html. */
import type { Language } from '../../src/view/i18n/index.js';
import type { Kernel, Roof } from './kernels.js';

interface Words {
  readonly title: string;
  readonly theme: string;
  readonly language: string;
  readonly measure: string;
  readonly measuring: (done: number, all: number) => string;
  readonly failed: (why: string) => string;
  readonly recorded: (date: string, processor: string, browser: string) => string;
  readonly here: (date: string) => string;
  readonly build: (build: string) => string;
  readonly intensity: string;
  readonly gigaflops: string;
  readonly peak: (gigaflops: string) => string;
  readonly places: Readonly<Record<Roof['place'], string>>;
  readonly summary: (peak: string, best: string) => string;
  readonly columns: readonly string[];
  readonly kernel: (kernel: Kernel) => string;
}

const builds: Readonly<Record<string, string>> = { 'relaxed-simd': 'relaxed SIMD', simd128: 'SIMD128' };

export const words: Readonly<Record<Language, Words>> = {
  en: {
    title: 'How it is fast · multihead',
    theme: 'Light or dark',
    language: '中文',
    measure: 'Measure this machine',
    measuring: (done, all) => `Measuring: ${done} of ${all}`,
    failed: (why) => `It could not be measured: ${why}`,
    recorded: (date, processor, browser) => `Recorded on ${date}: ${processor}, ${browser}, one thread`,
    here: (date) => `Measured here at ${date}, one thread`,
    build: (build) => builds[build] ?? build,
    intensity: 'operations for each byte that must move',
    gigaflops: 'billion operations a second',
    peak: (gigaflops) => `multiply-adds on registers: ${gigaflops} GFLOP/s`,
    places: { L1: 'L1 cache', L3: 'L3 cache', memory: 'memory' },
    summary: (peak, best) =>
      `A roofline. This core does at most ${peak} billion operations a second; the best of ours does ${best}. The table below has all of them.`,
    columns: ['', 'What', 'ms', 'GFLOP/s', 'of the roof'],
    kernel: ({ kind, tokens, heads, headDim, weights, causal }) =>
      [
        kind === 'core'
          ? `attention core, ${heads} heads of ${headDim}`
          : `with projections, d ${heads * headDim}, ${heads} heads`,
        tokens === 1 ? '1 token' : `${tokens} tokens`,
        ...(causal ? ['causal'] : []),
        ...(weights ? ['all weights handed out'] : []),
      ].join(', '),
  },
  zh: {
    title: '为什么快 · multihead',
    theme: '浅色或深色',
    language: 'English',
    measure: '测一测这台机器',
    measuring: (done, all) => `正在测量：${done} / ${all}`,
    failed: (why) => `无法测量：${why}`,
    recorded: (date, processor, browser) => `记录于 ${date}：${processor}，${browser}，单线程`,
    here: (date) => `本机测于 ${date}，单线程`,
    build: (build) => builds[build] ?? build,
    intensity: '每搬运一个字节所做的运算次数',
    gigaflops: '每秒运算次数（十亿）',
    peak: (gigaflops) => `寄存器上的乘加：${gigaflops} GFLOP/s`,
    places: { L1: 'L1 缓存', L3: 'L3 缓存', memory: '内存' },
    summary: (peak, best) =>
      `屋顶图。这个核心每秒最多做 ${peak} 十亿次运算，我们最快的一项做到 ${best} 十亿次。下表列出全部数据。`,
    columns: ['', '内容', '毫秒', 'GFLOP/s', '占屋顶'],
    kernel: ({ kind, tokens, heads, headDim, weights, causal }) =>
      [
        kind === 'core'
          ? `注意力核心，${heads} 个头，每头 ${headDim} 维`
          : `含投影，d = ${heads * headDim}，${heads} 个头`,
        `${tokens} 个词元`,
        ...(causal ? ['因果'] : []),
        ...(weights ? ['输出全部权重'] : []),
      ].join('，'),
  },
};
