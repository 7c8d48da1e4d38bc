/** The trainer in wasm: it learns induction, repeats itself bit by bit, goes on from a checkpoint, and refuses what it cannot do. */
import { describe, expect, it } from 'vitest';
import { loadEngine, loadModel, MultiheadError } from '../../web/src/index.js';
import {
  type Batch,
  loadTrainEngine,
  type NetworkOptions,
  Trainer,
  type TrainerSettings,
} from '../../web/src/train/index.js';
import { sameBits } from '../support/compare.js';
import { Random } from '../support/streams.js';
import { BUILDS } from './builds.js';

const NETWORK: NetworkOptions = { layers: 2, heads: 2, embedDim: 16, vocabulary: 12, positions: 16 };
const SETTINGS: TrainerSettings = {
  seed: 5,
  learningRate: 1e-2,
  warmUp: 10,
  steps: 200,
  beta2: 0.98,
  clip: 1,
  attentionDropout: 0.05,
};

/** Each token comes twice as far again: what followed it the first time is the answer. */
function repeated(stream: string): Batch & { readonly tokens: Int32Array } {
  const random = new Random(stream);
  const tokens = new Int32Array(8 * 16);
  const targets = new Int32Array(8 * 16).fill(-1);
  for (let b = 0; b < 8; b++) {
    for (let t = 0; t < 16; t++) {
      tokens[b * 16 + t] = t < 8 ? random.between(0, 11) : (tokens[b * 16 + t - 8] ?? 0);
      if (t >= 8) targets[b * 16 + t - 1] = tokens[b * 16 + t] ?? 0;
    }
  }
  return { tokens, targets, batch: 8, causal: true };
}

function codeOf(call: () => unknown): string {
  try {
    call();
  } catch (thrown) {
    if (thrown instanceof MultiheadError) return `${thrown.code}: ${thrown.message}`;
    throw thrown;
  }
  return 'nothing was thrown';
}

describe.each(BUILDS)('%s: the trainer', (build) => {
  it('learns, and the same again from the same seed', async () => {
    const [first, again] = await Promise.all([1, 2].map(() => Trainer.create(NETWORK, SETTINGS, { build })));
    if (!first || !again) throw new Error('two trainers were asked for');
    const losses: number[] = [];
    for (let step = 0; step < 150; step++) {
      const batch = repeated(`trainer/${step}`);
      const result = first.step(batch);
      losses.push(result.loss);
      expect(again.step(batch).loss).toBe(result.loss);
      expect(result.step).toBe(step + 1);
    }
    expect(losses[0]).toBeGreaterThan(2.2);
    expect(losses.at(-1)).toBeLessThan(0.8 * (losses[0] ?? 0));
    expect(first.evaluate(repeated('held out')).counted).toBe(64);
    for (const { name } of first.parameters) expect(sameBits(first.read(name).data, again.read(name).data)).toBe(true);
    first.dispose();
    again.dispose();
  });

  it('goes on from a checkpoint, and its file is a model', async () => {
    const [straight, resumed] = [
      await Trainer.create(NETWORK, SETTINGS, { build }),
      await Trainer.create(NETWORK, SETTINGS, { build }),
    ];
    for (let step = 0; step < 3; step++) straight.step(repeated(`resume/${step}`));
    resumed.load(straight.checkpoint());
    expect(resumed.steps).toBe(3);
    for (let step = 3; step < 6; step++) {
      expect(straight.step(repeated(`resume/${step}`)).loss).toBe(resumed.step(repeated(`resume/${step}`)).loss);
    }
    const tokens = [3, 1, 4, 1, 5, 9];
    const probe = straight.probe({ tokens: Int32Array.from(tokens), causal: true }, { logits: true });
    const model = await loadModel(
      { weights: straight.save(), config: straight.modelConfig(), tokenizer: plainTokenizer(12) },
      { build },
    );
    const run = await model.run(tokens, { mask: { causal: true }, logits: 'all' });
    expect(run.attention.length).toBe(probe.attention.length);
    expect(Math.max(...run.attention.map((x, i) => Math.abs(x - (probe.attention[i] ?? 9))))).toBeLessThan(1e-6);
    expect(Math.max(...(run.logits ?? []).map((x, i) => Math.abs(x - (probe.logits?.[i] ?? 9))))).toBeLessThan(1e-5);
    expect(probe.headStatistics.length).toBe(2 * 2 * probe.statisticNames.head.length);
    expect(Math.max(...run.headStatistics.map((x, i) => Math.abs(x - (probe.headStatistics[i] ?? 9))))).toBeLessThan(
      1e-5,
    );
    model.dispose();
  });

  it('measures each tensor of a step', async () => {
    const trainer = await Trainer.create(NETWORK, { optimiser: 'sgd', learningRate: 0.5, weightDecay: 0 }, { build });
    const { tensors, gradientNorm, learningRate } = trainer.step(repeated('inspect'), { inspect: true });
    expect(learningRate).toBe(0.5);
    expect(tensors?.length).toBe(trainer.parameters.length);
    expect(Math.hypot(...(tensors ?? []).map((tensor) => tensor.gradient))).toBeCloseTo(gradientNorm, 5);
    for (const { gradient, update } of tensors ?? []) expect(update).toBeCloseTo(0.5 * gradient, 5);
    expect(trainer.parameterCount).toBe(
      trainer.parameters.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0),
    );
  });

  it('takes memory to learn in when it learns, not to look', async () => {
    const large: NetworkOptions = { layers: 2, heads: 2, embedDim: 256, vocabulary: 8, positions: 16 };
    const engine = await loadTrainEngine({ build });
    const before = engine.memory.bytes;
    const trainer = new Trainer(engine, large);
    const parameters = 4 * trainer.parameterCount;
    const batch = { tokens: Int32Array.of(1, 2, 3, 4), targets: Int32Array.of(2, 3, 4, 5), causal: true };
    trainer.evaluate(batch);
    expect(engine.memory.bytes - before).toBeLessThan(2 * parameters);
    trainer.step(batch);
    expect(engine.memory.bytes - before).toBeGreaterThan(4 * parameters);
    expect(trainer.gradient('wte.weight').data.every((x) => x === 0)).toBe(true);
    trainer.dispose();
  });

  it('reads and writes parameters', async () => {
    const trainer = await Trainer.create(NETWORK, SETTINGS, { build });
    const { shape, data } = trainer.read('h.1.mlp.c_fc.weight');
    expect(shape).toEqual([16, 64]);
    trainer.write('h.1.mlp.c_fc.weight', { shape, data: data.map((x) => 2 * x) });
    expect(
      sameBits(
        trainer.read('h.1.mlp.c_fc.weight').data,
        data.map((x) => 2 * x),
      ),
    ).toBe(true);
    data[3] = Number.NaN;
    trainer.write('h.1.mlp.c_fc.weight', { shape, data });
    expect(codeOf(() => trainer.step(repeated('nan')))).toMatch(
      /^nonfinite: h\.1\.mlp\.c_fc\.weight .* index 3, in step 1/,
    );
  });

  it('says what is wrong', async () => {
    const trainer = await Trainer.create(NETWORK, SETTINGS, { build });
    const { tokens } = repeated('refused');
    expect(codeOf(() => trainer.step({ tokens, batch: 8 }))).toMatch(/^argument: nothing to learn from/);
    expect(codeOf(() => trainer.step({ tokens, batch: 7 }))).toMatch(
      /^shape: there are 128 values of tokens: that is no whole number of 7/,
    );
    expect(codeOf(() => trainer.step({ tokens, targets: new Int32Array(3), batch: 8 }))).toMatch(/^shape: there are 3/);
    expect(codeOf(() => trainer.step({ tokens: Int32Array.of(12), targets: new Int32Array(2) }))).toMatch(/^shape/);
    expect(codeOf(() => trainer.probe({ tokens: Int32Array.of(12) }))).toMatch(/^argument: tokens\[0\] is 12/);
    expect(codeOf(() => trainer.configure({ clip: Number.NaN }))).toMatch(/^argument: clip/);
    expect(codeOf(() => trainer.configure({ optimiser: 'adam' as 'adamw' }))).toMatch(/^argument: optimiser is adam/);
    expect(codeOf(() => trainer.configure({ lr: 1 } as TrainerSettings))).toMatch(
      /^argument: the settings has no option lr/,
    );
    expect(codeOf(() => trainer.read('wte'))).toMatch(/^argument: there is no parameter wte/);
    expect(codeOf(() => trainer.load(new Uint8Array(9)))).toMatch(/^corrupt/);
    trainer.dispose();
    trainer.dispose();
    expect(codeOf(() => trainer.steps)).toMatch(/^disposed/);
    const engine = await loadTrainEngine({ build });
    expect(codeOf(() => new Trainer(engine, { ...NETWORK, heads: 3 }))).toMatch(/^shape: embed_dim 16/);
    const looks = await loadEngine({ build });
    expect(codeOf(() => new Trainer(looks, NETWORK))).toMatch(/^argument: this engine only looks/);
  });
});

/** The target is the source backwards, after a start token 0; sources are 5, then 3 tokens long. */
function backwards(stream: string): Batch {
  const random = new Random(stream);
  const batch: { source: Int32Array; tokens: Int32Array; targets: Int32Array } = {
    source: Int32Array.from({ length: 16 * 5 }, () => random.between(1, 6)),
    tokens: new Int32Array(16 * 5),
    targets: new Int32Array(16 * 5).fill(-1),
  };
  const sourceLengths = Array.from({ length: 16 }, (_, b) => (b % 2 === 0 ? 5 : 3));
  for (const [b, length] of sourceLengths.entries()) {
    for (let t = 0; t < length; t++) {
      const token = batch.source[b * 5 + length - 1 - t] ?? 0;
      batch.targets[b * 5 + t] = token;
      if (t + 1 < 5) batch.tokens[b * 5 + t + 1] = token;
    }
  }
  return { ...batch, sourceLengths, batch: 16, causal: true };
}

/** Eight noisy patches of three numbers: the bits of the class. */
function noisy(stream: string): Batch & { readonly targets: Int32Array } {
  const random = new Random(stream);
  const targets = Int32Array.from({ length: 16 }, () => random.between(0, 7));
  const patches = Float32Array.from({ length: 16 * 8 * 3 }, (_, i) => {
    const bit = ((targets[Math.floor(i / 24)] ?? 0) >> (i % 3)) & 1;
    return bit - 0.5 + 2 * (random.unit() - 0.5);
  });
  return { patches, targets, batch: 16 };
}

describe.each(BUILDS)('%s: other networks', (build) => {
  it('an encoder-decoder learns to turn words round, its cross-attention as asked', async () => {
    const network = { layers: 1, heads: 2, embedDim: 32, vocabulary: 7, positions: 5 } as const;
    const trainer = await Trainer.create(
      { ...network, architecture: 'encoder-decoder' },
      { seed: 1, learningRate: 1e-2, warmUp: 10, beta2: 0.98, clip: 1 },
      { build },
    );
    expect(trainer.parameters.some(({ name }) => name === 'h.0.crossattention.c_attn.weight')).toBe(true);
    const target = new Float32Array(16 * 5 * 5);
    for (let b = 0; b < 16; b++) {
      const length = b % 2 === 0 ? 5 : 3;
      for (let t = 0; t < length; t++) target[(b * 5 + t) * 5 + length - 1 - t] = 1;
    }
    const supervision = [{ layer: 0, head: 1, cross: true, weight: 0.5, target }];
    const first = trainer.step({ ...backwards('turn/0'), supervision });
    for (let step = 1; step < 150; step++) trainer.step({ ...backwards(`turn/${step}`), supervision });
    const held = trainer.evaluate({ ...backwards('held out'), supervision });
    expect(first.supervision).toBeGreaterThan(10);
    expect(held.supervision).toBeLessThan(0.5 * first.supervision);
    expect(held.accuracy).toBeGreaterThan(0.9);
    const probe = trainer.probe(backwards('held out'), { logits: true });
    expect(probe.crossAttention?.length).toBe(16 * 2 * 5 * 5);
    expect(probe.encoderAttention?.length).toBe(16 * 2 * 5 * 5);
    // Batch entry 1, head 1, first query: the last of three words, and no padding.
    const row = probe.crossAttention?.subarray(75, 80) ?? [];
    expect(row[2]).toBeGreaterThan(0.5);
    expect([row[3], row[4]]).toEqual([0, 0]);
    trainer.dispose();
  });

  it.each([true, false])(
    'a classifier learns from patches, class token %s, under shifted windows',
    async (classToken) => {
      const trainer = await Trainer.create(
        {
          architecture: 'classifier',
          layers: 2,
          heads: 2,
          embedDim: 32,
          vocabulary: 8,
          positions: 9,
          patchDim: 3,
          classToken,
          norm: 'pre',
        },
        { seed: 2, learningRate: 1e-2, warmUp: 10, beta2: 0.98, clip: 1 },
        { build },
      );
      const places = Array.from({ length: 8 + Number(classToken) }, (_, i) => i);
      const windows = [0, 2].map((shift) => places.map((i) => Math.floor((i + shift) / 4)));
      const layerMasks = windows.map((blocks) => ({ queryBlocks: blocks, keyBlocks: blocks }));
      const asked = classToken ? {} : { layerMasks };
      for (let step = 0; step < 80; step++) trainer.step({ ...noisy(`noisy/${step}`), ...asked });
      const held = { ...noisy('held out'), ...asked };
      expect(trainer.evaluate(held).accuracy).toBeGreaterThan(0.9);
      const { attention, logits, length } = trainer.probe(held, { logits: true });
      expect(length).toBe(places.length);
      expect(logits?.length).toBe(16 * 8);
      if (!classToken) expect(attention[4]).toBe(0);
      const again = await Trainer.create(trainer.network, {}, { build });
      again.load(trainer.save());
      expect(again.evaluate(held).loss).toBe(trainer.evaluate(held).loss);
    },
  );

  it('says what is missing', async () => {
    const sizes = { layers: 1, heads: 2, embedDim: 8, vocabulary: 7, positions: 5 } as const;
    const translator = await Trainer.create({ ...sizes, architecture: 'encoder-decoder' }, {}, { build });
    const { source, ...alone } = backwards('alone');
    expect(codeOf(() => translator.step(alone))).toMatch(/^argument: source must be of type Int32Array/);
    expect(codeOf(() => translator.step({ ...backwards('lengths'), sourceLengths: [1] }))).toMatch(
      /^shape: sourceLengths has 1 values: it must have 16/,
    );
    const layerMasks = [{ causal: true }, {}];
    expect(codeOf(() => translator.step({ ...backwards('masks'), layerMasks }))).toMatch(/^shape: layerMasks has 2/);
    expect(codeOf(() => translator.modelConfig())).toMatch(/^unsupported/);
    await expect(Trainer.create({ ...sizes, architecture: 'classifier' }, {}, { build })).rejects.toThrow(/patch_dim/);
  });
});

/** One word a token. */
function plainTokenizer(size: number): object {
  const vocab = Object.fromEntries(Array.from({ length: size }, (_, id) => [`t${id}`, id]));
  return {
    added_tokens: [],
    normalizer: null,
    pre_tokenizer: { type: 'WhitespaceSplit' },
    post_processor: null,
    decoder: null,
    model: { type: 'BPE', vocab, merges: [], unk_token: 't0' },
  };
}
