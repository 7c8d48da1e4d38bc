/** The default model and a GPT-2 through `loadModel`, against what PyTorch and transformers recorded. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bilingual } from '../../web/models/bilingual/index.js';
import { loadModel, type MaskOptions, type Model, type RunResult } from '../../web/src/index.js';
import { maxError, sameBits, Worst } from '../support/compare.js';
import { bilingualF32, GOLDEN } from '../support/golden.js';
import { readGpt2 } from '../support/gpt2.js';
import { readSafetensors, type StoredTensor } from '../support/safetensors.js';
import { BUILDS } from './builds.js';

const TOLERANCE = 1e-4;
/** By how much an attention weight of the shipped model may differ from the F32 one's. */
const STORED_TOLERANCE = 0.01;

const NOTHING = new Float32Array();
const RECORDED = new URL('bilingual/reference/', GOLDEN);
const MASKS: Readonly<Record<string, MaskOptions>> = {
  causal: { causal: true },
  bidirectional: {},
  window: { window: 8 },
};

interface Recording {
  readonly name: string;
  readonly text: string;
  readonly ids: readonly number[];
  readonly mask: MaskOptions;
  readonly values: ReadonlyMap<string, StoredTensor>;
}

function readRecordings(): Recording[] {
  const index = JSON.parse(readFileSync(new URL('index.json', RECORDED), 'utf8')) as {
    n: number;
    text: string;
    ids: number[];
  }[];
  return index.flatMap(({ n, text, ids }) =>
    Object.entries(MASKS).map(([kind, mask]) => {
      const values = readSafetensors(new URL(`${n}-${kind}.safetensors`, RECORDED));
      return { name: `${n}-${kind}`, text, ids, mask, values };
    }),
  );
}

const recordings = readRecordings();

function recorded(values: ReadonlyMap<string, StoredTensor>, name: string): ArrayLike<number> {
  const tensor = values.get(name);
  if (!tensor) throw new Error(`nothing recorded under ${name}`);
  return tensor.data;
}

const idsOf = (result: RunResult) => result.tokens.map(({ id }) => id);

it('has 24 recordings of the default model', () => expect(recordings).toHaveLength(24));

describe.each(BUILDS)('%s: the default model in F32', (build) => {
  const worst = new Worst();
  let model: Model;
  beforeAll(async () => {
    model = await loadModel(bilingualF32, { build });
  });
  afterAll(() => {
    model.dispose();
    console.log(`${build}, default model in F32 against PyTorch: ${worst}`);
  });

  it('runs in the build that was asked for', () => expect(model.build).toBe(build));

  it.each(recordings)('$name', async (recording) => {
    const { name, text, ids, mask, values } = recording;
    const result = await model.run(text, { mask, endToken: true, hidden: true, logits: 'last' });
    expect(idsOf(result)).toEqual(ids);
    expect(Array.from(recorded(values, 'input_ids'))).toEqual(ids);
    const errors = {
      attention: maxError(result.attention, recorded(values, 'attention')),
      hidden: maxError(result.hidden ?? [], recorded(values, 'hidden')),
      logits: maxError(result.logits ?? [], recorded(values, 'logits_last')),
    };
    for (const [tensor, error] of Object.entries(errors)) {
      worst.note(`${name}/${tensor}`, error);
      expect(error, tensor).toBeLessThanOrEqual(TOLERANCE);
    }
  });

  it('gives the same for ids as for the text they come from', async () => {
    for (const { text, ids, mask } of recordings.slice(0, 6)) {
      const fromText = await model.run(text, { mask, endToken: true, logits: 'all', hidden: true });
      const fromIds = await model.run(ids, { mask, logits: 'all', hidden: true });
      for (const name of ['attention', 'hidden', 'logits'] as const) {
        expect(sameBits(fromIds[name] ?? NOTHING, fromText[name] ?? NOTHING), name).toBe(true);
      }
    }
  });

  it('shows stages that lead to one another: softmax(scale · rawScores / temperature + mask) is the attention', async () => {
    const { text } = recordings[0] as Recording;
    for (const [scale, factor] of [
      ['default', 1 / Math.sqrt(model.info.headDim)],
      ['none', 1],
      [0.5, 0.5],
    ] as const) {
      for (const temperature of [1, 2.5]) {
        const run = await model.run(text, { mask: { causal: true }, scale, temperature, stages: true });
        const length = run.tokens.length;
        const scores = Float64Array.from(run.rawScores ?? [], (raw, i) =>
          i % length > Math.floor(i / length) % length ? Number.NEGATIVE_INFINITY : (raw * factor) / temperature,
        );
        expect(maxError(run.scores ?? [], scores)).toBeLessThanOrEqual(1e-4);
        expect(maxError(run.attention, softmaxRows(run.scores ?? NOTHING, length))).toBeLessThanOrEqual(1e-6);
      }
    }
  });

  it('names as most probable the tokens with the largest logits', async () => {
    const run = await model.run('Tom gave the book to Mary. Now Mary has the', {
      mask: { causal: true },
      logits: 'last',
    });
    const logits = run.logits ?? NOTHING;
    const probabilities = softmaxRows(logits, logits.length);
    const best = Array.from(logits.keys())
      .sort((a, b) => (logits[b] ?? 0) - (logits[a] ?? 0))
      .slice(0, 5);
    const predictions = run.topK[0]?.predictions ?? [];
    expect(predictions.map(({ id }) => id)).toEqual(best);
    expect(
      maxError(
        predictions.map(({ probability }) => probability),
        best.map((id) => probabilities[id] ?? 0),
      ),
    ).toBeLessThan(1e-6);
    expect(predictions[0]?.text).toBe('book');
  });

  it('gives each row the statistics of its weights', async () => {
    const run = await model.run('I am a student. 我是学生。', { mask: { window: 3 } });
    const [length, columns] = [run.tokens.length, run.statisticNames.row.length];
    const column = (name: string) => {
      const at = run.statisticNames.row.indexOf(name);
      expect(at).toBeGreaterThanOrEqual(0);
      return run.rowStatistics.filter((_, i) => i % columns === at);
    };
    const rows = Array.from({ length: run.attention.length / length }, (_, row) =>
      Array.from(run.attention.subarray(row * length, (row + 1) * length)),
    );
    const nats = rows.map((row) => row.reduce((sum, a) => sum - (a > 0 ? a * Math.log(a) : 0), 0));
    const visible = rows.map((_, row) => Math.min(row % length, 3) + 1 + Math.min(length - 1 - (row % length), 3));
    expect(maxError(column('entropyNats'), nats)).toBeLessThan(1e-5);
    expect(
      maxError(
        column('entropyBits'),
        nats.map((value) => value / Math.LN2),
      ),
    ).toBeLessThan(1e-5);
    expect(
      maxError(
        column('entropyNormalised'),
        nats.map((value, i) => value / Math.log(visible[i] ?? 0)),
      ),
    ).toBeLessThan(1e-5);
    expect(
      maxError(
        column('maximum'),
        rows.map((row) => Math.max(...row)),
      ),
    ).toBe(0);
    expect(Array.from(column('visible'))).toEqual(visible);
  });
});

function softmaxRows(scores: Float32Array, length: number): Float64Array {
  const out = new Float64Array(scores.length);
  for (let start = 0; start < scores.length; start += length) {
    const row = Float64Array.from(scores.subarray(start, start + length));
    const largest = Math.max(...row);
    const powers = row.map((score) => Math.exp(score - largest));
    const sum = powers.reduce((a, b) => a + b, 0);
    out.set(
      powers.map((power) => power / sum),
      start,
    );
  }
  return out;
}

describe.each(BUILDS)('%s: the shipped model', (build) => {
  it(`has attention within ${STORED_TOLERANCE} of the F32 recordings`, async () => {
    const model = await loadModel(bilingual, { build });
    const worst = new Worst();
    for (const { name, text, ids, mask, values } of recordings) {
      const result = await model.run(text, { mask, endToken: true });
      expect(idsOf(result)).toEqual(ids);
      worst.note(name, maxError(result.attention, recorded(values, 'attention')));
    }
    console.log(`${build}, shipped model, attention against F32: ${worst}`);
    expect(model.info.bytes).toBeLessThanOrEqual(3_800_000);
    model.dispose();
    expect(worst.count).toBe(24);
    expect(worst.error).toBeLessThan(STORED_TOLERANCE);
  });
});

describe.each(BUILDS)('%s: GPT-2 as transformers saves it', (build) => {
  const { folder, config, tokenizer } = readGpt2();
  const reference = readSafetensors(new URL('reference.safetensors', folder));
  const worst = new Worst();
  afterAll(() => console.log(`${build}, GPT-2 against transformers: ${worst}`));

  it.each([
    ['gelu_new', 'f32'],
    ['gelu_new', 'f16'],
    ['gelu_new', 'bf16'],
    ['gelu', 'f32'],
  ])('%s in %s', async (activation, dtype) => {
    const model = await loadModel(
      {
        config: { ...config, activation_function: activation },
        weights: new URL(dtype === 'f32' ? 'model.safetensors' : `model-${dtype}.safetensors`, folder),
        tokenizer,
      },
      { build },
    );
    for (const length of [1, 7, 32]) {
      const run = `${activation}-${dtype}-${length}`;
      const ids = Array.from(recorded(reference, `${run}/tokens`));
      const result = await model.run(ids, { mask: { causal: true }, hidden: true, logits: 'all' });
      for (const name of ['attention', 'hidden', 'logits'] as const) {
        const error = maxError(result[name] ?? [], recorded(reference, `${run}/${name}`));
        worst.note(`${run}/${name}`, error);
        expect(error, `${run}/${name}`).toBeLessThanOrEqual(TOLERANCE);
      }
    }
    model.dispose();
  });
});
