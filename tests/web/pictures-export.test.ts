import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mapCsv, mapJson, shortest } from '../../web/src/view/pictures/export-data.js';
import { escapeXml, MOST_RECTANGLES, mapSvg, type SvgOptions } from '../../web/src/view/pictures/export-svg.js';
import type { MapPicture } from '../../web/src/view/pictures/types.js';
import { picturesEn, wordsFrom } from '../../web/src/view/pictures/words.js';

const texts = ['the', '"quoted", yes', '<b>&', '苹果', '=SUM(A1)'];

const picture = (overrides: Partial<MapPicture> = {}): MapPicture => {
  const tokens = texts.map((text) => ({ text }));
  const count = tokens.length ** 2;
  return {
    queries: tokens,
    keys: tokens,
    weights: Float32Array.from({ length: count }, (_, i) => i / 30),
    baseline: null,
    scores: Float32Array.from({ length: count }, (_, i) => (i === 1 ? -Infinity : i / 3)),
    rawScores: null,
    visible: Uint8Array.from({ length: count }, (_, i) => (i % 5 <= Math.floor(i / 5) ? 1 : 0)),
    rowValues: { values: Float32Array.of(0, 0.25, 0.5, 0.75, 1), max: 2, unit: 'bits' },
    selectedQuery: 2,
    palette: 'cividis',
    scaleType: 'linear',
    max: 1,
    ...overrides,
  };
};

/** A reader of CSV after RFC 4180. */
function readCsv(text: string): string[][] {
  const rows: string[][] = [[]];
  for (const match of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    rows.at(-1)?.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '');
    if (match[3] === '\r\n') rows.push([]);
  }
  return rows.slice(0, -1);
}

/** Fails unless every tag is closed in order and no bare & or < is left. Returns the number of elements by name. */
function checkXml(text: string): Map<string, number> {
  const open: string[] = [];
  const counts = new Map<string, number>();
  const rest = text.replace(
    /<(\/?)([a-zA-Z]+)((?:\s+[\w:-]+="[^"<]*")*)\s*(\/?)>/g,
    (_, end, name: string, __, empty) => {
      if (end) expect(open.pop()).toBe(name);
      else counts.set(name, (counts.get(name) ?? 0) + 1);
      if (!end && !empty) open.push(name);
      return '';
    },
  );
  expect(open).toEqual([]);
  expect(rest).not.toMatch(/[<>]/);
  expect(rest).not.toMatch(/&(?!amp;|lt;|gt;|quot;)/);
  return counts;
}

describe('CSV', () => {
  it('reads back with its labels, exact numbers, and hidden cells empty', () => {
    const csv = mapCsv(picture());
    expect(csv.startsWith('\ufeff')).toBe(true);
    const [head, ...rows] = readCsv(csv.slice(1));
    expect(head).toEqual(['query \\ key', ...texts.map((text, i) => `${i + 1} ${text}`), 'entropy (bits)']);
    expect(rows).toHaveLength(5);
    for (const [q, row] of rows.entries()) {
      expect(row[0]).toBe(`${q + 1} ${texts[q]}`);
      for (let k = 0; k < 5; k++) {
        const cell = row[k + 1];
        if (k > q) expect(cell).toBe('');
        else expect(Math.fround(Number(cell))).toBe(picture().weights[q * 5 + k]);
      }
      expect(row.at(-1)).toBe(String(q / 4));
    }
  });

  it('has the differences when the picture shows them', () => {
    const [, first] = readCsv(mapCsv(picture({ baseline: new Float32Array(25).fill(0.5), visible: null })).slice(1));
    expect(first?.[1]).toBe('-0.5');
  });

  it('numbers are the shortest that give the same f32', () => {
    expect([0.1, 1 / 3, 0, 1, 1e-9].map((value) => shortest(Math.fround(value)))).toEqual([
      '0.1',
      '0.33333334',
      '0',
      '1',
      '1e-9',
    ]);
    fc.assert(
      fc.property(fc.float({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(Math.fround(Number(shortest(value)))).toBe(value === 0 ? 0 : value);
      }),
    );
  });
});

describe('JSON', () => {
  it('holds everything, as rows, with null for −∞', () => {
    const settings = { model: 'bilingual', mask: { causal: true } };
    const text = mapJson(picture(), 'Layer 2, head 5', settings);
    const read = JSON.parse(text);
    expect(read.title).toBe('Layer 2, head 5');
    expect(read.settings).toEqual(settings);
    expect(read.keys).toEqual(texts);
    expect(read.weights).toHaveLength(5);
    expect(read.weights[3].map(Math.fround)).toEqual(Array.from(picture().weights.slice(15, 20)));
    expect(read.scores[0][1]).toBeNull();
    expect(read.visible[0]).toEqual([1, 0, 0, 0, 0]);
    expect(read.baseline).toBeNull();
    expect(read.entropy).toEqual({ unit: 'bits', values: [0, 0.25, 0.5, 0.75, 1] });
    expect(text).toContain('\n    [1,0,0,0,0],\n');
  });

  it('keeps token texts as they are, whatever they look like', () => {
    const odd = ['[ 1,\n 2 ]', '  ', '"]'].map((text) => ({ text }));
    const read = JSON.parse(
      mapJson(
        picture({
          queries: odd,
          keys: odd,
          visible: null,
          scores: null,
          rowValues: null,
          weights: new Float32Array(9),
        }),
        '',
        {},
      ),
    );
    expect(read.keys).toEqual(odd.map(({ text }) => text));
  });
});

describe('SVG', () => {
  const options: SvgOptions = {
    title: 'Layer 2 & head 5',
    caption: ['bilingual · causal', 'temperature 1 < 2'],
    theme: 'light',
    ink: '#111',
    paper: '#fff',
    line: '#ccc',
    accent: '#b00',
    font: 'system-ui, "Noto Sans SC"',
    words: wordsFrom(picturesEn),
  };

  it('is well-formed XML with a rectangle a visible cell and text as text', () => {
    const svg = mapSvg(picture(), options);
    const counts = checkXml(svg);
    // Visible cells; besides: ground, hatched ground, pattern, chosen row, two bars a row, legend, its masked swatch.
    expect(counts.get('rect')).toBe(15 + 6 + 2 * 5);
    for (const text of [
      '&lt;b&gt;&amp;',
      '苹果',
      'Layer 2 &amp; head 5',
      'temperature 1 &lt; 2',
      'bilingual · causal',
    ]) {
      expect(svg).toContain(text);
    }
    expect(svg).toContain('attention weight');
    expect(svg).toContain('row entropy, 0 to 2 bits');
  });

  it('shows a difference with its own legend', () => {
    const svg = mapSvg(picture({ baseline: new Float32Array(25), visible: null }), options);
    checkXml(svg);
    expect(svg).toContain('change in weight');
    expect(svg).toContain('>+1<');
    expect(svg).not.toContain('>masked<');
  });

  it('takes an image for a large map, and says so when there is none', () => {
    const side = Math.ceil(Math.sqrt(MOST_RECTANGLES)) + 1;
    const tokens = Array.from({ length: side }, (_, i) => ({ text: `t${i}` }));
    const large = picture({
      queries: tokens,
      keys: tokens,
      weights: new Float32Array(side * side),
      scores: null,
      visible: null,
      rowValues: null,
    });
    expect(() => mapSvg(large, options)).toThrow('options.image');
    const counts = checkXml(mapSvg(large, { ...options, image: 'data:image/png;base64,AAAA' }));
    expect(counts.get('image')).toBe(1);
    expect(counts.get('rect')).toBeLessThan(10);
  });

  it('is rectangular if the map is', () => {
    const wide = picture({
      queries: texts.slice(0, 2).map((text) => ({ text })),
      weights: new Float32Array(10),
      visible: null,
      rowValues: null,
      selectedQuery: null,
    });
    expect(checkXml(mapSvg(wide, options)).get('rect')).toBe(10 + 4);
  });

  it('breaks a long caption into lines and loses nothing of it', () => {
    const english = 'The cat did not cross the street because it was too tired. '.repeat(4).trim();
    const chinese = '苹果在桌子上，香蕉在椅子上，橘子在沙发上。'.repeat(4);
    const svg = mapSvg(picture(), { ...options, caption: [english, chinese] });
    const width = Number(/width="(\d+)"/.exec(svg)?.[1]);
    const lines = [...svg.matchAll(/opacity="0.75">([^<]*)</g)].map((match) => match[1] ?? '');
    expect(lines.join(' ')).toContain(english);
    expect(lines.join('')).toContain(chinese);
    expect(lines.filter((line) => /cat|street|tired/.test(line)).length).toBeGreaterThan(2);
    for (const line of lines.filter((text) => /[\u4e00-\u9fff]/.test(text)))
      expect(line.length * 12).toBeLessThan(width);
  });

  it('survives any text', () => {
    expect(escapeXml('a\u0000b\ud800c\n<"&>')).toBe('a\ufffdb\ufffdc &lt;&quot;&amp;&gt;');
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' }), { minLength: 1, maxLength: 4 }), (labels) => {
        const tokens = labels.map((text) => ({ text }));
        const weights = new Float32Array(tokens.length ** 2);
        checkXml(
          mapSvg(
            picture({ queries: tokens, keys: tokens, weights, visible: null, rowValues: null, selectedQuery: null }),
            options,
          ),
        );
      }),
      { numRuns: 50 },
    );
  });
});
