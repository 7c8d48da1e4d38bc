/**
 * A model behind the worker's protocol, with real structured clones and transfers between two ports. That a real Web
 * Worker starts in a browser is tested in tests/e2e.
 */
import { expose } from 'comlink';
import { afterEach, describe, expect, it } from 'vitest';
import { bilingual } from '../../web/models/bilingual/index.js';
import { type LoadOptions, loadModel, type Model, MultiheadError, type Progress } from '../../web/src/index.js';
import type { Outcome, WorkerApi } from '../../web/src/worker/protocol.js';
import { createApi, serve } from '../../web/src/worker/serve.js';

/** What the page has of a worker: a port, with `terminate`. */
class PortWorker {
  readonly port: MessagePort;
  readonly #other: MessagePort;
  terminated = false;

  constructor(start: (port: MessagePort) => void) {
    const channel = new MessageChannel();
    this.port = channel.port1;
    this.#other = channel.port2;
    this.port.start();
    start(channel.port2);
  }

  postMessage(message: unknown, transfer: Transferable[] = []): void {
    this.port.postMessage(message, transfer);
  }

  addEventListener(type: string, listener: EventListener): void {
    this.port.addEventListener(type, listener);
  }

  removeEventListener(type: string, listener: EventListener): void {
    this.port.removeEventListener(type, listener);
  }

  /** As when the script cannot be loaded, or throws. */
  fail(message: string): void {
    this.port.dispatchEvent(Object.assign(new Event('error'), { message }));
  }

  terminate(): void {
    this.terminated = true;
    this.port.close();
    this.#other.close();
  }
}

const workers: PortWorker[] = [];
const models: Model[] = [];
afterEach(() => {
  for (const model of models.splice(0)) model.dispose();
  workers.splice(0);
});

function factory(start: (port: MessagePort) => void = serve) {
  return () => {
    const worker = new PortWorker(start);
    workers.push(worker);
    return worker as unknown as Worker;
  };
}

async function load(options: LoadOptions = {}): Promise<Model> {
  const model = await loadModel(bilingual, { createWorker: factory(), ...options });
  models.push(model);
  return model;
}

/** Serves the real calls, with some replaced. */
const serveChanged = (change: (api: WorkerApi) => Partial<WorkerApi>) => (port: MessagePort) => {
  const api = createApi();
  expose({ ...api, ...change(api) }, port);
};

const crash: Outcome<never> = {
  error: { code: 'crashed', name: 'MultiheadError', message: 'the engine crashed', details: {} },
};

describe('a model in a worker', () => {
  it('is described as one in this thread, but for where it is', async () => {
    const [there, here] = [await load(), await loadModel(bilingual, { thread: 'here' })];
    expect(there.thread).toBe('worker');
    expect(here.thread).toBe('here');
    expect(there.info).toEqual(here.info);
    expect(there.build).toBe(here.build);
  });

  it('computes in the precision asked for', async () => {
    const options = { precision: 'int8' } as const;
    const [there, here] = [await load(options), await loadModel(bilingual, { ...options, thread: 'here' })];
    expect(there.info.precision).toBe('int8');
    const [a, b] = [await there.run('The cat sat.'), await here.run('The cat sat.')];
    expect(a.attention).toEqual(b.attention);
  });

  it('gives the same results', async () => {
    const [there, here] = [await load(), await loadModel(bilingual, { thread: 'here' })];
    const options = {
      mask: { causal: true, hidden: new Uint8Array(36) },
      logits: 'last',
      stages: true,
      hidden: true,
    } as const;
    const input = [2, 33, 295, 128, 9, 14];
    const [a, b] = [await there.run(input, options), await here.run(input, options)];
    const untimed = { milliseconds: 0, times: null };
    expect({ ...a, ...untimed }).toEqual({ ...b, ...untimed });
    expect(a.times.transfer).toBeGreaterThan(0);
    expect(b.times.transfer).toBe(0);
    expect(await there.tokenize('苹果 in a text')).toEqual(await here.tokenize('苹果 in a text'));
    expect(await there.tokenize('a', { endToken: false })).toEqual(await here.tokenize('a', { endToken: false }));
  });

  it('hands each result over in one buffer', async () => {
    const model = await load();
    const run = await model.run('The cat sat.', { stages: true, hidden: true, logits: 'all' });
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
    expect(run.attention.buffer.byteLength).toBe(arrays.reduce((sum, array) => sum + (array?.byteLength ?? 0), 0));
  });

  it('reports progress', async () => {
    const steps: Progress[] = [];
    await load({ onProgress: (step) => steps.push(step) });
    await expect
      .poll(() => steps.map((step) => step.file))
      .toEqual(expect.arrayContaining(['config', 'weights', 'tokenizer']));
    expect(steps.some((step) => step.file === 'weights' && step.loaded > 1_000_000)).toBe(true);
  });

  it('takes data as well as addresses', async () => {
    const { readFileSync } = await import('node:fs');
    const bytes = new Uint8Array(readFileSync(bilingual.weights));
    const model = await loadModel({ ...bilingual, weights: bytes }, { createWorker: factory() });
    models.push(model);
    expect(bytes.byteLength).toBeGreaterThan(0);
    expect((await model.run('a')).tokens).toHaveLength(3);
  });
});

describe('a session', () => {
  const causal = { mask: { causal: true } };

  it('goes on from its last run, and apart from other sessions', async () => {
    const model = await load();
    const [one, other] = [model.openSession(), model.openSession()];
    await one.run([2, 33, 295], causal);
    await other.run([2, 9], causal);
    const next = await one.run([2, 33, 295, 128], causal);
    expect(next.computed).toEqual({ rows: 4, firstLayer: 0, firstRow: 3 });
    expect((await other.run([2, 9], causal)).computed.rows).toBe(0);
    expect(next.attention).toEqual((await model.run([2, 33, 295, 128], causal)).attention);
  });

  it('makes the same tokens there as here', async () => {
    const [there, here] = [await load(), await loadModel(bilingual, { thread: 'here' })];
    const ids = async (model: Model) => {
      const made: number[] = [];
      for await (const { token } of model.generate('The cat', { maxTokens: 5, seed: 3 })) made.push(token.id);
      return made;
    };
    expect(await ids(there)).toEqual(await ids(here));
  });

  it('ends with dispose, after the runs that were asked before', async () => {
    const closed: number[] = [];
    const createWorker = factory(
      serveChanged((api) => ({
        closeSession: (id) => {
          closed.push(id);
          api.closeSession(id);
        },
      })),
    );
    const model = await load({ createWorker });
    const session = model.openSession();
    const running = session.run('a b', causal);
    session.dispose();
    session.dispose();
    expect((await running).tokens).toHaveLength(3);
    await expect(session.run('a')).rejects.toMatchObject({ code: 'disposed', message: /^this session was disposed/ });
    await expect.poll(() => closed).toEqual([0]);
    model.dispose();
    expect(() => model.openSession()).toThrow(/^this model was disposed/);
    session.dispose();
  });

  it('begins anew in the worker that takes the place of one that crashed', async () => {
    const createWorker = factory(
      serveChanged((api) => ({
        run: async (input, options, session) => (input === 'crash' ? crash : api.run(input, options, session)),
      })),
    );
    const model = await load({ createWorker });
    const session = model.openSession();
    await session.run([2, 33], causal);
    await expect(session.run('crash')).rejects.toMatchObject({ code: 'crashed' });
    expect((await session.run([2, 33, 9], causal)).computed.rows).toBe(12);
    expect((await session.run([2, 33, 9, 9], causal)).computed.rows).toBe(4);
  });
});

describe('errors', () => {
  it('keep their class, code, message and details', async () => {
    const model = await load();
    const error = await model.run('the'.repeat(500)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(MultiheadError);
    expect(error).toMatchObject({ code: 'too-long', message: /^the input is \d+ tokens/, details: { limit: 64 } });
  });

  it('of calls that make no sense are found on this side, and are the same as in this thread', async () => {
    const [there, here] = [await load(), await loadModel(bilingual, { thread: 'here' })];
    const calls: readonly ((model: Model) => Promise<unknown>)[] = [
      (model) => model.run('hi', { mask: { windw: 1 } } as object),
      (model) => model.run('hi', { layer: () => 1 } as object),
      (model) => model.run(5 as unknown as string),
      (model) => model.runLatest('hi', { layer: 1 } as object),
      (model) => model.tokenize('hi', { endtoken: true } as object),
    ];
    for (const call of calls) {
      const expected = await call(here).catch((error: unknown) => error);
      expect(expected).toMatchObject({ code: 'argument' });
      await expect(call(there)).rejects.toEqual(expected);
    }
    await expect(load({ wasmurl: '' } as object)).rejects.toThrow(/^loadModel has no option wasmurl/);
  });

  it('of loading too, with their cause; the worker is ended', async () => {
    const loading = loadModel({ ...bilingual, config: new TextEncoder().encode('{"a"') }, { createWorker: factory() });
    const error = await loading.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(MultiheadError);
    expect(error).toMatchObject({ code: 'model-format', message: /not a JSON file/, cause: /JSON/ });
    expect(workers.map((worker) => worker.terminated)).toEqual([true]);
  });

  it('that are not ours keep their name', async () => {
    const fault: Outcome<never> = { error: { name: 'TypeError', message: 'x is not a function', details: {} } };
    const model = await load({ createWorker: factory(serveChanged(() => ({ run: async () => fault }))) });
    await expect(model.run('a')).rejects.toMatchObject({ name: 'TypeError', message: 'x is not a function' });
  });
});

describe('starting', () => {
  const refuse = () => {
    throw new DOMException('not from here', 'SecurityError');
  };

  it('falls back to this thread where the host refuses, and shows it', async () => {
    const model = await load({ createWorker: refuse });
    expect(model.thread).toBe('here');
    expect((await model.run('a')).tokens).toHaveLength(3);
  });

  it('falls back where the script cannot be loaded', async () => {
    const make = factory(() => {});
    const failing = () => {
      const worker = make();
      setTimeout(() => workers[0]?.fail(''), 5);
      return worker;
    };
    expect((await load({ createWorker: failing })).thread).toBe('here');
    expect(workers[0]?.terminated).toBe(true);
  });

  it('is an error where a worker was demanded', async () => {
    await expect(load({ createWorker: refuse, thread: 'worker' })).rejects.toMatchObject({
      code: 'worker',
      message: 'the host allows no worker: SecurityError: not from here',
    });
    const make = factory(() => {});
    const failing = () => {
      const worker = make();
      setTimeout(() => workers[0]?.fail(''), 5);
      return worker;
    };
    await expect(load({ createWorker: failing, thread: 'worker' })).rejects.toMatchObject({
      code: 'worker',
      message: expect.stringMatching(
        /^the worker failed: its script could not be loaded\. Check that worker\.js is served/,
      ),
    });
  });

  it('stops when aborted', async () => {
    await expect(load({ signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' });
    expect(workers).toHaveLength(0);
    const controller = new AbortController();
    const slow = factory(serveChanged(() => ({ load: () => new Promise(() => controller.abort()) })));
    await expect(load({ createWorker: slow, signal: controller.signal })).rejects.toMatchObject({ name: 'AbortError' });
    expect(workers[0]?.terminated).toBe(true);
  });
});

describe('runs', () => {
  /** A worker whose runs end when told. */
  function held() {
    const begun: (string | readonly number[])[] = [];
    const releases: (() => void)[] = [];
    const createWorker = factory(
      serveChanged((api) => ({
        run: async (input, options, session) => {
          begun.push(input);
          await new Promise<void>((resolve) => releases.push(resolve));
          return api.run(input, options, session);
        },
      })),
    );
    return { begun, releases, createWorker };
  }

  const until = (condition: () => boolean) => expect.poll(condition).toBe(true);

  it('reject at once when aborted, and those that still wait are never sent', async () => {
    const { begun, releases, createWorker } = held();
    const model = await load({ createWorker });
    const [first, second] = [new AbortController(), new AbortController()];
    const runs = [model.run('a', { signal: first.signal }), model.run('b', { signal: second.signal }), model.run('c')];
    await until(() => begun.length === 1);
    second.abort();
    await expect(runs[1]).rejects.toMatchObject({ name: 'AbortError' });
    first.abort();
    await expect(runs[0]).rejects.toMatchObject({ name: 'AbortError' });
    releases.shift()?.();
    await until(() => begun.length === 2);
    expect(begun).toEqual(['a', 'c']);
    releases.shift()?.();
    expect((await runs[2])?.tokens[1]?.text).toBe('c');
  });

  it('of runLatest are dropped on this side: only the first and the newest reach the worker', async () => {
    const { begun, releases, createWorker } = held();
    const model = await load({ createWorker });
    const runs = ['a', 'ab', 'abc', 'abcd'].map((text) => model.runLatest(text));
    expect(await Promise.all([runs[1], runs[2]])).toEqual([undefined, undefined]);
    await until(() => begun.length === 1);
    releases.shift()?.();
    await until(() => begun.length === 2);
    releases.shift()?.();
    expect((await runs[3])?.tokens.map((token) => token.text).join('')).toBe('<s>abcd</s>');
    expect(begun).toEqual(['a', 'abcd']);
  });

  it('under way reject when the model is disposed, as later ones do', async () => {
    const { begun, createWorker } = held();
    const model = await load({ createWorker });
    const [running, waiting] = [model.run('a'), model.run('b')];
    await until(() => begun.length === 1);
    model.dispose();
    model.dispose();
    await expect(running).rejects.toMatchObject({ code: 'disposed' });
    await expect(waiting).rejects.toMatchObject({ code: 'disposed' });
    await expect(model.run('c')).rejects.toMatchObject({ code: 'disposed' });
    await expect(model.tokenize('c')).rejects.toMatchObject({ code: 'disposed' });
    expect(workers.map((worker) => worker.terminated)).toEqual([true]);
  });
});

describe('after a crash', () => {
  /** A worker whose runs of the text `crash` crash. */
  const fragile = factory(
    serveChanged((api) => ({
      run: async (input, options, session) => (input === 'crash' ? crash : api.run(input, options, session)),
    })),
  );

  it('the run says so, and the next one has a new worker', async () => {
    const model = await load({ createWorker: fragile });
    await expect(model.run('crash')).rejects.toMatchObject({ name: 'MultiheadError', code: 'crashed' });
    expect((await model.run('fine')).tokens.length).toBeGreaterThan(2);
    expect(workers.map((worker) => worker.terminated)).toEqual([true, false]);
  });

  it('that follows a success there is another restart, after one in a row there is none', async () => {
    const model = await load({ createWorker: fragile });
    const fails = () => expect(model.run('crash')).rejects.toMatchObject({ code: 'crashed' });
    await fails();
    await model.run('fine');
    await fails();
    expect(workers).toHaveLength(3);
    await fails();
    expect(workers).toHaveLength(3);
  });

  it('of the worker itself it is the same', async () => {
    const model = await load();
    const running = model.run('a');
    workers[0]?.fail('out of memory');
    await expect(running).rejects.toMatchObject({ code: 'worker', message: /^the worker failed: out of memory\./ });
    expect((await model.run('a')).tokens).toHaveLength(3);
    expect(workers).toHaveLength(2);
  });
});
