import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clampPosition, type GridPosition, headsKey, mapKey } from '../../web/src/view/pictures/grid-nav.js';
import { cellsBetween, Stroke } from '../../web/src/view/pictures/paint.js';

describe('keyboard in a map', () => {
  const size = { rows: 4, columns: 6 };
  const at = { row: 1, column: 2 };
  const press = (key: string, from: GridPosition = at, more: object = {}) => mapKey(from, { key, ...more }, size);
  const to = (key: string, from: GridPosition = at, more: object = {}) => {
    const action = press(key, from, more);
    return action?.kind === 'move' ? [action.to.row, action.to.column] : action;
  };

  it('moves by arrows, to the labels too, and not beyond', () => {
    expect(['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight'].map((key) => to(key))).toEqual([
      [0, 2],
      [2, 2],
      [1, 1],
      [1, 3],
    ]);
    expect(to('ArrowUp', { row: 0, column: 2 })).toEqual([-1, 2]);
    expect(to('ArrowUp', { row: -1, column: 2 })).toEqual([-1, 2]);
    expect(to('ArrowLeft', { row: 1, column: 0 })).toEqual([1, -1]);
    expect(to('ArrowDown', { row: 3, column: 5 })).toEqual([3, 5]);
    expect(to('ArrowUp', { row: 0, column: -1 })).toEqual([0, -1]);
    expect(to('ArrowLeft', { row: -1, column: 0 })).toEqual([-1, 0]);
  });

  it('jumps by Home and End, with Ctrl to the corners', () => {
    expect([to('Home'), to('End')]).toEqual([
      [1, 0],
      [1, 5],
    ]);
    const ctrl = { ctrlKey: true };
    expect([to('Home', at, ctrl), to('End', at, ctrl)]).toEqual([
      [0, 0],
      [3, 5],
    ]);
    expect([to('ArrowDown', at, ctrl), to('ArrowRight', at, { metaKey: true })]).toEqual([
      [3, 2],
      [1, 5],
    ]);
  });

  it('acts, releases, steps and changes to the table', () => {
    expect(press('Enter')).toEqual({ kind: 'act' });
    expect(press(' ')).toEqual({ kind: 'act' });
    expect(press('Escape')).toEqual({ kind: 'release' });
    expect(press('PageDown')).toEqual({ kind: 'step', of: 'head', by: 1 });
    expect(press('[')).toEqual({ kind: 'step', of: 'layer', by: -1 });
    expect(press('t')).toEqual({ kind: 'table' });
  });

  it('leaves alone what is not ours, and an input method at work', () => {
    expect(press('a')).toBeNull();
    expect(press('t', at, { ctrlKey: true })).toBeNull();
    expect(press('ArrowUp', at, { altKey: true })).toBeNull();
    expect(press('Enter', at, { isComposing: true })).toBeNull();
  });

  it('never leaves the grid', () => {
    const keys = ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight', 'Home', 'End'];
    const presses = fc.array(fc.record({ key: fc.constantFrom(...keys), ctrlKey: fc.boolean() }), { maxLength: 40 });
    fc.assert(
      fc.property(presses, fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 5 }), (walk, rows, columns) => {
        let here: GridPosition = { row: 0, column: 0 };
        for (const step of walk) {
          const action = mapKey(here, step, { rows, columns });
          if (action?.kind === 'move') here = action.to;
          expect(here.row >= -1 && here.row < rows && here.column >= -1 && here.column < columns).toBe(true);
          expect(here.row === -1 && here.column === -1).toBe(false);
        }
      }),
    );
  });

  it('comes back inside when the map shrinks', () => {
    expect(clampPosition({ row: 9, column: 9 }, size)).toEqual({ row: 3, column: 5 });
    expect(clampPosition({ row: -1, column: 3 }, size)).toEqual({ row: -1, column: 3 });
    expect(clampPosition({ row: 2, column: 2 }, { rows: 0, columns: 0 })).toEqual({ row: 0, column: 0 });
  });
});

describe('keyboard among heads', () => {
  const grid = { layers: 3, heads: 4, layout: 'grid' } as const;
  const strip = { ...grid, layout: 'strip' } as const;

  it('stops at the edges of a grid and goes on to the next layer in a strip', () => {
    expect(headsKey({ layer: 1, head: 3 }, { key: 'ArrowRight' }, grid)).toEqual({ layer: 1, head: 3 });
    expect(headsKey({ layer: 1, head: 3 }, { key: 'ArrowRight' }, strip)).toEqual({ layer: 2, head: 0 });
    expect(headsKey({ layer: 1, head: 0 }, { key: 'ArrowLeft' }, strip)).toEqual({ layer: 0, head: 3 });
    expect(headsKey({ layer: 2, head: 3 }, { key: 'ArrowRight' }, strip)).toEqual({ layer: 2, head: 3 });
  });

  it('walks layers and jumps to ends', () => {
    expect(headsKey({ layer: 0, head: 2 }, { key: 'ArrowDown' }, grid)).toEqual({ layer: 1, head: 2 });
    expect(headsKey({ layer: 1, head: 2 }, { key: 'End' }, grid)).toEqual({ layer: 1, head: 3 });
    expect(headsKey({ layer: 1, head: 2 }, { key: 'End', ctrlKey: true }, grid)).toEqual({ layer: 2, head: 3 });
    expect(headsKey({ layer: 1, head: 2 }, { key: 'x' }, grid)).toBeNull();
  });
});

describe('painting', () => {
  const cell = fc.record({ query: fc.nat(40), key: fc.nat(40) });

  it('fills the way between two points without a gap', () => {
    fc.assert(
      fc.property(cell, cell, (from, to) => {
        const line = cellsBetween(from, to);
        expect(line[0]).toEqual([from.query, from.key]);
        expect(line.at(-1)).toEqual([to.query, to.key]);
        expect(line).toHaveLength(Math.max(Math.abs(from.query - to.query), Math.abs(from.key - to.key)) + 1);
        for (const [i, [query, key]] of line.slice(1).entries()) {
          const [lastQuery, lastKey] = line[i] as readonly [number, number];
          expect(Math.max(Math.abs(query - lastQuery), Math.abs(key - lastKey))).toBe(1);
        }
      }),
    );
  });

  it('paints every cell once a stroke', () => {
    const stroke = new Stroke(5, 5);
    expect(stroke.extend({ kind: 'cell', query: 0, key: 0 })).toEqual([[0, 0]]);
    expect(stroke.extend({ kind: 'cell', query: 0, key: 3 })).toEqual([
      [0, 1],
      [0, 2],
      [0, 3],
    ]);
    expect(stroke.extend({ kind: 'cell', query: 0, key: 0 })).toEqual([]);
  });

  it('paints rows and columns from labels, and those that a fast drag jumped over', () => {
    const rows = new Stroke(5, 3);
    expect(rows.extend({ kind: 'row', query: 1 })).toEqual([
      [1, 0],
      [1, 1],
      [1, 2],
    ]);
    expect(rows.extend({ kind: 'row', query: 3 }).map(([query]) => query)).toEqual([2, 2, 2, 3, 3, 3]);
    const columns = new Stroke(2, 6);
    expect(columns.extend({ kind: 'column', key: 4 })).toEqual([
      [0, 4],
      [1, 4],
    ]);
    expect(columns.extend({ kind: 'column', key: 2 })).toEqual([
      [0, 2],
      [1, 2],
      [0, 3],
      [1, 3],
    ]);
  });
});
