/** The past of a training fits in bounded memory and stays true. */
import { expect, test } from 'vitest';
import { Series, Snapshots } from '../../web/src/study/history.js';

test('a short series is kept as it is', () => {
  const series = new Series(10);
  for (let step = 1; step <= 10; step++) series.add(step, step * step);
  expect(series.points).toEqual(Array.from({ length: 10 }, (_, i) => [i + 1, (i + 1) ** 2]));
});

test('a long series keeps its shape in few points, its ends and its mean', () => {
  const series = new Series(64);
  const steps = 64 * 64;
  for (let step = 1; step <= steps; step++) series.add(step, step);
  const { points } = series;
  expect(points.length).toBeLessThanOrEqual(64);
  expect(points.length).toBeGreaterThanOrEqual(32);
  expect(points.at(-1)?.[0]).toBe(steps);
  for (const [i, [step, value]] of points.entries()) {
    const before = points[i - 1]?.[0] ?? 0;
    // The mean of the steps it stands for.
    expect(value).toBeCloseTo((before + 1 + step) / 2, 6);
  }
});

test('snapshots are spread over all steps, bounded, first and newest included', () => {
  const snapshots = new Snapshots<number>(20);
  for (let step = 0; step < 1000; step++) {
    snapshots.add(step, step * 10);
    const { all } = snapshots;
    expect(all.length).toBeLessThanOrEqual(20);
    expect(all[0]?.step).toBe(0);
    expect(all.at(-1)).toEqual({ step, value: step * 10 });
  }
  const steps = snapshots.all.map(({ step }) => step);
  expect(steps.length).toBeGreaterThanOrEqual(10);
  expect(steps).toEqual([...new Set(steps)].sort((a, b) => a - b));
  const gaps = steps.slice(1).map((step, i) => step - (steps[i] as number));
  expect(Math.max(...gaps)).toBeLessThanOrEqual(200);
});

test('the nearest snapshot', () => {
  const snapshots = new Snapshots<string>(8);
  expect(snapshots.at(5)).toBeUndefined();
  for (const step of [0, 10, 20]) snapshots.add(step, `at ${step}`);
  expect(snapshots.at(13)).toEqual({ step: 10, value: 'at 10' });
  expect(snapshots.at(1e9)).toEqual({ step: 20, value: 'at 20' });
});
