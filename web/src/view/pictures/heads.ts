/**
 * `<mh-heads>`: every head of every layer as a small live map, with its entropy. An accessible grid with one tab stop;
 * heads are its cells, layers its rows.
 *
 * @fires mh-head-select (types.ts)
 */
import { css, html, LitElement, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { emit } from './emit.js';
import { formatNumber } from './format.js';
import { headsKey } from './grid-nav.js';
import { drawHeads, ENTROPY_FONT_SIZE, type HeadsLayout } from './heads-drawing.js';
import { Settled } from './settled.js';
import { pictureStyles, ThemeController, textMeasure } from './theme.js';
import type { EntropyValues, HeadRef, HeadsProperties, Palette, ScaleType, Words } from './types.js';
import { picturesEn, unitName, wordsFrom } from './words.js';

/** What the canvas shows. */
const DRAWN = ['queryCount', 'keyCount', 'attention', 'baseline', 'entropy', 'ablated', 'palette', 'scaleType', 'max'];

export class HeadsElement extends LitElement implements HeadsProperties {
  static override readonly styles = [
    pictureStyles,
    css`
      .grid {
        position: relative;
        display: grid;
        gap: 6px;
      }
      /* Of all heads: see heads-drawing.ts. */
      canvas {
        position: absolute;
        inset: 0 auto auto 0;
        z-index: 1;
        pointer-events: none;
        forced-color-adjust: none;
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
      .picture {
        aspect-ratio: 1;
      }
      .entropy {
        block-size: 10px;
        margin-block-start: 3px;
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
        /* As high as the maps that it lies over, or they would show around it. */
        align-self: stretch;
        display: grid;
        place-items: center;
        padding-inline: 4px;
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
    this.#layout = null;
    this.#draw();
  });
  readonly #settled = new Settled<EntropyValues | null>(this);
  /** Where the heads are; null: to be read from the page. */
  #layout: HeadsLayout | null = null;
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
    const spoken = this.#settled.of(this.entropy);
    return html`<div
      class="grid ${this.layout}"
      role="grid"
      aria-multiselectable="true"
      aria-label=${words('headsLabel', { layers, heads })}
      @keydown=${this.#pressed}
      @click=${this.#clicked}
      @focusin=${this.#focused}
    >
      ${range(layers).map(
        (layer) => html`<div class="layer" role="row">
          <div class="name" role="rowheader" aria-label=${words('layerName', { layer: layer + 1 })}>
            ${words('layerShort', { layer: layer + 1 })}
          </div>
          ${range(heads).map((head) => this.#head({ layer, head }, spoken))}
        </div>`,
      )}
      <canvas aria-hidden="true"></canvas>
    </div>`;
  }

  #head(ref: HeadRef, spoken: EntropyValues | null): TemplateResult {
    const place = this.selected.findIndex((other) => isSame(ref, other));
    const ablated = this.ablated.some((other) => isSame(ref, other));
    const name = this.#name(ref, spoken, ablated);
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
      <div class="picture"></div>
      ${this.entropy ? html`<div class="entropy"></div>` : nothing}
    </div>`;
  }

  #name({ layer, head }: HeadRef, entropy: EntropyValues | null, ablated: boolean): string {
    const { words } = this;
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
    const has = (names: readonly string[]) => names.some((name) => changed.has(name));
    const entropyCame = changed.has('entropy') && !changed.get('entropy') !== !this.entropy;
    if (has(['layers', 'heads', 'layout', 'words']) || entropyCame) this.#layout = null;
    if (this.#layout === null || has(DRAWN)) this.#draw();
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
    const canvas = this.renderRoot.querySelector('canvas');
    if (!canvas || this.queryCount === 0 || this.keyCount === 0) return;
    this.#layout ??= this.#readLayout();
    const { theme } = this.#surroundings;
    drawHeads(canvas, this.#layout, this, theme, textMeasure(`${ENTROPY_FONT_SIZE}px ${theme.font}`));
  }

  #readLayout(): HeadsLayout {
    const grid = this.renderRoot.querySelector('.grid') as HTMLElement;
    const origin = grid.getBoundingClientRect();
    const places = [...grid.querySelectorAll('.head')].map((head) => {
      const map = (head.querySelector('.picture') as Element).getBoundingClientRect();
      const entropy = head.querySelector('.entropy')?.getBoundingClientRect();
      return {
        left: map.left - origin.left + grid.scrollLeft,
        top: map.top - origin.top,
        side: map.width,
        entropyAt: entropy ? entropy.top + entropy.height / 2 - origin.top : 0,
      };
    });
    return {
      places,
      width: Math.max(0, ...places.map(({ left, side }) => left + side)),
      height: Math.max(
        0,
        ...places.map(({ top, side, entropyAt }) => Math.max(top + side, entropyAt + ENTROPY_FONT_SIZE)),
      ),
    };
  }

  readonly #focused = (): void => this.#settled.settle();

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
