/**
 * The built page as a reader meets it: what a test does goes through mouse and keyboard, what it reads is on the screen
 * or in the public properties of the elements.
 */
import { existsSync } from 'node:fs';
import type { Browser, BrowserContext, BrowserContextOptions, CDPSession, Page } from 'playwright-core';
import type { Answer } from '../../../web/src/view/session.js';
import type { LensState } from '../../../web/src/view/state.js';

/** The product as `./build.sh all` leaves it; a test never builds it. */
export function builtSite(): string {
  for (const file of ['build/site/index.html', 'build/site/standalone.html', 'build/site/examples/blog.html'])
    if (!existsSync(file)) throw new Error(`${file} is missing: build it with ./build.sh all`);
  return 'build/site';
}

declare global {
  interface Window {
    heard: {
      answers: number;
      changes: number;
      answer: Answer | null;
      errors: string[];
      /** Is the answer on screen that of the state? */
      current: () => boolean;
    };
  }
}

/** Runs in the page before its own scripts. */
function listen(): void {
  const asked = ({ text, model, mask, scale, temperature, ablations, replaced, heads }: LensState) => {
    const painted = [...mask.painted].map(([scope, cells]) => [scope, ...cells]);
    return JSON.stringify([text, model, { ...mask, painted }, scale, temperature, ablations, replaced, heads]);
  };
  window.heard = {
    answers: 0,
    changes: 0,
    answer: null,
    errors: [],
    current: () => {
      const state = document.querySelector('multihead-lens')?.state;
      const { answer } = window.heard;
      return state !== undefined && answer !== null && asked(state) === asked(answer.state);
    },
  };
  addEventListener('multihead-answer', ({ detail }) => {
    window.heard.answers++;
    window.heard.answer = detail.answer;
  });
  addEventListener('multihead-change', () => {
    window.heard.changes++;
  });
  addEventListener('multihead-error', ({ detail }) => {
    window.heard.errors.push(String(detail.error));
  });
}

declare global {
  interface WindowEventMap {
    'multihead-answer': HTMLElementEventMap['multihead-answer'];
    'multihead-change': HTMLElementEventMap['multihead-change'];
    'multihead-error': HTMLElementEventMap['multihead-error'];
  }
}

/** Fields of which one value is chosen. */
type Field = 'mask' | 'paint' | 'scale' | 'ablate' | 'view' | 'unit' | 'combine' | 'token-tool';

export class LensPage {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Errors of the console and of scripts. */
  readonly problems: string[] = [];
  /** Every address that the page, its frames and its workers asked for. */
  readonly requests: string[] = [];

  private constructor(context: BrowserContext, page: Page) {
    this.context = context;
    this.page = page;
    context.on('request', (request) => this.requests.push(request.url()));
    context.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') this.problems.push(message.text());
    });
    context.on('weberror', (error) => this.problems.push(error.error().message));
  }

  /** An empty profile, English unless said otherwise, on a laptop's screen. */
  static async create(browser: Browser, options: BrowserContextOptions = {}): Promise<LensPage> {
    const context = await browser.newContext({ locale: 'en-US', viewport: { width: 1440, height: 900 }, ...options });
    await context.addInitScript(listen);
    return new LensPage(context, await context.newPage());
  }

  static async open(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<LensPage> {
    const lens = await LensPage.create(browser, options);
    await lens.page.goto(url);
    await lens.answered();
    return lens;
  }

  close(): Promise<void> {
    return this.context.close();
  }

  devtools(): Promise<CDPSession> {
    return this.context.newCDPSession(this.page);
  }

  /* ------------------------------------------------------------------------------------------------- Waiting */

  /** Until the screen shows the engine's answer to the state, and every picture is drawn. */
  async answered(): Promise<void> {
    await this.page.waitForFunction(() => window.heard?.current(), undefined, { timeout: 20_000 });
    await this.drawn();
  }

  /** Light or dark, until every picture has turned: its background takes a frame or two, by a transition of 1 ms. */
  async turn(colorScheme: 'light' | 'dark'): Promise<void> {
    await this.page.emulateMedia({ colorScheme });
    await this.page.evaluate(async () => {
      const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
      const roots = () => [...(document.querySelector('multihead-lens')?.renderRoot.querySelectorAll('*') ?? [])];
      await frame();
      do await frame();
      while (roots().some((element) => element.getAnimations({ subtree: true }).length > 0));
    });
    await this.drawn();
  }

  /** Until what has changed is rendered. */
  async drawn(): Promise<void> {
    await this.page.evaluate(async () => {
      const lens = document.querySelector('multihead-lens');
      await lens?.updateComplete;
      for (const picture of lens?.renderRoot.querySelectorAll('mh-heatmap, mh-heads, mh-bars, mh-entropy') ?? [])
        await (picture as unknown as { updateComplete: Promise<boolean> }).updateComplete;
    });
  }

  /* ------------------------------------------------------------------------------------------------- Reading */

  /** What the engine said, as the page has it. */
  answer() {
    return this.page.evaluate(() => {
      const { answer, answers, changes } = window.heard;
      if (!answer) throw new Error('there is no answer yet');
      const { result, baseline } = answer;
      return {
        answers,
        changes,
        texts: result.tokens.map((token) => token.text),
        tokens: result.tokens.map(({ id, text, start, end }) => ({ id, text, start, end })),
        over: result.overflow.length,
        attention: [...result.attention],
        headStatistics: [...result.headStatistics],
        logits: [...(result.logits ?? [])],
        predictions: result.topK.map(({ position, predictions }) => ({ position, predictions: [...predictions] })),
        maskedRows: result.maskedRows,
        build: result.build,
        baseline: baseline ? [...baseline.attention] : null,
      };
    });
  }

  /** Every map on screen. */
  maps() {
    return this.page.evaluate(() =>
      (document.querySelector('multihead-lens')?.heatmaps ?? []).map((map) => ({
        label: map.label,
        texts: map.keys.map((key) => key.text),
        weights: [...map.weights],
        baseline: map.baseline && [...map.baseline],
        visible: [...(map.visible ?? [])],
        entropies: [...(map.rowValues?.values ?? [])],
        unit: map.rowValues?.unit,
      })),
    );
  }

  /** The numbers of the map's table, as text, by row; the last of a row is its entropy. */
  table(): Promise<string[][]> {
    return this.page.evaluate(() => {
      const table = document.querySelector('multihead-lens')?.heatmaps[0]?.renderRoot.querySelector('table');
      return [...(table?.tBodies[0]?.rows ?? [])].map((row) =>
        [...row.cells].slice(1).map((cell) => cell.textContent?.trim() ?? ''),
      );
    });
  }

  /** Rows of the predictions as they are written: the token and its numbers. */
  predictions(): Promise<string[][]> {
    return this.page.evaluate(() => {
      const rows = document.querySelector('multihead-lens')?.renderRoot.querySelectorAll('.predictions tbody tr') ?? [];
      return [...rows].map((row) => [...row.children].map((cell) => cell.textContent?.trim() ?? ''));
    });
  }

  /** The definitions in a part of the lens, by term. */
  facts(part: 'proof' | 'reading'): Promise<Record<string, string>> {
    return this.page.evaluate((name) => {
      const terms = document.querySelector('multihead-lens')?.renderRoot.querySelectorAll(`[part~=${name}] dt`) ?? [];
      const entries = [...terms].map((term) => [
        term.textContent?.trim(),
        term.nextElementSibling?.textContent?.replace(/\s+/g, ' ').trim(),
      ]);
      return Object.fromEntries(entries);
    }, part);
  }

  /** Every text in the page, through all shadow trees: words, names, titles, options; each with the language around it. */
  words(): Promise<{ text: string; language: string }[]> {
    return this.page.evaluate(() => {
      const found: { text: string; language: string }[] = [];
      const visit = (node: Node, language: string): void => {
        if (node instanceof Text) {
          if (node.data.trim() !== '') found.push({ text: node.data.trim(), language });
        } else if (node instanceof Element) {
          if (['STYLE', 'SCRIPT', 'NOSCRIPT', 'HEAD'].includes(node.tagName)) return;
          const own = node.getAttribute('lang') ?? language;
          for (const name of ['aria-label', 'title', 'placeholder', 'label', 'aria-valuetext']) {
            const text = node.getAttribute(name);
            if (text && node.id !== 'language') found.push({ text, language: own });
          }
          for (const child of [...(node.shadowRoot?.childNodes ?? []), ...node.childNodes]) visit(child, own);
        }
      };
      visit(document.documentElement, '');
      return found;
    });
  }

  /** The state, in a form that leaves the page. */
  state() {
    return this.page.evaluate(() => {
      const { state } = document.querySelector('multihead-lens') as HTMLElementTagNameMap['multihead-lens'];
      const { history: _, mask, ...rest } = state;
      const painted = [...mask.painted].map(([scope, cells]) => [scope, [...cells]] as const);
      return { ...rest, mask: { ...mask, painted } };
    });
  }

  /** The innermost element that has the focus: its role or tag, and its name. */
  focused(): Promise<string> {
    return this.page.evaluate(() => {
      let active = document.activeElement;
      while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
      return active?.getAttribute('aria-label') ?? active?.textContent?.trim() ?? '';
    });
  }

  /* ------------------------------------------------------------------------------------------------- Doing */

  get field() {
    return this.page.locator('multihead-lens textarea');
  }

  /** Types a sentence in place of what is there, by keyboard. */
  async type(text: string): Promise<void> {
    await this.field.click();
    await this.page.keyboard.press('ControlOrMeta+A');
    await this.page.keyboard.press('Delete');
    await this.page.keyboard.type(text);
  }

  /** Chooses one of a few values that stand side by side, by the name and value of its field. */
  async choose(field: Field, value: string): Promise<void> {
    await this.page.locator(`multihead-lens label:has(input[name="${field}"][value="${value}"]) span`).click();
  }

  button(name: string) {
    return this.page.getByRole('button', { name, exact: true });
  }

  token(text: string) {
    return this.page.getByRole('group', { name: 'Tokens' }).getByRole('button').filter({ hasText: text });
  }

  /** The middle of a cell of the first map, on the screen. */
  async cell(query: number, key: number): Promise<{ x: number; y: number }> {
    await this.page.locator('mh-heatmap').first().scrollIntoViewIfNeeded();
    return this.page.evaluate(
      ([q, k]) => {
        const root = document.querySelector('multihead-lens')?.heatmaps[0]?.renderRoot;
        const map = root?.querySelector<HTMLElement>('.map') as HTMLElement;
        const { left, top } = map.getBoundingClientRect();
        const side = Number.parseFloat(map.style.getPropertyValue('--cell'));
        return { x: left + (k + 0.5) * side, y: top + (q + 0.5) * side };
      },
      [query, key] as const,
    );
  }
}

/** The sum of a row of a square map. */
export function rowOf(map: readonly number[], row: number, size: number): readonly number[] {
  return map.slice(row * size, (row + 1) * size);
}

export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
