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
function repeated(stream: string): Batch {
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
    expect(sameBits(probe.headStatistics, run.headStatistics)).toBe(true);
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
    expect(codeOf(() => trainer.step({ tokens, batch: 7 }))).toMatch(/^shape: batch is 7/);
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
