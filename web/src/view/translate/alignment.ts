/**
 * `<mh-alignment>`: two lines of tokens, and a link for each weight between them, as wide as the weight is large. Tokens
 * are HTML, so that they wrap, are read and are focused as text; the links are SVG between where the browser put them.
 *
 * @fires mh-cell, mh-query (pictures/types.ts)
 */
import { css, html, LitElement, nothing, type PropertyValues, render, svg, type TemplateResult } from 'lit';
import { emit } from '../pictures/emit.js';
import { formatWeight } from '../pictures/format.js';
import { pictureStyles } from '../pictures/theme.js';
import { tokenText } from '../pictures/token-text.js';
import type { PictureToken, Words } from '../pictures/types.js';
import { picturesEn, wordsFrom } from '../pictures/words.js';

/** A token here may say whether it begins a word; without, it does. */
export interface AlignedToken extends PictureToken {
  readonly wordStart?: boolean;
}

/** Smaller weights have no link: they would be a haze. */
export const leastLinked = 0.04;
/** Width of a link of weight 1, in pixels. */
const widest = 14;
/** Keys with such a weight carry its number. */
const numbered = 0.1;

interface Point {
  readonly x: number;
  readonly y: number;
}

export class AlignmentElement extends LitElement {
  static override readonly styles = [
    pictureStyles,
    css`
      .scroller {
        position: relative;
        overflow-x: auto;
        scrollbar-width: thin;
        padding: 2px;
      }
      .lines {
        position: relative;
        display: grid;
        grid-template-rows: auto var(--mh-link-length, 104px) auto;
        justify-content: safe center;
        min-inline-size: max-content;
      }
      .line {
        display: flex;
        justify-content: center;
        gap: 4px;
        margin: 0;
        padding: 0;
        list-style: none;
        font-size: calc(15px * var(--mh-size, 1));
      }
      .queries {
        grid-row: 3;
      }
      svg {
        position: absolute;
        inset: 0;
        inline-size: 100%;
        block-size: 100%;
        overflow: visible;
        pointer-events: none;
      }
      path {
        fill: none;
        stroke: var(--mh-data, currentColor);
        stroke-opacity: 0.55;
        forced-color-adjust: none;
      }
      path.rest {
        stroke-opacity: 0.14;
      }
      path.lit {
        stroke: var(--accent);
        stroke-opacity: 0.8;
      }
      .token {
        display: grid;
        min-inline-size: 30px;
        padding: 3px 7px;
        border: 1px solid transparent;
        border-radius: 4px;
        background: color-mix(in srgb, var(--mh-data, var(--ink)) calc(var(--share, 0) * 45%), var(--mh-soft, var(--paper)));
        color: inherit;
        font: inherit;
        text-align: center;
        white-space: pre;
      }
      button.token {
        min-block-size: 28px;
        cursor: pointer;
      }
      button.token:hover {
        border-color: var(--muted);
      }
      button.token:focus-visible {
        outline: 2px solid var(--focus);
        outline-offset: 1px;
      }
      .token.special {
        color: var(--muted);
      }
      .token.joined {
        margin-inline-start: -4px;
        border-start-start-radius: 0;
        border-end-start-radius: 0;
      }
      .token.lit {
        background: var(--accent);
        color: var(--mh-on-accent, var(--paper));
      }
      .key {
        position: relative;
        padding-block-start: 16px;
        background: none;
      }
      .key b {
        position: absolute;
        inset: 0 0 auto;
        font-size: calc(11px * var(--mh-size, 1));
        line-height: 15px;
      }
      .key .token {
        inline-size: 100%;
      }
      @container (max-width: 620px) {
        .lines {
          grid-template: auto / max-content minmax(64px, 1fr) max-content;
          justify-content: stretch;
          min-inline-size: 0;
        }
        .line {
          flex-direction: column;
          justify-content: start;
        }
        .queries {
          grid-area: 1 / 3;
        }
        .token.joined {
          margin-inline-start: 0;
          margin-block-start: -4px;
          border-radius: 0 0 4px 4px;
        }
        .token {
          max-inline-size: 36cqi;
          overflow: hidden;
          text-overflow: ellipsis;
        }
        .key {
          display: flex;
          align-items: center;
          gap: 4px;
          padding: 0;
        }
        .key b {
          position: static;
          order: 1;
          min-inline-size: 2.2em;
        }
        .key .token {
          flex: 1;
        }
        button.token {
          min-block-size: 32px;
        }
        .key .token {
          min-block-size: 32px;
          align-content: center;
        }
      }
      @media (forced-colors: active) {
        path {
          stroke: CanvasText;
        }
        path.lit {
          stroke: Highlight;
        }
        .token.lit {
          outline: 2px solid Highlight;
        }
      }
    `,
  ];

  static override readonly properties = {
    queries: { attribute: false },
    keys: { attribute: false },
    weights: { attribute: false },
    lit: { attribute: false },
    selected: { attribute: false },
    queriesLabel: { attribute: false },
    keysLabel: { attribute: false },
    words: { attribute: false },
  };

  /** T tokens that look, below or to the right. */
  declare queries: readonly AlignedToken[];
  /** S tokens that are looked at. */
  declare keys: readonly AlignedToken[];
  /** [T, S] */
  declare weights: Float32Array;
  /** The query whose links stand out. */
  declare lit: number | null;
  /** The query that was chosen. */
  declare selected: number | null;
  declare queriesLabel: string;
  declare keysLabel: string;
  declare words: Words;

  #observer: ResizeObserver | undefined;

  constructor() {
    super();
    this.queries = [];
    this.keys = [];
    this.weights = new Float32Array(0);
    this.lit = null;
    this.selected = null;
    this.queriesLabel = '';
    this.keysLabel = '';
    this.words = wordsFrom(picturesEn);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#observer = new ResizeObserver(() => this.#link());
    this.#observer.observe(this);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#observer?.disconnect();
  }

  protected override willUpdate(): void {
    const expected = this.queries.length * this.keys.length;
    if (this.weights.length === expected) return;
    throw new RangeError(`<mh-alignment>: there are ${this.weights.length} weights, there must be ${expected}`);
  }

  protected override render(): TemplateResult {
    return html`<div class="scroller">
      <div class="lines" @pointerleave=${this.#leave} @focusout=${this.#leave}>
        <svg aria-hidden="true"></svg>
        <ol class="line keys" aria-label=${this.keysLabel}>
          ${this.keys.map((token, key) => this.#key(token, key))}
        </ol>
        <div class="line queries" role="group" aria-label=${this.queriesLabel} @keydown=${walk}>
          ${this.queries.map((token, query) => this.#query(token, query))}
        </div>
      </div>
    </div>`;
  }

  #weight(query: number, key: number): number {
    return this.weights[query * this.keys.length + key] ?? 0;
  }

  #key(token: AlignedToken, key: number): TemplateResult {
    const weight = this.lit === null ? 0 : this.#weight(this.lit, key);
    return html`<li class="key" style="--share: ${weight.toFixed(3)}">
      <b aria-hidden="true">${weight >= numbered ? formatWeight(weight) : nothing}</b>
      <span class=${classesOf(token)}>${tokenText(token)}</span>
    </li>`;
  }

  #query(token: AlignedToken, query: number): TemplateResult {
    const classes = `${classesOf(token)}${query === this.lit ? ' lit' : ''}`;
    return html`<button
      type="button"
      class=${classes}
      aria-pressed=${query === this.selected}
      aria-label=${this.#spoken(token, query)}
      tabindex=${query === (this.selected ?? this.queries.length - 1) ? 0 : -1}
      @pointerenter=${() => this.#point(query)}
      @focus=${() => this.#point(query)}
      @click=${() => emit(this, 'mh-query', { query: query === this.selected ? null : query })}
    >${tokenText(token)}</button>`;
  }

  /** The token, and the few it looks at most. */
  #spoken(token: AlignedToken, query: number): string {
    const parts = this.keys
      .map((key, place) => ({ text: tokenText(key), weight: this.#weight(query, place) }))
      .sort((a, b) => b.weight - a.weight)
      .slice(0, 3)
      .filter(({ weight }) => weight >= numbered)
      .map(({ text, weight }) => this.words('barsTokenName', { text, weight: formatWeight(weight) }));
    return [tokenText(token), ...parts].join(', ');
  }

  readonly #leave = (): void => emit(this, 'mh-cell', null);

  #point(query: number): void {
    const row = this.weights.subarray(query * this.keys.length, (query + 1) * this.keys.length);
    emit(this, 'mh-cell', { query, key: row.indexOf(Math.max(...row)) });
  }

  protected override updated(changed: PropertyValues): void {
    this.#link();
    if (changed.has('lit') || changed.has('queries')) this.#showLit();
  }

  /** Draws the links between where the tokens are. */
  #link(): void {
    const drawing = this.renderRoot.querySelector('svg');
    const lines = this.renderRoot.querySelector('.lines');
    if (!drawing || !lines) return;
    const origin = lines.getBoundingClientRect();
    const boxes = (selector: string) =>
      [...lines.querySelectorAll(selector)].map((element) => element.getBoundingClientRect());
    const [keys, queries] = [boxes('.key .token'), boxes('.queries .token')];
    // Beside each other on a narrow page, else below each other.
    const beside = (queries[0]?.top ?? 0) < (keys[0]?.bottom ?? 0);
    const from = queries.map((box) => (beside ? side(box, 'left', origin) : side(box, 'top', origin)));
    const to = keys.map((box) => (beside ? side(box, 'right', origin) : side(box, 'bottom', origin)));
    render(svg`${this.#links(from, to, beside)}`, drawing as unknown as HTMLElement);
  }

  #links(from: readonly Point[], to: readonly Point[], beside: boolean): readonly TemplateResult[] {
    const links = from.flatMap((start, query) =>
      to.map((end, key) => ({ start, end, query, weight: this.#weight(query, key) })),
    );
    return (
      links
        .filter(({ weight }) => weight >= leastLinked)
        // What stands out is drawn over the others.
        .sort((a, b) => Number(a.query === this.lit) - Number(b.query === this.lit))
        .map(
          ({ start, end, query, weight }) =>
            svg`<path class=${this.#classOf(query)} d=${curve(start, end, beside)} stroke-width=${(weight * widest).toFixed(1)} />`,
        )
    );
  }

  #classOf(query: number): string {
    if (this.lit === null) return '';
    return query === this.lit ? 'lit' : 'rest';
  }

  /** Scrolls the lines, and only them, so that the token which stands out is in view. */
  #showLit(): void {
    const scroller = this.renderRoot.querySelector('.scroller');
    const token = this.renderRoot.querySelectorAll('.queries .token')[this.lit ?? this.queries.length - 1];
    if (!scroller || !token || scroller.scrollWidth <= scroller.clientWidth) return;
    const [view, place] = [scroller.getBoundingClientRect(), token.getBoundingClientRect()];
    if (place.left < view.left || place.right > view.right)
      scroller.scrollLeft += (place.left + place.right - view.left - view.right) / 2;
  }
}

const classesOf = ({ special, wordStart }: AlignedToken): string =>
  ['token', special ? 'special' : '', special || (wordStart ?? true) ? '' : 'joined'].filter(Boolean).join(' ');

/** The middle of a side of a box. */
function side(box: DOMRect, which: 'left' | 'right' | 'top' | 'bottom', origin: DOMRect): Point {
  const along = which === 'left' || which === 'right';
  return {
    x: (along ? box[which] : (box.left + box.right) / 2) - origin.left,
    y: (along ? (box.top + box.bottom) / 2 : box[which]) - origin.top,
  };
}

/** Leaves both ends straight. */
function curve(start: Point, end: Point, beside: boolean): string {
  const middle = beside ? (start.x + end.x) / 2 : (start.y + end.y) / 2;
  const [first, second] = beside
    ? [`${middle} ${start.y}`, `${middle} ${end.y}`]
    : [`${start.x} ${middle}`, `${end.x} ${middle}`];
  return `M${start.x} ${start.y}C${first} ${second} ${end.x} ${end.y}`;
}

/** Arrow keys go from token to token. */
function walk(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const tokens = [...(event.currentTarget as HTMLElement).querySelectorAll('button')];
  const at = tokens.indexOf(event.target as HTMLButtonElement);
  const moves: Readonly<Record<string, number>> = {
    ArrowLeft: at - 1,
    ArrowUp: at - 1,
    ArrowRight: at + 1,
    ArrowDown: at + 1,
    Home: 0,
    End: tokens.length - 1,
  };
  const to = moves[event.key];
  const next = to === undefined ? undefined : tokens[to];
  if (!next) return;
  event.preventDefault();
  next.focus();
}
