import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { colourOf, colourScale, type ScaleKind } from '../../web/src/view/pictures/colour.js';
import { columnMode, LABEL, placeColumnLabels, placeRowLabels } from '../../web/src/view/pictures/labels.js';
import {
  covers,
  layoutMap,
  MAX_CELL,
  MIN_CELL,
  scrollToCell,
  snapCell,
  windowOf,
} from '../../web/src/view/pictures/map-layout.js';
import { type CellSource, cellPixels } from '../../web/src/view/pictures/map-pixels.js';
import { characters, ellipsise, estimateWidth, isUpright, tokenText } from '../../web/src/view/pictures/token-text.js';

const measure = estimateWidth(LABEL.fontSize);
const words = (count: number, text = 'word') => Array.from({ length: count }, () => text);

describe('pixels of cells', () => {
  const scale = (kind: ScaleKind, type: 'linear' | 'log' = 'linear') =>
    colourScale({ kind, max: 0.5, palette: 'cividis', type, theme: 'light' });

  const source = (overrides: Partial<CellSource> = {}): CellSource => ({
    weights: Float32Array.from({ length: 12 }, (_, i) => i / 24),
    baseline: null,
    visible: null,
    keyCount: 4,
    offset: 0,
    ...overrides,
  });
  const whole = { queryFrom: 0, queryTo: 3, keyFrom: 0, keyTo: 4 };

  it.each(['linear', 'log'] as const)('are the colours of the weights (%s)', (type) => {
    const pixels = cellPixels(source(), scale('sequential', type), whole);
    expect(Array.from(pixels)).toEqual(Array.from(source().weights, (w) => colourOf(scale('sequential', type), w)));
  });

  it('are the colours of the differences when there is a baseline', () => {
    const baseline = Float32Array.from({ length: 12 }, (_, i) => (11 - i) / 24);
    const pixels = cellPixels(source({ baseline }), scale('diverging'), whole);
    const differences = source().weights.map((w, i) => w - (baseline[i] as number));
    expect(Array.from(pixels)).toEqual(Array.from(differences, (d) => colourOf(scale('diverging'), d)));
  });

  it('are transparent where the mask hides', () => {
    const visible = Uint8Array.of(1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0);
    const pixels = cellPixels(source({ visible }), scale('sequential'), whole);
    expect(Array.from(pixels, (pixel) => (pixel === 0 ? 0 : 1))).toEqual(Array.from(visible));
  });

  it('come from a window and from the right head', () => {
    const weights = new Float32Array(24);
    weights[12 + 1 * 4 + 2] = 0.5;
    const window = { queryFrom: 1, queryTo: 3, keyFrom: 2, keyTo: 4 };
    const pixels = cellPixels(source({ weights, offset: 12 }), scale('sequential'), window);
    const [full, none] = [colourOf(scale('sequential'), 0.5), colourOf(scale('sequential'), 0)];
    expect(Array.from(pixels)).toEqual([full, none, none, none]);
  });

  it('show the largest of a bin, signed, and hide a bin only if all of it is hidden', () => {
    const weights = Float32Array.of(0.1, 0, 0, 0.4, 0, 0.2, 0, 0, 0, 0, 0.1, 0);
    const visible = Uint8Array.of(1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1);
    const pixels = cellPixels(source({ weights, visible }), scale('sequential'), whole, 2);
    expect(Array.from(pixels)).toEqual([colourOf(scale('sequential'), 0.2), 0, 0, colourOf(scale('sequential'), 0)]);

    const baseline = Float32Array.of(0.1, 0.3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    const changes = cellPixels(source({ weights, baseline }), scale('diverging'), whole, 2);
    expect(changes[0]).toBe(colourOf(scale('diverging'), -0.3));
  });
});

describe('layout', () => {
  const layout = (T: number, S: number, options: Partial<Parameters<typeof layoutMap>[0]> = {}) =>
    layoutMap({
      queryTexts: words(T),
      keyTexts: words(S),
      space: { width: 700, height: Number.POSITIVE_INFINITY, pixelRatio: 1 },
      zoom: 'auto',
      rowValues: true,
      measure,
      ...options,
    });

  it('makes cells whole in device pixels', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.01, max: 100, noNaN: true }),
        fc.constantFrom(1, 1.25, 1.5, 2, 3),
        (wish, ratio) => {
          const { cell, bin, devicePixels } = snapCell(wish, ratio);
          expect(Number.isInteger(devicePixels) && Number.isInteger(bin)).toBe(true);
          expect(cell * ratio * bin).toBeCloseTo(devicePixels, 6);
          expect(cell).toBeLessThanOrEqual(wish + 1e-5);
          expect(bin === 1 || devicePixels === 1).toBe(true);
        },
      ),
    );
  });

  it('fits few tokens without blowing them up', () => {
    const few = layout(4, 4);
    expect(few.cell).toBe(MAX_CELL);
    expect(few.fits).toBe(true);
  });

  it('keeps cells at the least size and scrolls rather than shrink them', () => {
    const many = layout(200, 200);
    expect(many.cell).toBe(MIN_CELL);
    expect(many.fits).toBe(false);
  });

  it('shows all of it on demand, even below a device pixel', () => {
    const space = { width: 700, height: 700, pixelRatio: 1 };
    for (const count of [64, 200, 4096]) {
      const all = layout(count, count, { zoom: 'fit', space });
      expect(all.fits).toBe(true);
      expect(all.rowLabelWidth + all.mapWidth + all.rightWidth).toBeLessThanOrEqual(700);
      expect(all.columnLabelHeight + all.mapHeight).toBeLessThanOrEqual(700);
    }
    expect(layout(4096, 4096, { zoom: 'fit', space }).bin).toBeGreaterThan(1);
  });

  it('whatever fits is inside the space, for any size', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 60 }),
        fc.integer({ min: 1, max: 60 }),
        fc.integer({ min: 300, max: 1600 }),
        fc.integer({ min: 300, max: 1200 }),
        fc.constantFrom(1, 1.5, 2),
        (T, S, width, height, pixelRatio) => {
          const made = layout(T, S, { space: { width, height, pixelRatio } });
          expect(made.mapWidth).toBeCloseTo(S * made.cell, 6);
          if (made.fits) {
            expect(made.rowLabelWidth + made.mapWidth + made.rightWidth).toBeLessThanOrEqual(width + 1e-6);
            expect(made.columnLabelHeight + made.mapHeight).toBeLessThanOrEqual(height + 1e-6);
          } else {
            expect(made.cell).toBe(MIN_CELL);
          }
        },
      ),
    );
  });

  it('gives up row labels before cells', () => {
    const long = words(18, 'incomprehensibilities');
    const narrow = layout(18, 18, { queryTexts: long, space: { width: 390, height: 800, pixelRatio: 2 } });
    expect(narrow.rowLabelWidth).toBeLessThan(LABEL.maxRowWidth);
    expect(narrow.fits).toBe(true);
  });

  it('knows what a view shows and when a drawn window still covers it', () => {
    const made = layout(100, 200);
    const size = { T: 100, S: 200 };
    const view = { left: 140, top: 70, width: 280, height: 140 };
    expect(windowOf(made, view, size, 0)).toEqual({ queryFrom: 5, queryTo: 15, keyFrom: 10, keyTo: 30 });
    const drawn = windowOf(made, view, size, 100);
    expect(covers(drawn, windowOf(made, { ...view, left: 200 }, size, 0))).toBe(true);
    expect(covers(drawn, windowOf(made, { ...view, left: 400 }, size, 0))).toBe(false);
    expect(windowOf(made, { left: 0, top: 0, width: 1e6, height: 1e6 }, size, 100)).toEqual({
      queryFrom: 0,
      queryTo: 100,
      keyFrom: 0,
      keyTo: 200,
    });
  });

  it('scrolls no further than needed', () => {
    expect(scrollToCell(3, 10, 0, 100)).toBe(0);
    expect(scrollToCell(12, 10, 0, 100)).toBe(30);
    expect(scrollToCell(2, 10, 50, 100)).toBe(20);
  });
});

describe('labels', () => {
  it('are horizontal while all fit, then slanted, then vertical', () => {
    expect(columnMode(words(5, 'the'), 48, measure)).toBe('horizontal');
    expect(columnMode(words(5, 'because'), 30, measure)).toBe('slanted');
    expect(columnMode(words(5, 'because'), 14, measure)).toBe('vertical');
  });

  it('stand upright in Chinese: never slanted, characters stacked', () => {
    const texts = ['<s>', '苹果', '在', '桌子'];
    expect(columnMode(texts, 24, measure)).toBe('vertical');
    const placed = placeColumnLabels(texts, { from: 0, to: 4 }, { cell: 20, mode: 'vertical', height: 60 }, measure);
    expect(placed.map(({ rotate }) => rotate)).toEqual([-90, 0, 0, 0]);
    expect(placed[1]?.lines.map(({ text }) => text)).toEqual(['苹', '果']);
    const [first, second] = placed[1]?.lines ?? [];
    expect(first?.x).toBe(30);
    expect((second?.y ?? 0) - (first?.y ?? 0)).toBe(LABEL.lineHeight);
  });

  it('become fewer where lines would touch', () => {
    const placed = placeRowLabels(words(30), { from: 0, to: 30 }, { cell: 5, width: 80 }, measure);
    expect(placed.map(({ index }) => index)).toEqual([0, 3, 6, 9, 12, 15, 18, 21, 24, 27]);
  });

  it('are cut to the room there is and keep their full text', () => {
    const [label] = placeRowLabels(
      words(1, 'incomprehensibilities'),
      { from: 0, to: 1 },
      { cell: 20, width: 80 },
      measure,
    );
    expect(label?.cut).toBe(true);
    expect(label?.full).toBe('incomprehensibilities');
    expect(label?.lines[0]?.text).toMatch(/^incom.*…$/);
    expect(measure(label?.lines[0]?.text ?? '')).toBeLessThanOrEqual(80 - 2 * LABEL.gap);
    const tower = placeColumnLabels(
      ['一二三四五六七八九十'],
      { from: 0, to: 1 },
      { cell: 14, mode: 'vertical', height: 104 },
      measure,
    );
    expect(tower[0]?.lines.at(-1)?.text).toBe('⋮');
  });
});

describe('text of tokens', () => {
  it('makes the invisible visible', () => {
    expect([' ', '\n', '\t', '', ' cat', 'a\nb'].map((text) => tokenText({ text }))).toEqual([
      '␣',
      '⏎',
      '⇥',
      '∅',
      'cat',
      'a⏎b',
    ]);
    expect(tokenText(undefined)).toBe('∅');
  });

  it('never cuts a character apart', () => {
    expect(characters('👩‍👩‍👧é')).toEqual(['👩‍👩‍👧', 'é']);
    expect(ellipsise('👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧', 26, measure)).toBe('👩‍👩‍👧…');
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), fc.integer({ min: 20, max: 200 }), (text, width) => {
        const cut = ellipsise(text, width, measure);
        expect(cut === text || cut.endsWith('…')).toBe(true);
        expect(cut === text || text.startsWith(cut.slice(0, -1))).toBe(true);
      }),
    );
  });

  it('tells upright scripts from turned ones', () => {
    expect(['苹果', '。', 'テスト', '한글', '🇨🇳', '❤️'].map(isUpright)).toEqual(Array(6).fill(true));
    expect(['cat', '<s>', '苹果a', '7'].map(isUpright)).toEqual(Array(4).fill(false));
  });
});
