import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser } from './support/browser.js';
import { addHeatmap, buildPictures, openPictures, pageErrors } from './support/pictures-page.js';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let browser: Browser;
let script: string;
let page: Page;

beforeAll(async () => {
  [browser, script] = await Promise.all([launchBrowser(), buildPictures()]);
});
afterAll(() => browser?.close());
afterEach(async () => {
  await page?.context().close();
  expect(pageErrors.get(page)).toEqual([]);
});

const open = async (options?: BrowserContextOptions) => {
  page = await openPictures(browser, script, options);
};

/** The middle of a cell on the screen. */
const cellPoint = (query: number, key: number) =>
  page.evaluate(
    ([q, k]) => {
      const map = document.querySelector('mh-heatmap')?.shadowRoot?.querySelector<HTMLElement>('.map') as HTMLElement;
      const { left, top } = map.getBoundingClientRect();
      const cell = Number.parseFloat(map.style.getPropertyValue('--cell'));
      return { x: left + (k + 0.5) * cell, y: top + (q + 0.5) * cell };
    },
    [query, key] as const,
  );

const seen = (name: string) =>
  page.evaluate((wanted) => window.seen.filter(([event]) => event === wanted).map(([, detail]) => detail), name);

const activeName = () =>
  page.evaluate(() => {
    let active = document.activeElement;
    while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
    return active?.getAttribute('aria-label') ?? active?.textContent?.trim();
  });

async function axeViolations(): Promise<string[]> {
  await page.addScriptTag({ content: axe });
  return page.evaluate(async () => {
    const { axe } = window as unknown as {
      axe: { run: () => Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
    };
    const { violations } = await axe.run();
    return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
  });
}

describe('the picture of a map', () => {
  it.each([1, 1.25, 2])('has one exact square of colour a cell, at pixel ratio %f', async (deviceScaleFactor) => {
    await open({ deviceScaleFactor });
    await addHeatmap(page, 30);
    const wrong = await page.evaluate(() => {
      const heatmap = document.querySelector('mh-heatmap');
      const root = heatmap?.shadowRoot as ShadowRoot;
      const canvas = root.querySelector('canvas') as HTMLCanvasElement;
      const { colour } = (
        window as unknown as { pictures: { colour: typeof import('../../web/src/view/pictures/colour.js') } }
      ).pictures;
      const side = canvas.width / 30;
      const box = canvas.getBoundingClientRect();
      const problems: string[] = [];
      if (!Number.isInteger(side)) problems.push(`side ${side}`);
      if (Math.abs(box.width * devicePixelRatio - canvas.width) > 1e-3)
        problems.push(`${box.width} css for ${canvas.width}`);
      const scale = colour.pictureScale((heatmap as NonNullable<typeof heatmap>).picture, 'light');
      const context = canvas.getContext('2d') as CanvasRenderingContext2D;
      for (let q = 0; q < 30; q++) {
        for (let k = 0; k <= q; k++) {
          // Everywhere in the cell but on the line to its neighbours.
          for (const [x, y] of [
            [2, 2],
            [side >> 1, side >> 1],
            [side - 1, side - 1],
          ] as const) {
            const at = context.getImageData(k * side + x, q * side + y, 1, 1).data;
            const want = colour.unpackPixel(colour.colourOf(scale, heatmap?.weights[q * 30 + k] as number));
            if (want.some((part, i) => part !== at[i])) problems.push(`${q},${k}: ${at} not ${want}`);
          }
        }
      }
      return problems.slice(0, 5);
    });
    expect(wrong).toEqual([]);
  });

  it('is drawn again in the colours of the other theme when the page changes', async () => {
    await open({ colorScheme: 'light' });
    await addHeatmap(page, 8);
    const corner = () =>
      page.evaluate(() => {
        const canvas = document.querySelector('mh-heatmap')?.shadowRoot?.querySelector('canvas') as HTMLCanvasElement;
        return [...(canvas.getContext('2d')?.getImageData(3, 3, 1, 1).data ?? [])].slice(0, 3);
      });
    const light = await corner();
    await page.emulateMedia({ colorScheme: 'dark' });
    await expect.poll(corner, { timeout: 3000 }).not.toEqual(light);
    // A weight of 1 is the brightest on dark paper, the darkest on light paper.
    const sum = (colour: number[]) => colour.reduce((a, b) => a + b);
    expect(sum(await corner())).toBeGreaterThan(sum(light));
  });

  it('refuses data of the wrong size, saying which', async () => {
    await open();
    const message = await page.evaluate(async () => {
      const heatmap = document.createElement('mh-heatmap');
      Object.assign(heatmap, { queries: [{ text: 'a' }], keys: [{ text: 'b' }], weights: new Float32Array(3) });
      document.querySelector('main')?.append(heatmap);
      return heatmap.updateComplete.then(
        () => 'no error',
        (error: Error) => error.message,
      );
    });
    expect(message).toBe('<mh-heatmap>: weights has 3 numbers, but 1 queries × 1 keys need 1');
  });

  it('scrolls where it does not fit, with labels that stay, and zooms about the pointer', async () => {
    await open();
    await addHeatmap(page, 120);
    const state = () =>
      page.evaluate(() => {
        const root = document.querySelector('mh-heatmap')?.shadowRoot as ShadowRoot;
        const map = root.querySelector('.map') as HTMLElement;
        const labels = root.querySelector('.rows')?.getBoundingClientRect() as DOMRect;
        const frame = root.querySelector('.scroller')?.getBoundingClientRect() as DOMRect;
        const cell = Number.parseFloat(map.style.getPropertyValue('--cell'));
        return {
          cell,
          labelsAt: Math.round(labels.left - frame.left),
        };
      });
    expect(await state()).toEqual({ cell: 14, labelsAt: 0 });

    const root = page.locator('mh-heatmap');
    await root.evaluate((heatmap) => heatmap.shadowRoot?.querySelector('.scroller')?.scrollTo(900, 900));
    await page.waitForTimeout(100);
    expect((await state()).labelsAt).toBe(0);
    const drawn = await page.evaluate(() => {
      const root = document.querySelector('mh-heatmap')?.shadowRoot as ShadowRoot;
      const canvas = (root.querySelector('canvas') as HTMLElement).getBoundingClientRect();
      const frame = (root.querySelector('.scroller') as HTMLElement).getBoundingClientRect();
      return canvas.right >= frame.right - 80 && canvas.bottom >= frame.bottom;
    });
    expect(drawn).toBe(true);

    const before = await cellPoint(75, 75);
    await page.mouse.move(before.x, before.y);
    await page.keyboard.down('Control');
    await page.mouse.wheel(0, -150);
    await page.keyboard.up('Control');
    await expect.poll(async () => (await state()).cell).toBeGreaterThan(20);
    const after = await cellPoint(75, 75);
    expect(Math.abs(after.x - before.x)).toBeLessThan(20);
    expect(Math.abs(after.y - before.y)).toBeLessThan(20);

    await page.getByRole('button', { name: 'Show all' }).click();
    expect((await state()).cell).toBeLessThan(5);
  });

  it('keeps up with thousands of tokens by drawing what is in view', async () => {
    await open();
    await addHeatmap(page, 2048);
    const size = await page.evaluate(() => {
      const canvas = document.querySelector('mh-heatmap')?.shadowRoot?.querySelector('canvas') as HTMLCanvasElement;
      return {
        pixels: canvas.width * canvas.height,
        labels: document.querySelector('mh-heatmap')?.shadowRoot?.querySelectorAll('text').length ?? 0,
      };
    });
    expect(size.pixels).toBeLessThan(4e6);
    expect(size.labels).toBeLessThan(500);
  });
});

describe('pointing at a map', () => {
  it('tells the cell, lights it up, and chooses its row by a click', async () => {
    await open();
    await addHeatmap(page, 10);
    const point = await cellPoint(6, 2);
    await page.mouse.move(point.x, point.y);
    expect(await seen('mh-cell')).toEqual([{ query: 6, key: 2 }]);
    const lit = await page.evaluate(() => {
      const root = document.querySelector('mh-heatmap')?.shadowRoot as ShadowRoot;
      return {
        labels: [...root.querySelectorAll('text.lit')].map((label) => label.textContent),
        tip: root.querySelector('.tip')?.textContent?.replace(/\s+/g, ''),
      };
    });
    expect(lit.labels).toEqual(['sat', '。']);
    expect(lit.tip).toMatch(/^。→satweight\.\d\drank\dof7/);
    await page.mouse.click(point.x, point.y);
    expect(await seen('mh-query')).toEqual([{ query: 6 }]);
    await page.evaluate(() => {
      const heatmap = document.querySelector('mh-heatmap');
      if (heatmap) heatmap.selectedQuery = 6;
    });
    await page.mouse.click(point.x, point.y);
    expect((await seen('mh-query')).at(-1)).toEqual({ query: null });
    await page.mouse.move(point.x, 690);
    await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
    expect((await seen('mh-cell')).at(-1)).toBeNull();
  });

  it('paints along a fast drag, and whole rows and columns by their labels', async () => {
    await open();
    await addHeatmap(page, 10, { tool: 'hide' });
    const [from, to] = [await cellPoint(0, 0), await cellPoint(8, 4)];
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(to.x, to.y, { steps: 2 });
    await page.mouse.up();
    const strokes = (await seen('mh-paint')) as { cells: [number, number][]; hide: boolean; done: boolean }[];
    const cells = strokes.flatMap((stroke) => stroke.cells);
    expect(cells.map(([query]) => query)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    expect(cells.at(-1)).toEqual([8, 4]);
    expect(strokes.map(({ done }) => done)).toEqual([...strokes.slice(1).map(() => false), true]);
    expect(strokes.every(({ hide }) => hide)).toBe(true);
    expect(await seen('mh-query')).toEqual([]);

    await page.evaluate(() => {
      window.seen = [];
    });
    const row = await cellPoint(3, -1);
    await page.mouse.click(row.x, row.y);
    const painted = (await seen('mh-paint')) as typeof strokes;
    expect(painted.flatMap((stroke) => stroke.cells)).toEqual(Array.from({ length: 10 }, (_, key) => [3, key]));
  });

  it('on a touch screen: a tap shows, a second one chooses; the page scrolls unless a tool paints', async () => {
    await open({ hasTouch: true, isMobile: true, viewport: { width: 390, height: 800 } });
    await addHeatmap(page, 10);
    const point = await cellPoint(5, 3);
    await page.touchscreen.tap(point.x, point.y);
    expect(await seen('mh-cell')).toEqual([{ query: 5, key: 3 }]);
    expect(await seen('mh-query')).toEqual([]);
    await page.touchscreen.tap(point.x, point.y);
    expect(await seen('mh-query')).toEqual([{ query: 5 }]);
    const touchAction = () =>
      page.evaluate(() => {
        const plane = document.querySelector('mh-heatmap')?.shadowRoot?.querySelector('.plane') as Element;
        return getComputedStyle(plane).touchAction;
      });
    expect(await touchAction()).toBe('pan-x pan-y');
    await page.evaluate(async () => {
      const heatmap = document.querySelector('mh-heatmap');
      if (heatmap) heatmap.tool = 'show';
      await heatmap?.updateComplete;
    });
    expect(await touchAction()).toBe('none');
  });
});

describe('fingers on a map', () => {
  /** Real touch events, as the browser gets them from a screen. */
  async function fingers() {
    const session = await page.context().newCDPSession(page);
    const send = (type: 'touchStart' | 'touchMove' | 'touchEnd', points: [number, number][]) =>
      session.send('Input.dispatchTouchEvent', { type, touchPoints: points.map(([x, y], id) => ({ x, y, id })) });
    const drag = async (from: [number, number], step: [number, number]) => {
      for (let i = 1; i <= 8; i++) {
        await send('touchMove', [[from[0] + i * step[0], from[1] + i * step[1]]]);
        await page.waitForTimeout(16);
      }
    };
    return { send, drag };
  }

  const view = () =>
    page.evaluate(() => {
      const root = document.querySelector('mh-heatmap')?.shadowRoot as ShadowRoot;
      const cell = Number.parseFloat((root.querySelector('.map') as HTMLElement).style.getPropertyValue('--cell'));
      const { scrollLeft, scrollTop } = root.querySelector('.scroller') as HTMLElement;
      return { cell, scrollLeft, scrollTop };
    });

  const openPhone = async () => {
    await open({ hasTouch: true, isMobile: true, viewport: { width: 390, height: 800 } });
    await addHeatmap(page, 64);
  };

  it('two zoom and pan, one scrolls', async () => {
    await openPhone();
    const { send, drag } = await fingers();
    await send('touchStart', [[150, 400]]);
    await send('touchStart', [
      [150, 400],
      [230, 480],
    ]);
    for (let i = 1; i <= 10; i++)
      await send('touchMove', [
        [150 - i * 5, 400 - i * 5],
        [230 + i * 5, 480 + i * 5],
      ]);
    await send('touchEnd', []);
    await expect.poll(async () => (await view()).cell).toBeGreaterThan(25);
    expect(await seen('mh-query')).toEqual([]);
    const before = await view();
    await send('touchStart', [[200, 500]]);
    await drag([200, 500], [0, -15]);
    await send('touchEnd', []);
    await expect.poll(async () => (await view()).scrollTop).toBeGreaterThan(before.scrollTop + 50);
  });

  it('a long press reads cells along the way without scrolling, and a paint tool paints them', async () => {
    await openPhone();
    const { send, drag } = await fingers();
    const before = await view();
    await send('touchStart', [[150, 400]]);
    await page.waitForTimeout(700);
    await drag([150, 400], [10, 10]);
    await send('touchEnd', []);
    expect((await seen('mh-cell')).length).toBeGreaterThan(3);
    expect(await view()).toEqual(before);

    await page.evaluate(async () => {
      const heatmap = document.querySelector('mh-heatmap');
      if (heatmap) heatmap.tool = 'hide';
      await heatmap?.updateComplete;
    });
    await send('touchStart', [[150, 400]]);
    await drag([150, 400], [5, 15]);
    await send('touchEnd', []);
    const strokes = (await seen('mh-paint')) as { cells: unknown[]; done: boolean }[];
    expect(strokes.flatMap(({ cells }) => cells).length).toBeGreaterThanOrEqual(8);
    expect(strokes.at(-1)?.done).toBe(true);
    expect(await view()).toEqual(before);
  });
});

describe('without a mouse', () => {
  it('walks a map with one tab stop, says every cell, chooses and paints', async () => {
    await open();
    await addHeatmap(page, 10);
    await page.keyboard.press('Tab');
    expect(await activeName()).toMatch(/^query 1 “The” attends to key 1 “The”: 1\.00, rank 1 of 1$/);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    expect(await activeName()).toBe('query 2 “cat” attends to key 3 “sat”: masked');
    expect(await seen('mh-cell')).toHaveLength(4);
    await page.keyboard.press('Enter');
    expect(await seen('mh-query')).toEqual([{ query: 1 }]);
    await page.keyboard.press('Control+End');
    expect(await activeName()).toMatch(/^query 10 .* key 10 /);
    for (const key of ['PageDown', '[', 't', 'Escape']) await page.keyboard.press(key);
    expect(await seen('mh-head-step')).toEqual([
      { of: 'head', by: 1 },
      { of: 'layer', by: -1 },
    ]);
    expect(await seen('mh-table')).toEqual([{ asTable: true }]);
    expect((await seen('mh-query')).at(-1)).toEqual({ query: null });

    // To the row's label: there Enter paints all of the row.
    await page.evaluate(() => {
      const heatmap = document.querySelector('mh-heatmap');
      if (heatmap) heatmap.tool = 'hide';
    });
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowLeft');
    expect(await activeName()).toBe('query 10 “sat”');
    await page.keyboard.press(' ');
    const [stroke] = (await seen('mh-paint')) as { cells: unknown[]; done: boolean }[];
    expect(stroke?.cells).toHaveLength(10);
    expect(stroke?.done).toBe(true);

    const grid = await page.evaluate(() => {
      const grid = document.querySelector('mh-heatmap')?.shadowRoot?.querySelector('[role=grid]');
      const stops = grid?.querySelectorAll('[tabindex="0"]').length;
      return [
        grid?.getAttribute('aria-rowcount'),
        grid?.getAttribute('aria-colcount'),
        grid?.querySelectorAll('[role=row]').length,
        stops,
      ];
    });
    expect(grid).toEqual(['11', '11', 1, 1]);
    await page.keyboard.press('Tab');
    expect(await activeName()).not.toMatch(/^query/);
  });

  it('says what a row does when the focus rests in it', async () => {
    await open();
    await addHeatmap(page, 10);
    await page.keyboard.press('Tab');
    await page.keyboard.press('ArrowDown');
    const status = () =>
      page.evaluate(
        () => document.querySelector('mh-heatmap')?.shadowRoot?.querySelector('[role=status]')?.textContent,
      );
    await expect
      .poll(status, { timeout: 2000 })
      .toMatch(/^query 2 “cat”: strongest key \d “\w+” \.\d\d, entropy 1\.00 bits$/);
  });

  it('follows the focus where a map scrolls', async () => {
    await open();
    await addHeatmap(page, 120);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Control+End');
    const inside = await page.evaluate(() => {
      const root = document.querySelector('mh-heatmap')?.shadowRoot as ShadowRoot;
      const cell = root.activeElement?.getBoundingClientRect() as DOMRect;
      const frame = root.querySelector('.scroller')?.getBoundingClientRect() as DOMRect;
      return (
        cell.left >= frame.left && cell.right <= frame.right && cell.top >= frame.top && cell.bottom <= frame.bottom
      );
    });
    expect(inside).toBe(true);
  });
});

describe('the other pictures', () => {
  const add = (tag: string, properties: object) =>
    page.evaluate(
      async ([name, given]) => {
        const element = document.createElement(name) as HTMLElement & { updateComplete: Promise<boolean> };
        const [L, H, T] = [2, 3, 7];
        const attention = new Float32Array(L * H * T * T);
        for (let i = 0; i < L * H; i++) attention.set(window.softmaxMap(T, T, i % 2 === 0).weights, i * T * T);
        const tokens = ['The', 'cat', 'sat', 'on', 'a', '垫子', '。'].map((text) => ({ text }));
        const entropy = { values: Float32Array.of(0.5, 1, 1.5, 2, 2.5, 2.8), max: Math.log2(T), unit: 'bits' };
        const everything = { layers: L, heads: H, queryCount: T, keyCount: T, attention, entropy, keys: tokens };
        Object.assign(
          element,
          everything,
          { weights: attention.slice(2 * T, 3 * T), queryText: 'sat', query: 2 },
          given,
        );
        document.querySelector('main')?.append(element);
        await element.updateComplete;
      },
      [tag, properties] as const,
    );

  it('heads are chosen by click, shift-click and keyboard, and named with their entropy', async () => {
    await open();
    await add('mh-heads', { selected: [{ layer: 0, head: 1 }], ablated: [{ layer: 1, head: 2 }] });
    await page.getByRole('gridcell', { name: 'Layer 2, head 1, entropy 2.00 bits' }).click();
    await page.getByRole('gridcell', { name: 'Layer 2, head 2' }).click({ modifiers: ['Shift'] });
    await page.keyboard.press('ArrowUp');
    expect(await activeName()).toBe('Layer 1, head 2, entropy 1.00 bits');
    await page.keyboard.press('Control+End');
    expect(await activeName()).toBe('Layer 2, head 3, entropy 2.80 bits, switched off');
    await page.keyboard.press('Enter');
    expect(await seen('mh-head-select')).toEqual([
      { layer: 1, head: 0, add: false },
      { layer: 1, head: 1, add: true },
      { layer: 1, head: 2, add: false },
    ]);
  });

  it('a click near a dot of the entropy chart chooses its head', async () => {
    await open();
    await add('mh-entropy', { selected: [{ layer: 0, head: 0 }] });
    const dot = page.getByRole('option', { name: 'Layer 2, head 3, entropy 2.80 bits' });
    const box = await dot.boundingBox();
    await page.mouse.click((box?.x ?? 0) + 14, (box?.y ?? 0) + 10);
    expect(await seen('mh-head-select')).toEqual([{ layer: 1, head: 2, add: false }]);
    expect(await page.getByRole('table').textContent()).toContain('2.43');
  });

  it('bars have the heights of the weights and tell the key under the pointer', async () => {
    await open();
    await add('mh-bars', { visible: Uint8Array.of(1, 1, 1, 0, 0, 0, 0) });
    const { heights, weights } = await page.evaluate(() => {
      const bars = document.querySelector('mh-bars');
      const columns = [...(bars?.shadowRoot?.querySelectorAll('.column') ?? [])];
      const share = (column: Element) => (column.querySelector('.bar')?.clientHeight ?? 0) / column.clientHeight;
      return { heights: columns.map(share), weights: [...(bars?.weights ?? [])] };
    });
    const top = Math.max(...weights);
    const max = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1].find((round) => top <= round) ?? 1;
    for (const [i, height] of heights.entries()) expect(Math.abs(height - (weights[i] ?? 0) / max)).toBeLessThan(0.03);
    await page.getByText('cat', { exact: true }).hover();
    expect(await seen('mh-cell')).toEqual([{ query: 2, key: 1 }]);
    expect(await page.getByRole('listitem').nth(5).textContent()).toContain('“垫子”: masked');
  });

  it.each(['light', 'dark'] as const)('no accessibility violation in any of them (%s)', async (colorScheme) => {
    await open({ colorScheme });
    await addHeatmap(page, 8);
    await addHeatmap(page, 5, { asTable: true });
    await add('mh-heads', { selected: [{ layer: 0, head: 1 }] });
    await add('mh-heads', { layout: 'strip', selected: [] });
    await add('mh-entropy', {});
    await add('mh-bars', {});
    await add('mh-legend', { kind: 'diverging', max: 0.2 });
    expect(await axeViolations()).toEqual([]);
  });
});

describe('exports', () => {
  it('an SVG that the browser reads, and a PNG of its size', async () => {
    await open();
    await addHeatmap(page, 12);
    const made = await page.evaluate(async () => {
      const { mapSvg, svgToPng, mapImage } = (
        window as unknown as { pictures: Record<string, (...args: unknown[]) => never> }
      ).pictures;
      const heatmap = document.querySelector('mh-heatmap') as HTMLElementTagNameMap['mh-heatmap'];
      const svg: string = mapSvg?.(heatmap.picture, {
        ...heatmap.theme,
        accent: '#b00',
        title: '<&>',
        caption: ['猫'],
        words: heatmap.words,
      }) as never;
      const parsed = new DOMParser().parseFromString(svg, 'image/svg+xml');
      const png = await createImageBitmap((await svgToPng?.(svg, 2)) as never as Blob);
      const image = new Image();
      image.src = mapImage?.(heatmap.picture, 'light') as never;
      await image.decode();
      const root = parsed.documentElement;
      return {
        error: parsed.querySelector('parsererror')?.textContent ?? null,
        title: parsed.querySelector('title')?.textContent,
        ratio: [png.width / Number(root.getAttribute('width')), png.height / Number(root.getAttribute('height'))],
        cells: [image.naturalWidth, image.naturalHeight],
      };
    });
    expect(made).toEqual({ error: null, title: '<&>', ratio: [2, 2], cells: [12, 12] });
  });
});
