import { describe, expect, it, vi } from 'vitest';
import { WeightRows } from '../../web/src/view/pictures/weight-rows.js';

const S = 4096;
/** Rows of S numbers that fit into a request, and into what is kept. */
const ASKED = 64;
const KEPT = 2048;

/** A source whose row q is all q, with a record of what it was asked for. */
function counting() {
  const requests: number[][] = [];
  const rows = (queries: readonly number[]) => {
    requests.push([...queries]);
    return Float32Array.from({ length: queries.length * S }, (_, i) => queries[Math.floor(i / S)] as number);
  };
  return { requests, rows };
}

const PATIENCE = { timeout: 20_000 };
const quiet = { rowsCame() {}, rowsFailed() {} };
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);
const settled = (rows: WeightRows) => vi.waitFor(() => expect(rows.awaited).toBe(0), PATIENCE);
const afterwards = () => new Promise((resolve) => setTimeout(resolve, 5));

describe('rows of weights, as they are looked at', () => {
  it('come a few at a time, ascending, and each once', async () => {
    const source = counting();
    const rows = new WeightRows(source, S, quiet);
    rows.want(range(0, 100).reverse());
    await settled(rows);
    rows.want(range(90, 110));
    await settled(rows);
    await afterwards();
    expect(source.requests.map((queries) => queries.length)).toEqual([ASKED, 100 - ASKED, 10]);
    for (const queries of source.requests) expect(queries).toEqual([...queries].sort((a, b) => a - b));
    expect(rows.get(77)).toEqual(new Float32Array(S).fill(77));
    expect(rows.get(110)).toBeUndefined();
  });

  it('are dropped when too many are kept, those first that were not looked at for longest', async () => {
    const rows = new WeightRows(counting(), S, quiet);
    rows.want(range(0, KEPT));
    await settled(rows);
    await vi.waitFor(() => expect(rows.has(KEPT - 1)).toBe(true), PATIENCE);
    rows.get(0);
    rows.want([KEPT, KEPT + 1]);
    await vi.waitFor(() => expect(rows.has(KEPT)).toBe(true), PATIENCE);
    expect([0, 1, 2, 3].map((query) => rows.has(query))).toEqual([true, false, false, true]);
    expect(rows.mostShown).toBeLessThan(KEPT);
  });

  it('that are no longer wanted are not asked for, and the one pointed at comes next', async () => {
    const source = counting();
    const rows = new WeightRows(source, S, quiet);
    rows.want(range(0, 1000));
    rows.want(range(2000, 2010));
    rows.need(5000);
    await vi.waitFor(() => expect(rows.has(2000)).toBe(true), PATIENCE);
    expect(source.requests).toEqual([range(0, ASKED), [5000], range(2000, 2010)]);
  });

  it.each([
    ['fail', () => Promise.reject(new Error('gone')), 'gone'],
    [
      'have another length',
      () => new Float32Array(3),
      'source.rows gave 3 numbers, but 2 queries × 4096 keys are 8192',
    ],
  ])('that %s are told, and asked for again when wanted again', async (_, broken, message) => {
    const rowsFailed = vi.fn();
    const source = counting();
    let rows: (queries: readonly number[]) => Float32Array | Promise<Float32Array> = broken;
    const kept = new WeightRows({ rows: (queries) => rows(queries) }, S, { ...quiet, rowsFailed });
    kept.want([1, 2]);
    await vi.waitFor(() => expect(rowsFailed).toHaveBeenCalledOnce(), PATIENCE);
    expect(String(rowsFailed.mock.calls[0]?.[0])).toContain(message);
    expect(kept.has(1)).toBe(false);
    rows = source.rows;
    kept.want([1, 2]);
    await vi.waitFor(() => expect(kept.has(2)).toBe(true), PATIENCE);
  });
});
