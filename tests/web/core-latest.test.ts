import { expect, it } from 'vitest';
import { keepLatest } from '../../web/src/core/latest.js';

/** A function whose calls end when told, and the list of those that began. */
function controlled() {
  const begun: number[] = [];
  const ends = new Map<number, { resolve: (value: string) => void; reject: (reason: unknown) => void }>();
  const run = (id: number) => {
    begun.push(id);
    return new Promise<string>((resolve, reject) => ends.set(id, { resolve, reject }));
  };
  return { begun, latest: keepLatest(run), end: (id: number) => ends.get(id)?.resolve(`ran ${id}`), ends };
}

it('runs at once when nothing runs', async () => {
  const { begun, latest, end } = controlled();
  const first = latest(1);
  expect(begun).toEqual([1]);
  end(1);
  expect(await first).toBe('ran 1');
});

it('drops all waiting requests but the newest, at once', async () => {
  const { begun, latest, end } = controlled();
  const results = [latest(1), latest(2), latest(3), latest(4)];
  expect(await Promise.all([results[1], results[2]])).toEqual([undefined, undefined]);
  expect(begun).toEqual([1]);
  end(1);
  expect(await results[0]).toBe('ran 1');
  expect(begun).toEqual([1, 4]);
  end(4);
  expect(await results[3]).toBe('ran 4');
});

it('goes on after a failure, which only its own request sees', async () => {
  const { begun, latest, end, ends } = controlled();
  const [first, second] = [latest(1), latest(2)];
  ends.get(1)?.reject(new Error('no'));
  await expect(first).rejects.toThrow('no');
  expect(begun).toEqual([1, 2]);
  end(2);
  expect(await second).toBe('ran 2');
});

it('survives a function that throws before it returns a promise', async () => {
  const latest = keepLatest(async (ok: boolean) => {
    if (!ok) throw new Error('early');
    return ok;
  });
  await expect(latest(false)).rejects.toThrow('early');
  expect(await latest(true)).toBe(true);
});
