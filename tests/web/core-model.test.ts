/** model.run: what goes in, what comes out, and every refusal. Numbers against PyTorch are tested in tests/wasm. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bilingual } from '../../web/models/bilingual/index.js';
import { loadModel, type Model, type RunOptions, type RunResult } from '../../web/src/index.js';

const CAT = "The cat didn't cross the street because it was too tired.";

let model: Model;
beforeAll(async () => {
  model = await loadModel(bilingual);
});
afterAll(() => model.dispose());

/** Weight of query q on key k. */
function weight(run: RunResult, layer: number, head: number, q: number, k: number): number {
  const length = run.tokens.length;
  return run.attention[((layer * run.heads + head) * length + q) * length + k] ?? Number.NaN;
}

/** For each cell of one head's map, whether there is any weight. */
function seen(run: RunResult, layer = 0, head = 0): number[] {
  const length = run.tokens.length;
  return Array.from({ length: length * length }, (_, i) =>
    Number(weight(run, layer, head, Math.floor(i / length), i % length) > 0),
  );
}

it('says what it is', () => {
  expect(model.info).toMatchObject({
    name: 'bilingual',
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
    attentionError: 0.0022,
    precision: 'f32',
    hasMaskToken: true,
    parameters: 1_827_584,
  });
  expect(model.info.bytes).toBeGreaterThan(1_800_000);
  expect(model.thread).toBe('here');
});

describe('results', () => {
  it('have the documented shapes', async () => {
    const run = await model.run(CAT, { stages: true, hidden: true, logits: [0, 3] });
    const [L, H, T] = [4, 8, 16];
    expect(run.tokens).toHaveLength(T);
    expect([run.layers, run.heads]).toEqual([L, H]);
    expect(run.attention).toHaveLength(L * H * T * T);
    expect(run.rowStatistics).toHaveLength(L * H * T * run.statisticNames.row.length);
    expect(run.headStatistics).toHaveLength(L * H * run.statisticNames.head.length);
    expect(run.rawScores).toHaveLength(L * H * T * T);
    expect(run.scores).toHaveLength(L * H * T * T);
    expect(run.hidden).toHaveLength((L + 1) * T * 128);
    expect(run.logits).toHaveLength(2 * 8016);
    expect(run.logitPositions).toEqual([0, 3]);
    expect(run.build).toBe(model.build);
    expect(run.milliseconds).toBeGreaterThan(0);
    expect(run.times).toMatchObject({ forward: run.milliseconds, transfer: 0 });
    expect(Math.min(...Object.values(run.times))).toBeGreaterThanOrEqual(0);
  });

  it('leave out what was not asked for', async () => {
    const run = await model.run(CAT);
    expect([run.rawScores, run.scores, run.hidden, run.logits]).toEqual([undefined, undefined, undefined, undefined]);
    expect([run.topK, run.logitPositions, run.overflow, run.maskedRows]).toEqual([[], [], [], 0]);
  });

  it('are views of one buffer of their own, so that a worker hands them over at once', async () => {
    const run = await model.run(CAT, { stages: true, hidden: true, logits: 'last' });
    const arrays = [
      run.attention,
      run.rowStatistics,
      run.headStatistics,
      run.rawScores,
      run.scores,
      run.hidden,
      run.logits,
    ];
    expect(new Set(arrays.map((array) => array?.buffer)).size).toBe(1);
    const bytes = arrays.reduce((sum, array) => sum + (array?.byteLength ?? 0), 0);
    expect(run.attention.buffer.byteLength).toBe(bytes);
    const before = run.attention.slice();
    await model.run('something else');
    expect(run.attention).toEqual(before);
  });

  it('are the same bits each time', async () => {
    const [a, b] = [await model.run(CAT), await model.run(CAT)];
    expect(a.attention).toEqual(b.attention);
    expect(a.rowStatistics).toEqual(b.rowStatistics);
  });

  it('have rows that sum to 1', async () => {
    const { attention, tokens } = await model.run(CAT);
    for (let row = 0; row < attention.length; row += tokens.length) {
      const sum = attention.subarray(row, row + tokens.length).reduce((a, b) => a + b, 0);
      expect(sum).toBeCloseTo(1, 5);
    }
  });

  it('have the deviation of the scores with and without stages', async () => {
    const at = (run: RunResult) => run.headStatistics[run.statisticNames.head.indexOf('scoreDeviation')];
    const [plain, staged] = [await model.run(CAT), await model.run(CAT, { stages: true })];
    expect(at(plain)).toBeGreaterThan(0);
    expect(at(plain)).toBe(at(staged));
  });
});

describe('chosen maps', () => {
  const heads = [
    { layer: 3, head: 7 },
    { layer: 0, head: 2 },
    { layer: 3, head: 0 },
  ];
  const sorted = [heads[1], heads[2], heads[0]] as const;
  /** Of `[L, H, T, T]`, the rows of the sorted heads. */
  const part = (run: RunResult, data: Float32Array | undefined, rows: readonly number[]) => {
    const T = run.tokens.length;
    return sorted.flatMap((place) =>
      rows.map((row) => {
        const start = (((place?.layer ?? 0) * run.heads + (place?.head ?? 0)) * T + row) * T;
        return data?.slice(start, start + T);
      }),
    );
  };
  const rowsOf = (data: Float32Array | undefined, T: number) =>
    Array.from({ length: (data?.length ?? 0) / T }, (_, row) => data?.slice(row * T, (row + 1) * T));

  it('are those of the run that returns them all, in the order of layers and heads', async () => {
    const mask = { causal: true };
    const all = await model.run(CAT, { mask, stages: true });
    const T = all.tokens.length;
    const rows = [14, 0, 3];
    const some = await model.run(CAT, { mask, attention: { heads }, stages: { heads, rows } });
    expect(some.chosenAttention).toEqual({ heads: sorted, rows: Array.from({ length: T }, (_, row) => row) });
    expect(some.chosenStages).toEqual({ heads: sorted, rows: [0, 3, 14] });
    const everyRow = some.chosenAttention?.rows ?? [];
    expect(rowsOf(some.attention, T)).toEqual(part(all, all.attention, everyRow));
    expect(rowsOf(some.scores, T)).toEqual(part(all, all.scores, [0, 3, 14]));
    expect(rowsOf(some.rawScores, T)).toEqual(part(all, all.rawScores, [0, 3, 14]));
    expect(some.rowStatistics).toEqual(all.rowStatistics);
    expect(some.headStatistics).toEqual(all.headStatistics);
    expect([all.chosenAttention, all.chosenStages]).toEqual([undefined, undefined]);
  });

  it('can be the last row of every head, or none', async () => {
    const all = await model.run(CAT);
    const T = all.tokens.length;
    const last = await model.run(CAT, { attention: { rows: [T - 1] } });
    expect(last.chosenAttention?.heads).toHaveLength(32);
    expect(last.chosenAttention?.rows).toEqual([T - 1]);
    expect(rowsOf(last.attention, T)).toEqual(rowsOf(all.attention, T).filter((_, row) => row % T === T - 1));
    for (const attention of ['none', { heads: [] }, { rows: [] }] as const) {
      const none = await model.run(CAT, { attention, stages: { heads: [] } });
      expect([none.attention.length, none.scores?.length, none.rawScores?.length]).toEqual([0, 0, 0]);
      expect(none.headStatistics).toEqual(all.headStatistics);
    }
  });

  const bad: [unknown, RegExp][] = [
    [{ heads: [{ layer: 4, head: 0 }] }, /^the layer of a head of stages is 4/],
    [{ heads: [{ layer: 0, head: -1 }] }, /^a head of stages is -1/],
    [{ heads: [heads[0], { layer: 3, head: 7 }] }, /^stages has head 7 of layer 3 twice/],
    [{ heads: [null] }, /^a head of stages takes an object/],
    [{ heads: 3 }, /^stages.heads is 3: it must be a list/],
    [{ rows: [16] }, /^a row of stages is 16/],
    [{ rows: [0.5] }, /^a row of stages is 0.5/],
    [{ rows: [3, 2, 3] }, /^stages has row 3 twice/],
    [{ head: [] }, /^stages has no option head/],
    ['all', /^stages is all: it must be true, false, or an object/],
  ];
  it.each(bad)('%j is refused', async (stages, message) => {
    await expect(model.run(CAT, { stages } as never)).rejects.toMatchObject({
      code: 'argument',
      message: expect.stringMatching(message),
    });
  });
});

describe('tokens', () => {
  it('are closed by the end token unless the mask is causal', async () => {
    const names = async (options: RunOptions) => (await model.run('hi', options)).tokens.map((token) => token.text);
    expect(await names({})).toEqual(['<s>', 'hi', '</s>']);
    expect(await names({ mask: { window: 3 } })).toEqual(['<s>', 'hi', '</s>']);
    expect(await names({ mask: { causal: true } })).toEqual(['<s>', 'hi']);
    expect(await names({ mask: { causal: true }, endToken: true })).toEqual(['<s>', 'hi', '</s>']);
    expect(await names({ endToken: false })).toEqual(['<s>', 'hi']);
  });

  it('of empty text are those of the frame', async () => {
    for (const text of ['', ' ', '\n\n', '\u200b']) {
      const run = await model.run(text, { logits: 'last' });
      expect(run.tokens[0]?.text).toBe('<s>');
      expect(run.tokens.at(-1)).toMatchObject({ text: '</s>', start: text.length, end: text.length });
      expect(run.attention.every(Number.isFinite)).toBe(true);
    }
    expect((await model.run('', { mask: { causal: true } })).tokens).toHaveLength(1);
    await expect(model.run([])).rejects.toMatchObject({ code: 'argument', message: /there are no tokens to run/ });
  });

  it('are hidden by maskTokens, keeping their span', async () => {
    const run = await model.run('The cat sat.', { maskTokens: [2], logits: [2] });
    expect(run.tokens[2]).toEqual({ id: 4, text: '[MASK]', start: 4, end: 7, special: true, wordStart: true });
    expect(run.topK[0]?.predictions[0]?.text).not.toBe('[MASK]');
    const [plain, typed] = [await model.run('The cat sat.'), await model.run(run.tokens.map((token) => token.id))];
    expect(run.attention).not.toEqual(plain.attention);
    expect(run.attention).toEqual(typed.attention);
  });

  it('may be ids, as they are', async () => {
    const ids = [33, 295, 3158];
    const run = await model.run(ids);
    expect(run.tokens.map((token) => [token.id, token.text])).toEqual([
      [33, 'the'],
      [295, 'cat'],
      [3158, '苹果'],
    ]);
  });

  it('of a text are given however long it is', async () => {
    const long = Array.from({ length: 500 }, () => 'the cat').join(' ');
    const tokens = await model.tokenize(long);
    expect(tokens).toHaveLength(1002);
    expect(await model.tokenize(long, { endToken: false })).toHaveLength(1001);
    expect(tokens.at(-2)).toMatchObject({ text: 'cat', end: long.length });
  });
});

describe('too long a text', () => {
  const long = `the${' cat'.repeat(69)}`;

  it('is an error with the numbers', async () => {
    await expect(model.run(long)).rejects.toMatchObject({
      code: 'too-long',
      message: "the input is 72 tokens and the model takes 64: shorten it by 8, or use tooLong: 'truncate'",
      details: { tokens: 72, limit: 64 },
    });
  });

  it('is cut if wanted, with its frame, and the rest is given', async () => {
    const run = await model.run(long, { tooLong: 'truncate', logits: 'last' });
    expect(run.tokens).toHaveLength(64);
    expect(run.tokens.at(-1)?.text).toBe('</s>');
    expect(run.overflow).toHaveLength(8);
    expect(run.overflow[0]?.start).toBe((run.tokens.at(-2)?.end ?? 0) + 1);
    const causal = await model.run(long, { tooLong: 'truncate', mask: { causal: true } });
    expect([causal.tokens.length, causal.overflow.length]).toEqual([64, 7]);
    const ids = await model.run(new Array(66).fill(295), { tooLong: 'truncate' });
    expect([ids.tokens.length, ids.overflow.length]).toEqual([64, 2]);
  });

  it('that fits exactly runs', async () => {
    const exact = `the${' cat'.repeat(61)}`;
    const run = await model.run(exact, { tooLong: 'truncate' });
    expect([run.tokens.length, run.overflow.length]).toEqual([64, 0]);
  });
});

describe('masks', () => {
  const mapOf = async (mask: RunOptions['mask']) => {
    const run = await model.run([2, 33, 295, 3], { mask: mask ?? {} });
    return seen(run);
  };

  it('by place', async () => {
    expect(await mapOf({})).toEqual(new Array(16).fill(1));
    expect(await mapOf({ causal: true })).toEqual([1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1]);
    expect(await mapOf({ window: 1 })).toEqual([1, 1, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1, 1]);
    expect(await mapOf({ window: [0, 1] })).toEqual([1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1]);
    expect(await mapOf({ causal: true, prefix: 2 })).toEqual([1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1]);
    expect(await mapOf({ padding: [1, 3] })).toEqual([1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0]);
    expect(await mapOf({ causal: true, padding: [0] })).toEqual([0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1]);
  });

  it('painted for all, per head, and per layer and head', async () => {
    const ids = [2, 33, 295, 3];
    const cell = 6; // query 1, key 2
    const painted = (count: number, at: number[]) => {
      const hidden = new Uint8Array(count * 16);
      for (const map of at) hidden[map * 16 + cell] = 1;
      return hidden;
    };
    const visibleIn = async (hidden: Uint8Array) => {
      const run = await model.run(ids, { mask: { hidden } });
      return Array.from({ length: 32 }, (_, map) => seen(run, Math.floor(map / 8), map % 8)[cell]);
    };
    expect(await visibleIn(painted(1, [0]))).toEqual(new Array(32).fill(0));
    const perHead = await visibleIn(painted(8, [3]));
    expect(perHead).toEqual(Array.from({ length: 32 }, (_, map) => Number(map % 8 !== 3)));
    const perLayer = await visibleIn(painted(32, [11]));
    expect(perLayer).toEqual(Array.from({ length: 32 }, (_, map) => Number(map !== 11)));
  });

  it('painted ones count as hidden in the statistics of their own layer', async () => {
    const hidden = new Uint8Array(32 * 16);
    hidden[11 * 16 + 6] = 1;
    const run = await model.run([2, 33, 295, 3], { mask: { hidden } });
    const at = run.statisticNames.row.indexOf('visible');
    const visible = Array.from(
      { length: 32 * 4 },
      (_, row) => run.rowStatistics[row * run.statisticNames.row.length + at],
    );
    expect(visible.map((count, row) => (count === 4 ? -1 : row)).filter((row) => row >= 0)).toEqual([11 * 4 + 1]);
  });

  it('that leave rows without keys give zeros and count them', async () => {
    const run = await model.run([2, 33, 295, 3], { mask: { causal: true, padding: [0] } });
    expect(run.maskedRows).toBe(32);
    expect(run.attention.every(Number.isFinite)).toBe(true);
  });

  it('refuse what does not fit', async () => {
    const refuse = (mask: RunOptions['mask'], code: string, message: string) =>
      expect(model.run([2, 33, 295, 3], { mask: mask ?? {} })).rejects.toMatchObject({ code, message });
    await refuse(
      { hidden: new Uint8Array(17) },
      'shape',
      'mask.hidden has 17 values; for 4 tokens it must have 16, or 128, or 512 (T·T, H·T·T or L·H·T·T)',
    );
    await refuse(
      { padding: [4] },
      'argument',
      'a position of mask.padding is 4: it must be a whole number from 0 to 3',
    );
    await refuse({ window: -2 }, 'argument', 'window is -2: one width for both sides is 0 or more');
    await refuse(
      { window: 1.5 },
      'argument',
      'mh_model_pass.mask.window_left is 1.5: it must be a whole number, -2147483648 to 2147483647',
    );
  });
});

describe('interventions', () => {
  it('change the scale and the temperature', async () => {
    const entropy = async (options: RunOptions) => {
      const run = await model.run(CAT, options);
      return run.headStatistics[run.statisticNames.head.indexOf('entropyNats')] ?? Number.NaN;
    };
    const usual = await entropy({});
    expect(await entropy({ scale: 1 / 4 })).toBeCloseTo(usual, 5);
    expect(await entropy({ scale: 'none' })).toBeLessThan(usual);
    expect(await entropy({ temperature: 3 })).toBeGreaterThan(usual);
    expect(await entropy({ scale: 0 })).toBeCloseTo(Math.log(16), 4);
  });

  it('ablate heads', async () => {
    const logits = async (options: RunOptions) => (await model.run(CAT, { logits: 'last', ...options })).logits;
    const usual = await logits({});
    const kinds = ['zero', 'mean', 'uniform'] as const;
    const outcomes = await Promise.all(kinds.map((kind) => logits({ ablate: [{ layer: 1, head: 2, kind }] })));
    for (const [i, outcome] of outcomes.entries()) {
      expect(outcome, kinds[i]).not.toEqual(usual);
      expect(outcome).not.toEqual(outcomes[(i + 1) % 3]);
    }
    expect(await logits({ ablate: [] })).toEqual(usual);
    const uniform = await model.run(CAT, { ablate: [{ layer: 1, head: 2, kind: 'uniform' }] });
    expect(weight(uniform, 1, 2, 3, 5)).toBeCloseTo(1 / 16, 6);
  });

  it('show a uniform head with a score of 0 on each visible key, and its own raw scores', async () => {
    const options = { mask: { causal: true }, temperature: 2, stages: true } as const;
    const usual = await model.run(CAT, options);
    const uniform = await model.run(CAT, { ...options, ablate: [{ layer: 1, head: 2, kind: 'uniform' }] });
    const T = usual.tokens.length;
    const ofHead = (map: Float32Array | undefined) => Array.from(map?.subarray(10 * T * T, 11 * T * T) ?? []);
    const expected = (i: number) => (i % T > Math.floor(i / T) ? Number.NEGATIVE_INFINITY : 0);
    expect(ofHead(uniform.scores)).toEqual(Array.from({ length: T * T }, (_, i) => expected(i)));
    expect(ofHead(uniform.rawScores)).toEqual(ofHead(usual.rawScores));
  });
});

describe('predictions', () => {
  it('are the most probable first, with readable text', async () => {
    const run = await model.run('Tom gave the book to Mary. Now Mary has the', {
      mask: { causal: true },
      logits: 'last',
      topK: 3,
    });
    expect(run.topK).toHaveLength(1);
    expect(run.topK[0]?.position).toBe(run.tokens.length - 1);
    const predictions = run.topK[0]?.predictions ?? [];
    expect(predictions).toHaveLength(3);
    expect(predictions[0]?.text).toBe('book');
    const probabilities = predictions.map((prediction) => prediction.probability);
    expect(probabilities).toEqual([...probabilities].sort((a, b) => b - a));
  });

  it('come at every position asked for', async () => {
    const run = await model.run(CAT, { logits: 'all', topK: 1 });
    expect(run.topK.map((top) => top.position)).toEqual(run.tokens.map((_, i) => i));
    expect((await model.run(CAT, { logits: 'all', topK: 0 })).topK).toEqual([]);
  });

  it('may be all of the vocabulary', async () => {
    const run = await model.run('a', { logits: 'last', topK: 8016 });
    const total = run.topK[0]?.predictions.reduce((sum, { probability }) => sum + probability, 0);
    expect(total).toBeCloseTo(1, 4);
    expect(new Set(run.topK[0]?.predictions.map(({ id }) => id)).size).toBe(8016);
  });
});

describe('refuses', () => {
  it.each<[string, string, string | number[], RunOptions]>([
    ['argument', 'token id 1 is 8016: it must be a whole number from 0 to 8015', [1, 8016], {}],
    ['argument', 'token id 0 is 1.5: it must be a whole number from 0 to 8015', [1.5], {}],
    ['argument', "endToken is for text input: put the token's id among the ids instead", [1], { endToken: true }],
    ['argument', "maskTokens is for text input: put the token's id among the ids instead", [1], { maskTokens: [0] }],
    ['argument', 'a position of maskTokens is 9: it must be a whole number from 0 to 2', 'a', { maskTokens: [9] }],
    ['argument', 'a position of logits is 3: it must be a whole number from 0 to 2', 'a', { logits: [3] }],
    ['argument', 'topK is 8017: it must be a whole number from 0 to 8016', 'a', { topK: 8017 }],
    ['argument', 'topK is -1: it must be a whole number from 0 to 8016', 'a', { topK: -1 }],
    ['argument', 'temperature is 0: it must be a finite number above 0', 'a', { temperature: 0 }],
    ['argument', "scale is NaN: it must be 'default', 'none' or a finite number", 'a', { scale: Number.NaN }],
    [
      'argument',
      'the layer of an ablation is 4: it must be a whole number from 0 to 3',
      'a',
      { ablate: [{ layer: 4, head: 0, kind: 'zero' }] },
    ],
    [
      'argument',
      'the head of an ablation is -1: it must be a whole number from 0 to 7',
      'a',
      { ablate: [{ layer: 0, head: -1, kind: 'zero' }] },
    ],
    [
      'argument',
      'an ablation has the kind half: it must be one of zero, mean, uniform',
      'a',
      { ablate: [{ layer: 0, head: 0, kind: 'half' as 'zero' }] },
    ],
  ])('%s: %s', async (code, message, input, options) => {
    await expect(model.run(input, options)).rejects.toMatchObject({ name: 'MultiheadError', code, message });
  });

  it('scores beyond f32, naming where, unless told not to look', async () => {
    await expect(model.run(CAT, { scale: 3e38 })).rejects.toMatchObject({ code: 'nonfinite', message: /scores/ });
    expect((await model.run(CAT, { scale: 3e38, checkFinite: false })).checkedFinite).toBe(false);
    expect((await model.run(CAT)).checkedFinite).toBe(true);
  });
});

describe('life', () => {
  it('rejects an aborted run with the reason of its signal', async () => {
    await expect(model.run(CAT, { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' });
    const reason = new Error('typed on');
    await expect(model.run(CAT, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  it('keeps only the newest of the requests that pile up', async () => {
    const texts = ['a', 'ab', 'abc', 'abcd'];
    const runs = await Promise.all(texts.map((text) => model.runLatest(text)));
    expect(runs.map((run) => run !== undefined)).toEqual([true, false, false, true]);
    expect(runs[3]?.tokens.map((token) => token.text).join('')).toBe('<s>abcd</s>');
    expect(await model.runLatest('again')).toBeDefined();
  });

  it('goes on after a run that failed', async () => {
    await expect(model.runLatest([1], { endToken: true })).rejects.toMatchObject({ code: 'argument' });
    await expect(model.runLatest('fine')).resolves.toBeDefined();
  });

  it('ends with dispose, which may be called twice', async () => {
    const other = await loadModel(bilingual);
    other.dispose();
    other.dispose();
    await expect(other.run('a')).rejects.toMatchObject({ code: 'disposed', message: /load it anew/ });
    await expect(other.tokenize('a')).rejects.toMatchObject({ code: 'disposed' });
    await expect(other.runLatest('a')).rejects.toMatchObject({ code: 'disposed' });
  });
});
