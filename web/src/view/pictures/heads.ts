/**
 * `<mh-heads>`: every head of every layer as a small live map, with its entropy. An accessible grid with one tab stop;
 * heads are its cells, layers its rows.
 *
 * @fires mh-head-select (types.ts)
 */
import { css, html, LitElement, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { type ColourScale, colourScale, differenceMax, roundMax } from './colour.js';
import { emit } from './emit.js';
import { formatNumber } from './format.js';
import { headsKey } from './grid-nav.js';
import { cellPixels, putPixels } from './map-pixels.js';
import { pictureStyles, ThemeController } from './theme.js';
import type { EntropyValues, HeadRef, HeadsProperties, Palette, ScaleType, Words } from './types.js';
import { picturesEn, unitName, wordsFrom } from './words.js';

/** With fewer device pixels a cell, squares of uneven size would show: then the browser smooths. */
const CRISP_FROM = 3;

export class HeadsElement extends LitElement implements HeadsProperties {
  static override readonly styles = [
    pictureStyles,
    css`
      .grid {
        display: grid;
        gap: 6px;
      }
      .layer {
        display: flex;
        align-items: stretch;
        gap: 4px;
      }
      .name {
        flex: none;
        min-inline-size: 28px;
        align-self: center;
        color: var(--muted);
        white-space: nowrap;
      }
      .head {
        position: relative;
        flex: 1 1 0;
        min-inline-size: 44px;
        max-inline-size: var(--mh-thumbnail-max, 88px);
        padding: 4px;
        border-radius: 4px;
        cursor: pointer;
        touch-action: manipulation;
        user-select: none;
        -webkit-user-select: none;
      }
      .head:hover {
        background: color-mix(in srgb, var(--ink) 8%, var(--paper));
      }
      .head[aria-selected="true"] {
        outline: 2px solid color-mix(in srgb, var(--accent) 60%, var(--paper));
        outline-offset: -1px;
      }
      .head.first {
        outline: 3px solid var(--accent);
        background: color-mix(in srgb, var(--accent) 14%, var(--paper));
      }
      .head:focus-visible {
        box-shadow: 0 0 0 2px var(--paper), 0 0 0 4px var(--focus);
        z-index: 1;
      }
      canvas {
        display: block;
        inline-size: 100%;
        aspect-ratio: 1;
        forced-color-adjust: none;
      }
      .ablated canvas {
        opacity: 0.35;
      }
      .ablated .picture::after {
        content: "";
        position: absolute;
        inset: 0;
        background: linear-gradient(
          to bottom right,
          transparent calc(50% - 1.5px),
          var(--ink) calc(50% - 1.5px) calc(50% + 1.5px),
          transparent calc(50% + 1.5px)
        );
        forced-color-adjust: none;
      }
      .picture {
        position: relative;
      }
      .entropy {
        display: flex;
        align-items: center;
        gap: 4px;
        margin-block-start: 3px;
        font-size: 10px;
        line-height: 1;
        color: var(--muted);
      }
      .track {
        flex: 1;
        block-size: 4px;
        background: color-mix(in srgb, var(--line) 50%, var(--paper));
      }
      .bar {
        block-size: 100%;
        background: var(--muted);
        forced-color-adjust: none;
      }
      .number {
        color: var(--ink);
      }
      .ablated .number {
        text-decoration: line-through;
      }

      .grid.strip {
        display: flex;
        gap: 12px;
        overflow-x: auto;
        scrollbar-width: thin;
        padding: 4px;
        scroll-padding-inline: 12px;
      }
      .strip .layer {
        flex: none;
      }
      .strip .head {
        flex: none;
        inline-size: 56px;
      }
      .strip .name {
        position: sticky;
        left: 0;
        z-index: 2;
        padding-inline: 2px;
        background: var(--paper);
        min-inline-size: 0;
      }
      @media (forced-colors: active) {
        .head[aria-selected="true"] {
          outline-color: Highlight;
        }
        .head.first {
          outline-style: double;
          outline-width: 4px;
        }
        .bar {
          background: CanvasText;
        }
      }
    `,
  ];

  static override readonly properties = {
    layers: { attribute: false },
    heads: { attribute: false },
    queryCount: { attribute: false },
    keyCount: { attribute: false },
    attention: { attribute: false },
    baseline: { attribute: false },
    entropy: { attribute: false },
    selected: { attribute: false },
    ablated: { attribute: false },
    palette: { attribute: false },
    scaleType: { attribute: false },
    max: { attribute: false },
    layout: { attribute: false },
    adding: { attribute: false },
    words: { attribute: false },
  };

  declare layers: number;
  declare heads: number;
  declare queryCount: number;
  declare keyCount: number;
  declare attention: Float32Array;
  declare baseline: Float32Array | null;
  declare entropy: EntropyValues | null;
  declare selected: readonly HeadRef[];
  declare ablated: readonly HeadRef[];
  declare palette: Palette;
  declare scaleType: ScaleType;
  declare max: number | null;
  declare layout: 'grid' | 'strip';
  declare adding: boolean;
  declare words: Words;

  readonly #surroundings = new ThemeController(this, () => {
    this.#side = 0;
    this.#draw();
  });
  /** Device pixels a side of a thumbnail; 0: not known yet. */
  #side = 0;
  /** The one tab stop; null: the first selected head. */
  #at: HeadRef | null = null;

  constructor() {
    super();
    this.layers = 0;
    this.heads = 0;
    this.queryCount = 0;
    this.keyCount = 0;
    this.attention = new Float32Array(0);
    this.baseline = null;
    this.entropy = null;
    this.selected = [];
    this.ablated = [];
    this.palette = 'cividis';
    this.scaleType = 'linear';
    this.max = null;
    this.layout = 'grid';
    this.adding = false;
    this.words = wordsFrom(picturesEn);
  }

  protected override willUpdate(): void {
    const { layers, heads, queryCount, keyCount, baseline } = this;
    const expected = layers * heads * queryCount * keyCount;
    for (const [name, array] of Object.entries({ attention: this.attention, baseline })) {
      if (!array || array.length === expected) continue;
      const sizes = `${layers} layers × ${heads} heads × ${queryCount} queries × ${keyCount} keys`;
      throw new RangeError(`<mh-heads>: ${name} has ${array.length} numbers, but ${sizes} need ${expected}`);
    }
    if (this.#at && (this.#at.layer >= layers || this.#at.head >= heads)) this.#at = null;
  }

  protected override render(): TemplateResult {
    const { layers, heads, words } = this;
    if (layers === 0) return html``;
    return html`<div
      class="grid ${this.layout}"
      role="grid"
      aria-multiselectable="true"
      aria-label=${words('headsLabel', { layers, heads })}
      @keydown=${this.#pressed}
      @click=${this.#clicked}
    >
      ${range(layers).map(
        (layer) => html`<div class="layer" role="row">
          <div class="name" role="rowheader" aria-label=${words('layerName', { layer: layer + 1 })}>
            ${words('layerShort', { layer: layer + 1 })}
          </div>
          ${range(heads).map((head) => this.#head({ layer, head }))}
        </div>`,
      )}
    </div>`;
  }

  #head(ref: HeadRef): TemplateResult {
    const place = this.selected.findIndex((other) => isSame(ref, other));
    const ablated = this.ablated.some((other) => isSame(ref, other));
    const name = this.#name(ref, ablated);
    const classes = `head${place === 0 ? ' first' : ''}${ablated ? ' ablated' : ''}`;
    return html`<div
      class=${classes}
      role="gridcell"
      aria-selected=${place >= 0}
      aria-label=${name}
      title=${name}
      tabindex=${isSame(ref, this.#tabStop) ? 0 : -1}
      data-layer=${ref.layer}
      data-head=${ref.head}
    >
      <div class="picture"><canvas aria-hidden="true"></canvas></div>
      ${this.#entropyBar(ref)}
    </div>`;
  }

  #entropyBar({ layer, head }: HeadRef): TemplateResult | typeof nothing {
    const { entropy } = this;
    if (!entropy) return nothing;
    const value = entropy.values[layer * this.heads + head] as number;
    const share = entropy.max > 0 ? Math.min(1, Math.max(0, value / entropy.max)) : 0;
    return html`<div class="entropy" aria-hidden="true">
      <div class="track"><div class="bar" style="inline-size:${(share * 100).toFixed(1)}%"></div></div>
      <span class="number">${formatNumber(value)}</span>
    </div>`;
  }

  #name({ layer, head }: HeadRef, ablated: boolean): string {
    const { entropy, words } = this;
    const values = { layer: layer + 1, head: head + 1 };
    const name = entropy
      ? words('headEntropyName', {
          ...values,
          entropy: formatNumber(entropy.values[layer * this.heads + head] as number),
          unit: unitName(entropy.unit, words),
        })
      : words('headName', values);
    return ablated ? words('headAblatedName', { name }) : name;
  }

  get #tabStop(): HeadRef {
    return this.#at ?? this.selected[0] ?? { layer: 0, head: 0 };
  }

  protected override updated(changed: PropertyValues): void {
    const drawn = ['layers', 'heads', 'queryCount', 'keyCount', 'attention', 'baseline', 'palette', 'scaleType', 'max'];
    if (['layers', 'heads', 'layout'].some((name) => changed.has(name))) this.#side = 0;
    if (drawn.some((name) => changed.has(name))) this.#draw();
    if (this.layout === 'strip' && (changed.has('selected') || changed.has('layout'))) this.#showSelected();
  }

  /** Scrolls a strip, and only it, so that the first selected head is in view. */
  #showSelected(): void {
    const [first, strip] = [this.selected[0], this.renderRoot.querySelector<HTMLElement>('.strip')];
    const head = first && this.#element(first);
    if (!head || !strip) return;
    const { left, right } = strip.getBoundingClientRect();
    const place = head.getBoundingClientRect();
    if (place.left < left || place.right > right) {
      strip.scrollLeft += (place.left + place.right - left - right) / 2;
    }
  }

  #draw(): void {
    const { theme } = this.#surroundings.theme;
    const { queryCount, keyCount } = this;
    if (queryCount === 0 || keyCount === 0) return;
    const canvases = [...this.renderRoot.querySelectorAll('canvas')];
    this.#side ||= (canvases[0]?.clientWidth ?? 0) * devicePixelRatio;
    const side = this.#side || 48;
    // More cells than pixels: a pixel shows the largest of several, or thin lines would be lost.
    const bin = Math.ceil(Math.max(queryCount, keyCount) / side);
    const columns = Math.ceil(keyCount / bin);
    const rows = Math.ceil(queryCount / bin);
    const rendering = side / Math.max(columns, rows) >= CRISP_FROM ? 'pixelated' : 'auto';
    const window = { queryFrom: 0, queryTo: queryCount, keyFrom: 0, keyTo: keyCount };
    const shared = this.#sharedScale(theme);
    for (const [index, canvas] of canvases.entries()) {
      const offset = index * queryCount * keyCount;
      const source = { weights: this.attention, baseline: this.baseline, visible: null, keyCount, offset };
      const scale = shared ?? this.#ownScale(offset, theme);
      canvas.style.imageRendering = rendering;
      if (canvas.width !== columns) canvas.width = columns;
      if (canvas.height !== rows) canvas.height = rows;
      putPixels(canvas, cellPixels(source, scale, window, bin), columns, rows);
    }
  }

  /** One scale for all heads; null: each its own. Differences always share one, or noise would look like change. */
  #sharedScale(theme: 'light' | 'dark'): ColourScale | null {
    const { palette, scaleType: type, baseline, max } = this;
    if (baseline) {
      return colourScale({ kind: 'diverging', max: differenceMax(this.attention, baseline), palette, type, theme });
    }
    return max === null ? null : colourScale({ kind: 'sequential', max, palette, type, theme });
  }

  #ownScale(offset: number, theme: 'light' | 'dark'): ColourScale {
    let max = 0;
    for (let i = offset; i < offset + this.queryCount * this.keyCount; i++) {
      if ((this.attention[i] as number) > max) max = this.attention[i] as number;
    }
    return colourScale({ kind: 'sequential', max: roundMax(max), palette: this.palette, type: this.scaleType, theme });
  }

  readonly #clicked = (event: MouseEvent): void => {
    const ref = headOf(event.target);
    if (ref) this.#select(ref, event.shiftKey || event.ctrlKey || event.metaKey || this.adding);
  };

  #select(ref: HeadRef, add: boolean): void {
    this.#at = ref;
    this.requestUpdate();
    emit(this, 'mh-head-select', { ...ref, add });
  }

  readonly #pressed = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      this.#select(this.#tabStop, event.shiftKey || event.ctrlKey || event.metaKey || this.adding);
      return;
    }
    const to = headsKey(this.#tabStop, event, this);
    if (!to) return;
    event.preventDefault();
    this.#at = to;
    this.requestUpdate();
    void this.updateComplete.then(() => this.#element(to)?.focus());
  };

  #element({ layer, head }: HeadRef): HTMLElement | null {
    return this.renderRoot.querySelector(`[data-layer="${layer}"][data-head="${head}"]`);
  }
}

const range = (count: number) => Array.from({ length: count }, (_, i) => i);

const isSame = (a: HeadRef, b: HeadRef) => a.layer === b.layer && a.head === b.head;

function headOf(target: EventTarget | null): HeadRef | null {
  const { layer, head } = (target as Element | null)?.closest<HTMLElement>('.head')?.dataset ?? {};
  return layer === undefined || head === undefined ? null : { layer: Number(layer), head: Number(head) };
}
