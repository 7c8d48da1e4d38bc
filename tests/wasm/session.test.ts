/** Sessions of the default model: whatever changes from run to run, the results are those of a run without one. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bilingual } from '../../web/models/bilingual/index.js';
import {
  type Ablation,
  type Build,
  loadModel,
  type MaskOptions,
  type Model,
  type RunOptions,
  type RunResult,
} from '../../web/src/index.js';
import { Random } from '../support/streams.js';
import { BUILDS } from './builds.js';

const [LAYERS, HEADS] = [4, 8];
const CAUSAL = { mask: { causal: true } } as const;
const KINDS = ['zero', 'mean', 'uniform'] as const;

/** What a user has in front of them. */
interface Desk {
  ids: number[];
  options: RunOptions;
  painted: Uint8Array | null;
}

/** One thing changes. */
function edit(desk: Desk, random: Random): void {
  const { ids } = desk;
  const what = random.between(0, 7);
  if (what <= 2 && ids.length < 40) ids.push(random.between(5, 8000));
  else if (what === 3) ids[random.between(0, ids.length - 1)] = random.between(5, 8000);
  else if (what === 4 && ids.length > 1) ids.length = random.between(1, ids.length);
  else if (what === 5) {
    const ablate: Ablation[] = [
      { layer: random.between(0, LAYERS - 1), head: random.between(0, HEADS - 1), kind: random.pick(KINDS) },
    ];
    desk.options = { ...desk.options, ablate: random.chance(0.5) ? [] : ablate };
  } else if (what === 6) {
    desk.options = { ...desk.options, temperature: random.pick([1, 1, 0.5]), scale: random.pick(['default', 'none']) };
  } else {
    const mask = random.pick<MaskOptions>([{ causal: true }, { window: 2 }, { causal: true, prefix: 2 }, {}]);
    desk.options = { ...desk.options, mask };
    desk.painted = random.chance(0.4) ? new Uint8Array(LAYERS * HEADS * 40 * 40) : null;
  }
  if (desk.painted) desk.painted[random.between(0, desk.painted.length - 1)] = 1;
}

function optionsOf({ ids, options, painted }: Desk): RunOptions {
  if (!painted) return options;
  return { ...options, mask: { ...options.mask, hidden: painted.subarray(0, LAYERS * HEADS * ids.length ** 2) } };
}

/** All of a result but what tells how it was computed; arrays as their bytes, which compare quickly. */
function comparable(result: RunResult): Record<string, unknown> {
  const entries = Object.entries({ ...result, milliseconds: 0, times: null, computed: null }).map(([name, value]) =>
    value instanceof Float32Array
      ? [name, Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('latin1')]
      : [name, value],
  );
  return Object.fromEntries(entries);
}

describe.each(BUILDS)('%s', (build: Build) => {
  let model: Model;
  beforeAll(async () => {
    model = await loadModel(bilingual, { thread: 'here', build });
  });
  afterAll(() => model.dispose());

  it('gives the same bits as a run without a session', async () => {
    const random = new Random(`session ${build}`);
    const session = model.openSession();
    const desk: Desk = { ids: [2], options: CAUSAL, painted: null };
    let [computed, all] = [0, 0];
    for (let step = 0; step < 150; step++) {
      const wanted: RunOptions = {
        ...optionsOf(desk),
        stages: random.chance(0.3),
        hidden: random.chance(0.3),
        logits: random.chance(0.5) ? 'last' : 'none',
        statistics: random.chance(0.8),
      };
      const [kept, plain] = [await session.run(desk.ids, wanted), await model.run(desk.ids, wanted)];
      expect(comparable(kept)).toEqual(comparable(plain));
      expect(plain.computed).toEqual({ rows: LAYERS * desk.ids.length, firstLayer: 0, firstRow: 0 });
      computed += kept.computed.rows;
      all += plain.computed.rows;
      edit(desk, random);
    }
    expect(computed).toBeLessThan(0.8 * all);
    session.dispose();
  });

  it('computes one row a layer for a word more, and the layers from an ablation on', async () => {
    const session = model.openSession();
    const computed = async (text: string, options: RunOptions) => (await session.run(text, options)).computed;
    const first = await session.run('The cat sat on', CAUSAL);
    const length = first.tokens.length;
    expect(await computed('The cat sat on the', CAUSAL)).toEqual({ rows: 4, firstLayer: 0, firstRow: length });
    expect(await computed('The cat sat on', CAUSAL)).toEqual({ rows: 0, firstLayer: 4, firstRow: length });
    const ablate = [{ layer: 2, head: 1, kind: 'zero' }] as const;
    expect(await computed('The cat sat on', { ...CAUSAL, ablate })).toMatchObject({ rows: 2 * length, firstLayer: 2 });
    expect(await computed('The cat sat on', {})).toMatchObject({ firstLayer: 0, firstRow: 0 });
    session.dispose();
  });
});

it('says that it was disposed, and goes with its model', async () => {
  const model = await loadModel(bilingual, { thread: 'here' });
  const [one, other] = [model.openSession(), model.openSession()];
  await one.run('a', CAUSAL);
  one.dispose();
  one.dispose();
  await expect(one.run('a')).rejects.toMatchObject({ code: 'disposed', message: /^this session was disposed/ });
  await other.run('a');
  model.dispose();
  await expect(other.run('a')).rejects.toMatchObject({ code: 'disposed' });
  other.dispose();
  expect(() => model.openSession()).toThrow(/^this model was disposed/);
});
