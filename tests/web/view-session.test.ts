import { describe, expect, it } from 'vitest';
import { paint, type Remap, togglePadding } from '../../web/src/view/mask.js';
import { type ModelSupply, Session, type SessionOwner } from '../../web/src/view/session.js';
import { defaultState, type LensState, remapState, setMask } from '../../web/src/view/state.js';
import { type MockModel, mockModel } from './view-mock-model.js';

/** A page in miniature: holds the state, follows tokens, and can wait for the next answer. */
class Owner implements SessionOwner {
  state: LensState = { ...defaultState, text: 'a b c d e', query: null };
  dropped = 0;
  changes: string[] = [];
  session: Session;
  model: MockModel;
  rounded = mockModel();
  supply: ModelSupply;
  acquired = 0;
  failing: Error | null = null;

  constructor(model = mockModel()) {
    this.model = model;
    this.supply = {
      acquire: async (_address, precision, onProgress) => {
        this.acquired++;
        onProgress({ loaded: 1, total: 2 });
        if (this.failing) throw this.failing;
        return precision === 'f32' ? this.model : this.rounded;
      },
      forget: () => {},
    };
    this.session = new Session(this, this.supply);
  }
  remap(remap: Remap): void {
    const { state, dropped } = remapState(this.state, remap);
    this.state = state;
    this.dropped += dropped;
  }
  changed(): void {
    this.changes.push(this.session.status.kind);
  }
  set(part: Partial<LensState>): void {
    this.state = { ...this.state, ...part };
    this.session.refresh();
  }
  /** Resolves when the session has nothing left to do. */
  async settled(): Promise<void> {
    let quiet = 0;
    while (quiet < 3) {
      const before = [this.changes.length, this.model.runs.length].join();
      await new Promise((resolve) => setTimeout(resolve, 5));
      quiet = [this.changes.length, this.model.runs.length].join() === before ? quiet + 1 : 0;
    }
  }
}

async function started(model?: MockModel): Promise<Owner> {
  const owner = new Owner(model);
  owner.session.refresh();
  await owner.settled();
  return owner;
}

describe('a session', () => {
  it('loads once, with progress, and answers', async () => {
    const owner = await started();
    expect(owner.changes).toEqual(['loading', 'loading', 'ready']);
    expect(owner.session.answer?.result.tokens.map((token) => token.text)).toEqual(['<s>', 'a', 'b', 'c', 'd', 'e']);
    owner.set({ text: 'a b' });
    await owner.settled();
    expect(owner.acquired).toBe(1);
    expect(owner.session.answer?.result.tokens).toHaveLength(3);
  });

  it('with int8 runs the same in f32, and says how far apart they are', async () => {
    const owner = await started();
    expect(owner.session.answer?.roundingError).toBeNull();
    const run = owner.rounded.openSession;
    owner.rounded.openSession = () => {
      const session = run.call(owner.rounded);
      return {
        ...session,
        async run(input, options) {
          const result = await owner.rounded.run(input, options);
          const attention = result.attention.slice();
          attention[3] = (attention[3] ?? 0) + 0.25;
          return { ...result, attention };
        },
      };
    };
    owner.set({ precision: 'int8', temperature: 2 });
    await owner.settled();
    expect(owner.session.answer?.roundingError).toBeCloseTo(0.25, 6);
    expect(owner.session.model).toBe(owner.rounded);
    owner.set({ precision: 'f32' });
    await owner.settled();
    expect(owner.session.answer?.roundingError).toBeNull();
    expect(owner.session.model).toBe(owner.model);
  });

  it('answers the newest text, and skips those in between', async () => {
    const owner = await started(mockModel({ delay: 4 }));
    owner.model.runs.length = 0;
    for (const text of ['x', 'x y', 'x y z', 'x y z w']) owner.set({ text });
    await owner.settled();
    expect(owner.session.answer?.state.text).toBe('x y z w');
    expect(owner.model.runs.map((run) => run.text)).toEqual(['x y z w']);
  });

  it('runs the unedited text too while something is edited, once for many edits', async () => {
    const owner = await started();
    expect(owner.session.answer?.baseline).toBeNull();
    owner.model.runs.length = 0;
    owner.set({ temperature: 2 });
    await owner.settled();
    owner.set({ temperature: 3 });
    await owner.settled();
    expect(owner.model.runs.map((run) => run.options.temperature)).toEqual([2, 1, 3]);
    expect(owner.session.answer?.baseline?.attention).not.toEqual(owner.session.answer?.result.attention);
    owner.set({ text: 'other words here' });
    await owner.settled();
    expect(owner.model.runs.slice(3).map((run) => run.options.temperature)).toEqual([3, 1]);
  });

  it('sends a painted mask of the right size, also after the text grew', async () => {
    const owner = await started();
    const painted = paint(owner.state.mask, [{ query: 5, key: 2 }], true, ['all']);
    owner.state = setMask(owner.state, painted);
    owner.set({ query: 5 });
    await owner.settled();
    expect(owner.model.runs.at(-2)?.options.mask?.hidden).toHaveLength(36);
    owner.set({ text: 'new a b c d e' });
    await owner.settled();
    expect(owner.state.query).toBe(6);
    const hidden = owner.model.runs.at(-2)?.options.mask?.hidden;
    expect(hidden).toHaveLength(49);
    expect(hidden?.[6 * 7 + 3]).toBe(1);
    owner.set({ text: 'new a c d e' });
    await owner.settled();
    expect(owner.dropped).toBe(1);
    expect(owner.session.answer?.baseline).toBeNull();
  });

  it('keeps places in a text that begins anew', async () => {
    const owner = await started();
    owner.state = { ...owner.state, mask: togglePadding(togglePadding(owner.state.mask, 2), 5) };
    owner.session.startText();
    owner.set({ text: 'something else entirely', query: 3 });
    await owner.settled();
    expect(owner.state.query).toBe(3);
    expect(owner.state.mask.padding).toEqual([2]);
    expect(owner.dropped).toBe(1);
  });

  it('keeps the end token in step with the mask', async () => {
    const owner = await started();
    owner.set({ mask: { ...owner.state.mask, preset: 'none' } });
    await owner.settled();
    expect(owner.session.answer?.result.tokens.at(-1)?.text).toBe('</s>');
    owner.set({ mask: { ...owner.state.mask, preset: 'causal' } });
    await owner.settled();
    expect(owner.session.answer?.result.tokens.at(-1)?.text).toBe('e');
  });

  it('has no answer for an empty text, and marks what is over the limit', async () => {
    const owner = await started(mockModel({ info: { positions: 4 } }));
    expect(owner.session.answer?.result.overflow.map((token) => token.text)).toEqual(['d', 'e']);
    owner.set({ text: ' \n' });
    await owner.settled();
    expect(owner.session.answer).toBeNull();
    expect(owner.session.status.kind).toBe('ready');
  });

  it('says what failed, and loads again on retry', async () => {
    const owner = new Owner();
    owner.failing = new Error('no network');
    owner.session.refresh();
    await owner.settled();
    expect(owner.session.status).toEqual({ kind: 'failed', error: owner.failing });
    owner.failing = null;
    owner.set({ text: 'typed meanwhile' });
    await owner.settled();
    expect(owner.acquired).toBe(1);
    owner.session.retry();
    await owner.settled();
    expect(owner.session.status.kind).toBe('ready');
    expect(owner.session.answer?.state.text).toBe('typed meanwhile');
  });

  it('tries again by itself after a run that failed', async () => {
    const model = mockModel();
    const { run } = model;
    let broken = true;
    const owner = await started({
      ...model,
      run: (...input) => (broken ? Promise.reject(new Error('inf')) : run(...input)),
    });
    expect(owner.session.status.kind).toBe('failed');
    broken = false;
    owner.set({ scale: 'none' });
    await owner.settled();
    expect(owner.session.status.kind).toBe('ready');
  });

  it('is silent when closed, and goes on when opened again', async () => {
    const owner = await started();
    owner.session.close();
    const before = owner.changes.length;
    owner.set({ text: 'q r' });
    await owner.settled();
    expect(owner.changes).toHaveLength(before);
    owner.session.wake();
    await owner.settled();
    expect(owner.session.answer?.state.text).toBe('q r');
  });
});
