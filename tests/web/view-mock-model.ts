/** A stand-in for a loaded model: words for tokens, and weights that depend on text, mask and edits, by plain formulas. */
import type { Model, ModelInfo, RunOptions, RunResult, Token } from '../../web/src/core/types.js';

const rowNames = [
  'entropyNats',
  'entropyBits',
  'entropyNormalised',
  'entropyEpsilon',
  'maximum',
  'argmax',
  'distance',
  'first',
  'self',
  'previous',
  'next',
  'visible',
];
const headNames = [
  'entropyNats',
  'entropyBits',
  'entropyNormalised',
  'entropyEpsilon',
  'maximum',
  'distance',
  'first',
  'self',
  'previous',
  'next',
  'weightDeviation',
  'scoreDeviation',
  'maskedRows',
];

export const mockInfo: ModelInfo = {
  name: 'mock',
  layers: 4,
  heads: 8,
  kvHeads: 8,
  embedDim: 128,
  headDim: 16,
  ffnDim: 512,
  vocabulary: 8016,
  positions: 64,
  trainedMasks: ['causal', 'bidirectional', 'window'],
  trainedWindow: 8,
  hasMaskToken: true,
  endTokens: [3],
  attentionError: 0.0073,
  precision: 'f32',
  parameters: 1_800_000,
  bytes: 2_100_000,
};

const hash = (text: string): number =>
  [...text].reduce((sum, sign) => (sum * 31 + (sign.codePointAt(0) ?? 0)) % 7919, 7);
const noise = (seed: number): number => {
  const value = Math.sin(seed * 12.9898) * 43758.5453;
  return value - Math.floor(value);
};

function mockTokens(text: string, endToken: boolean): Token[] {
  const token = (id: number, name: string, start: number, end: number, special: boolean): Token => ({
    id,
    text: name,
    start,
    end,
    special,
    wordStart: !special,
  });
  const parts = text.matchAll(/[\p{Script=Han}]{1,2}|[\p{L}\p{N}]+|[^\s]/gu);
  const inner = [...parts].map((m) =>
    token(10 + hash(m[0].toLowerCase()), m[0], m.index, m.index + m[0].length, false),
  );
  const all = [token(2, '<s>', 0, 0, true), ...inner];
  return endToken ? [...all, token(3, '</s>', text.length, text.length, true)] : all;
}

export interface MockModel extends Model {
  /** What `run` was asked, in order. */
  readonly runs: { readonly text: string; readonly options: RunOptions }[];
}

export function mockModel(options: { readonly delay?: number; readonly info?: Partial<ModelInfo> } = {}): MockModel {
  const info = { ...mockInfo, ...options.info };
  const runs: { text: string; options: RunOptions }[] = [];
  const wait = () => new Promise<void>((resolve) => setTimeout(resolve, options.delay ?? 0));

  const run = async (input: string | readonly number[], asked: RunOptions = {}): Promise<RunResult> => {
    const text = String(input);
    runs.push({ text, options: asked });
    await wait();
    return answer(info, text, asked);
  };
  return {
    runs,
    info,
    build: 'simd128',
    threads: 1,
    thread: 'here',
    run,
    runLatest: run,
    openSession() {
      return { run: (input, asked) => this.run(input, asked), dispose: () => {} };
    },
    generate: async function* () {},
    tokenize: async (text, how) => {
      await wait();
      return mockTokens(String(text), how?.endToken ?? true);
    },
    dispose: () => {},
  };
}

function answer(info: ModelInfo, text: string, asked: RunOptions): RunResult {
  const all = mockTokens(text, asked.endToken ?? true);
  const tokens = all.slice(0, info.positions);
  const size = tokens.length;
  const { layers, heads } = info;
  const cells = layers * heads * size * size;
  const attention = new Float32Array(cells);
  const scores = new Float32Array(cells);
  const rawScores = new Float32Array(cells);
  const rowStatistics = new Float32Array(layers * heads * size * rowNames.length);
  const headStatistics = new Float32Array(layers * heads * headNames.length);
  const factor =
    asked.scale === 'none' ? 1 : typeof asked.scale === 'number' ? asked.scale : 1 / Math.sqrt(info.headDim);
  let maskedRows = 0;
  for (let head = 0; head < layers * heads; head++) {
    for (let query = 0; query < size; query++) {
      const row = (head * size + query) * size;
      let sum = 0;
      for (let key = 0; key < size; key++) {
        const id = tokens[key]?.id ?? 0;
        const raw =
          14 * noise(id * 3.1 + head * 7.7 + query * 0.37) - 4 + (key === (query * (head + 1)) % size ? 8 : 0);
        rawScores[row + key] = raw;
        const hidden = hides(asked, size, layers, heads, head, query, key);
        const score = (raw * factor) / (asked.temperature ?? 1);
        scores[row + key] = hidden ? Number.NEGATIVE_INFINITY : score;
        const weight = hidden ? 0 : Math.exp(score);
        attention[row + key] = weight;
        sum += weight;
      }
      let entropy = 0;
      let visible = 0;
      let argmax = 0;
      for (let key = 0; key < size; key++) {
        const weight = sum > 0 ? (attention[row + key] ?? 0) / sum : 0;
        attention[row + key] = weight;
        if (scores[row + key] !== Number.NEGATIVE_INFINITY) visible++;
        if (weight > 0) entropy -= weight * Math.log(weight);
        if (weight > (attention[row + argmax] ?? 0)) argmax = key;
      }
      if (sum === 0) maskedRows++;
      const entropies = [entropy, entropy / Math.LN2, visible > 1 ? entropy / Math.log(visible) : 0, entropy];
      const statistics = (head * size + query) * rowNames.length;
      rowStatistics.set([...entropies, attention[row + argmax] ?? 0, argmax], statistics);
      rowStatistics[statistics + 11] = visible;
      for (let i = 0; i < 4; i++) {
        const at = head * headNames.length + i;
        headStatistics[at] = (headStatistics[at] ?? 0) + (entropies[i] ?? 0) / size;
      }
    }
  }
  const positions = asked.logits === 'last' ? [size - 1] : Array.isArray(asked.logits) ? asked.logits : [];
  const seed =
    hash(text) + hash(JSON.stringify(asked.ablate ?? [])) + (asked.temperature ?? 1) + (asked.mask?.hidden ? 3 : 0);
  const words = ['cat', 'tired', 'happy', '桌子', '学校'];
  const predictions = words
    .map((word, index) => ({ id: 100 + index, text: word, probability: noise(seed + index) / 5 }))
    .sort((a, b) => b.probability - a.probability);
  return {
    tokens,
    overflow: all.slice(info.positions),
    layers,
    heads,
    attention,
    rowStatistics,
    headStatistics,
    statisticNames: { row: rowNames, head: headNames },
    rawScores,
    scores,
    logitPositions: positions,
    topK: positions.map((position) => ({ position, predictions })),
    maskedRows,
    checkedFinite: asked.checkFinite ?? true,
    computed: { rows: layers * size, firstLayer: 0, firstRow: 0 },
    milliseconds: 0.9,
    times: { tokenize: 0.1, prepare: 0.1, forward: 0.9, results: 0.1, transfer: 0 },
    build: 'simd128',
  };
}

function hides(
  asked: RunOptions,
  size: number,
  layers: number,
  heads: number,
  head: number,
  query: number,
  key: number,
): boolean {
  const mask = asked.mask ?? {};
  if (mask.padding?.includes(key)) return true;
  if (mask.hidden) {
    const offset = mask.hidden.length === layers * heads * size * size ? head * size * size : 0;
    return mask.hidden[offset + query * size + key] === 1;
  }
  if (key < (mask.prefix ?? 0)) return false;
  if (mask.causal && key > query) return true;
  return typeof mask.window === 'number' && Math.abs(query - key) > mask.window;
}
