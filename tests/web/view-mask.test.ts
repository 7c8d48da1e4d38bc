import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  countPainted,
  defaultMask,
  engineMask,
  isMaskEdited,
  type Mask,
  paint,
  presets,
  remapMask,
  togglePadding,
  tokenRemap,
  uneditedMask,
  visibleCells,
} from '../../web/src/view/mask.js';

const model = { layers: 2, heads: 3 };
const mask = (part: Partial<Mask>): Mask => ({ ...defaultMask, ...part });
const rows = (cells: Uint8Array, size: number): string[] =>
  Array.from({ length: size }, (_, row) => [...cells.subarray(row * size, (row + 1) * size)].join(''));

describe('presets', () => {
  it.each([
    ['none', ['1111', '1111', '1111', '1111']],
    ['causal', ['1000', '1100', '1110', '1111']],
    ['window', ['1100', '1110', '0111', '0011']],
    ['prefix', ['1100', '1100', '1110', '1111']],
  ] as const)('%s', (preset, expected) => {
    expect(rows(visibleCells(mask({ preset, window: 1, prefix: 2 }), 4, { layer: 0, head: 0 }), 4)).toEqual(expected);
  });

  it('go to the engine as geometry, with padding that fits', () => {
    expect(engineMask(mask({ preset: 'none' }), 4, model)).toEqual({});
    expect(engineMask(mask({ preset: 'causal', padding: [1, 9] }), 4, model)).toEqual({ causal: true, padding: [1] });
    expect(engineMask(mask({ preset: 'window', window: 2 }), 4, model)).toEqual({ window: 2 });
    expect(engineMask(mask({ preset: 'prefix', prefix: 2 }), 4, model)).toEqual({ causal: true, prefix: 2 });
  });
});

describe('paint', () => {
  it('shows what the preset hides, and hides what it shows', () => {
    const painted = paint(
      paint(mask({ preset: 'causal' }), [{ query: 0, key: 2 }], false, ['all']),
      [{ query: 2, key: 0 }],
      true,
      ['all'],
    );
    expect(rows(visibleCells(painted, 3, { layer: 1, head: 2 }), 3)).toEqual(['101', '110', '011']);
    expect(engineMask(painted, 3, model).hidden).toEqual(Uint8Array.of(0, 1, 0, 0, 0, 1, 1, 0, 0));
  });

  it('can be for some heads only, and then the engine gets every head', () => {
    const painted = paint(mask({ preset: 'none' }), [{ query: 1, key: 1 }], true, ['1.2']);
    expect(visibleCells(painted, 2, { layer: 1, head: 2 })).toEqual(Uint8Array.of(1, 1, 1, 0));
    expect(visibleCells(painted, 2, { layer: 1, head: 1 })).toEqual(Uint8Array.of(1, 1, 1, 1));
    const hidden = engineMask(painted, 2, model).hidden;
    expect(hidden).toHaveLength(2 * 3 * 4);
    expect(hidden?.reduce((sum, value) => sum + value, 0)).toBe(1);
    expect(hidden?.[(1 * 3 + 2) * 4 + 3]).toBe(1);
  });

  it('for all heads takes back what single heads had there', () => {
    const cell = [{ query: 1, key: 0 }];
    const single = paint(mask({ preset: 'none' }), cell, true, ['0.0', '1.1']);
    expect(countPainted(single)).toBe(2);
    expect(isMaskEdited(paint(single, cell, false, ['all']))).toBe(false);
    const shownInOne = paint(paint(mask({ preset: 'none' }), cell, true, ['all']), cell, false, ['0.0']);
    expect(visibleCells(shownInOne, 2, { layer: 0, head: 0 })).toEqual(Uint8Array.of(1, 1, 1, 1));
    expect(visibleCells(shownInOne, 2, { layer: 0, head: 1 })).toEqual(Uint8Array.of(1, 1, 0, 1));
  });

  it('that changes nothing is no edit', () => {
    expect(isMaskEdited(paint(mask({ preset: 'causal' }), [{ query: 0, key: 1 }], true, ['all', '0.1']))).toBe(false);
  });

  it('wins over padding', () => {
    const padded = togglePadding(mask({ preset: 'none' }), 1);
    const shown = paint(padded, [{ query: 0, key: 1 }], false, ['all']);
    expect(rows(visibleCells(shown, 2, { layer: 0, head: 0 }), 2)).toEqual(['11', '10']);
  });

  it('engine mask and visible cells always agree', () => {
    const cell = fc.record({ query: fc.nat(4), key: fc.nat(4) });
    const stroke = fc.record({
      cells: fc.array(cell),
      hidden: fc.boolean(),
      scopes: fc.constantFrom(['all'] as const, ['0.1'] as const, ['0.1', '1.2'] as const),
    });
    fc.assert(
      fc.property(
        fc.constantFrom(...presets),
        fc.nat(3),
        fc.uniqueArray(fc.nat(4)),
        fc.array(stroke, { minLength: 1 }),
        (preset, width, padding, strokes) => {
          let painted = mask({ preset, window: width, prefix: width, padding });
          for (const { cells, hidden, scopes } of strokes) {
            painted = paint(painted, cells, hidden, scopes);
            for (const { query, key } of cells)
              expect(visibleCells(painted, 5, { layer: 0, head: 1 })[query * 5 + key]).toBe(hidden ? 0 : 1);
          }
          const { hidden } = engineMask(painted, 5, model);
          if (hidden === undefined) return;
          for (let head = 0; head < 6; head++) {
            const offset = hidden.length === 25 ? 0 : head * 25;
            const expected = visibleCells(painted, 5, { layer: Math.floor(head / 3), head: head % 3 });
            expect(hidden.subarray(offset, offset + 25).map((value) => 1 - value)).toEqual(expected);
          }
        },
      ),
    );
  });
});

describe('a changed text', () => {
  const positions = [0, 1, 2, 3, 4];

  it('keeps equal ends, and places in the changed middle while there are any', () => {
    expect(positions.map(tokenRemap([2, 7, 8, 9, 3], [2, 7, 5, 9, 3]))).toEqual([0, 1, 2, 3, 4]);
    expect(positions.map(tokenRemap([2, 7, 8, 9, 3], [2, 7, 9, 3]))).toEqual([0, 1, null, 2, 3]);
    expect(positions.map(tokenRemap([2, 7, 8, 9, 3], [2, 7, 5, 8, 9, 3]))).toEqual([0, 1, 3, 4, 5]);
    expect(positions.map(tokenRemap([2, 7, 8, 9, 3], [2, 7, 8, 9]))).toEqual([0, 1, 2, 3, null]);
    expect(tokenRemap([2, 7], [2, 7])(5)).toBeNull();
  });

  it('never sends two positions to one, nor any outside', () => {
    const ids = fc.array(fc.nat(2), { maxLength: 8 });
    fc.assert(
      fc.property(ids, ids, (before, after) => {
        const moved = before.map((_, position) => tokenRemap(before, after)(position)).filter((p) => p !== null);
        expect(new Set(moved).size).toBe(moved.length);
        expect(moved.every((position) => position >= 0 && position < after.length)).toBe(true);
      }),
    );
  });

  it('carries padding and paint, and counts what it had to drop', () => {
    const painted = paint(
      mask({ preset: 'none', padding: [2, 3] }),
      [
        { query: 1, key: 0 },
        { query: 3, key: 2 },
      ],
      true,
      ['all'],
    );
    const remapped = remapMask(painted, tokenRemap([2, 7, 8, 9], [2, 7, 9]));
    expect(remapped.dropped).toBe(1);
    expect(remapped.mask.padding).toEqual([2]);
    expect(rows(visibleCells({ ...remapped.mask, padding: [] }, 3, { layer: 0, head: 0 }), 3)).toEqual([
      '111',
      '011',
      '111',
    ]);
    expect(uneditedMask(remapped.mask)).toEqual(mask({ preset: 'none' }));
  });
});
