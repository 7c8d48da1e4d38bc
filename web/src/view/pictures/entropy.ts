/**
 * `<mh-entropy>`: the entropy of every head, a dot each, by layer, with the mean of each layer. Dots are the options of a
 * list box with one tab stop; the same numbers are in a table for screen readers.
 *
 * @fires mh-head-select (types.ts)
 */
import { axisBottom, axisLeft } from 'd3-axis';
import { type ScaleBand, type ScaleLinear, scaleBand, scaleLinear } from 'd3-scale';
import { select } from 'd3-selection';
import { css, html, LitElement, nothing, svg, type TemplateResult } from 'lit';
import { guard } from 'lit/directives/guard.js';
import { emit } from './emit.js';
import { formatNumber, formatTick } from './format.js';
import { headsKey } from './grid-nav.js';
import { Settled } from './settled.js';
import { pictureStyles, ThemeController } from './theme.js';
import type { EntropyProperties, EntropyValues, HeadRef, Words } from './types.js';
import { picturesEn, unitName, wordsFrom } from './words.js';

const HEIGHT = 220;
const MARGIN = { top: 24, right: 8, bottom: 42, left: 44 };
/** Baselines of the two rows of text below the chart. */
const LAYER_ROW = HEIGHT - 24;
const MEAN_ROW = HEIGHT - 6;
const RADIUS = 5;
/** A click this near to a dot means it: a finger is wider than a dot. */
const REACH = 24;

interface Dot extends HeadRef {
  readonly value: number;
  readonly x: number;
  readonly y: number;
}

/** Where things go; recomputed at every rendering. */
interface Chart {
  readonly width: number;
  readonly across: ScaleBand<number>;
  readonly up: ScaleLinear<number, number>;
  readonly dots: readonly Dot[];
}

export class EntropyElement extends LitElement implements EntropyProperties {
  static override readonly styles = [
    pictureStyles,
    css`
      svg {
        display: block;
        overflow: visible;
        touch-action: manipulation;
      }
      .axis :is(line, path) {
        stroke: var(--line);
      }
      .axis .tick text,
      .title {
        fill: var(--muted);
      }
      .mean line {
        stroke: var(--ink);
        stroke-width: 2;
      }
      .dot {
        fill: color-mix(in srgb, var(--muted) 55%, var(--paper));
        stroke: var(--muted);
        cursor: pointer;
        outline: none;
      }
      .dot.selected {
        fill: color-mix(in srgb, var(--accent) 55%, var(--paper));
        stroke: var(--accent);
        stroke-width: 1.5;
      }
      .dot.first {
        fill: var(--accent);
        stroke: var(--accent);
      }
      .dot.ablated {
        fill: none;
        stroke-dasharray: 2 2;
      }
      .dot:focus-visible,
      .dot.lit {
        stroke: var(--focus);
        stroke-width: 3;
      }
      .note {
        font-weight: 700;
        paint-order: stroke;
        stroke: var(--paper);
        stroke-width: 4px;
        pointer-events: none;
      }
      @media (forced-colors: active) {
        .dot {
          fill: Canvas;
          stroke: CanvasText;
        }
        .dot.selected {
          fill: Highlight;
          stroke: Highlight;
        }
      }
    `,
  ];

  static override readonly properties = {
    layers: { attribute: false },
    heads: { attribute: false },
    entropy: { attribute: false },
    selected: { attribute: false },
    ablated: { attribute: false },
    words: { attribute: false },
  };

  declare layers: number;
  declare heads: number;
  declare entropy: EntropyValues | null;
  declare selected: readonly HeadRef[];
  declare ablated: readonly HeadRef[];
  declare words: Words;

  /** The dot under the pointer or the focus. */
  #lit: HeadRef | null = null;
  #at: HeadRef | null = null;
  #chart: Chart | null = null;
  /** What the axes were drawn for: they stay while one types, except for the maximum. */
  #axes = '';

  readonly #surroundings = new ThemeController(this, () => this.requestUpdate());
  readonly #settled = new Settled<EntropyValues>(this);

  constructor() {
    super();
    this.layers = 0;
    this.heads = 0;
    this.entropy = null;
    this.selected = [];
    this.ablated = [];
    this.words = wordsFrom(picturesEn);
  }

  protected override render(): TemplateResult {
    const { layers, heads, entropy, words } = this;
    if (!entropy || layers === 0) {
      this.#axes = '';
      return html``;
    }
    if (entropy.values.length !== layers * heads) {
      const sizes = `${layers} layers × ${heads} heads`;
      throw new RangeError(`<mh-entropy>: ${entropy.values.length} entropies for ${sizes}`);
    }
    const unit = unitName(entropy.unit, words);
    const spoken = this.#settled.of(entropy);
    const chart = chartOf(this.#surroundings.width || 320, layers, heads, entropy);
    this.#chart = chart;
    // Focus is heard of around the SVG: an element inside that listens to it would be a tab stop itself.
    return html`<div @focusin=${this.#focused} @focusout=${() => this.#light(null)}><svg
        width=${chart.width}
        height=${HEIGHT}
        @pointermove=${this.#pointed}
        @pointerleave=${() => this.#light(null)}
        @click=${this.#clicked}
      >
        <g class="axis x" aria-hidden="true"></g>
        <g class="axis y" aria-hidden="true"></g>
        <text class="title" x="0" y="10" aria-hidden="true">${words('entropyAxis', { unit })}</text>
        <text class="title" x="0" y=${LAYER_ROW} aria-hidden="true">${words('entropyLayerAxis')}</text>
        <text class="title" x="0" y=${MEAN_ROW} aria-hidden="true">${words('entropyMean')}</text>
        <g aria-hidden="true">${range(layers).map((layer) => this.#mean(layer, chart))}</g>
        <g
          role="listbox"
          aria-multiselectable="true"
          aria-label=${words('entropyLabel', { unit })}
          @keydown=${this.#pressed}
        >
          ${chart.dots.map((dot, index) => this.#dot(dot, spoken.values[index] ?? dot.value, unitName(spoken.unit, words)))}
        </g>
        ${this.#note(chart)}
      </svg></div>
      ${guard([spoken, layers, heads, words], () => this.#table(spoken))}`;
  }

  #mean(layer: number, { across, up, dots }: Chart): TemplateResult {
    const value = mean(dots.filter((dot) => dot.layer === layer).map((dot) => dot.value));
    const x = across(layer) as number;
    return svg`<g class="mean">
      <line x1=${x} x2=${x + across.bandwidth()} y1=${up(value)} y2=${up(value)}></line>
      <text x=${x + across.bandwidth() / 2} y=${MEAN_ROW} text-anchor="middle">${formatNumber(value)}</text>
    </g>`;
  }

  /** `spoken` is the value in its name. */
  #dot(dot: Dot, spoken: number, unit: string): TemplateResult {
    const place = this.selected.findIndex((other) => isSame(dot, other));
    const marks = {
      selected: place >= 0,
      first: place === 0,
      ablated: this.ablated.some((other) => isSame(dot, other)),
      lit: isSame(dot, this.#lit),
    };
    const names = Object.entries(marks).filter(([, on]) => on);
    const name = this.words('headEntropyName', {
      layer: dot.layer + 1,
      head: dot.head + 1,
      entropy: formatNumber(spoken),
      unit,
    });
    return svg`<circle
      class=${['dot', ...names.map(([mark]) => mark)].join(' ')}
      role="option"
      aria-selected=${place >= 0}
      aria-label=${marks.ablated ? this.words('headAblatedName', { name }) : name}
      tabindex=${isSame(dot, this.#tabStop) ? 0 : -1}
      data-layer=${dot.layer}
      data-head=${dot.head}
      cx=${dot.x}
      cy=${dot.y}
      r=${RADIUS}
    ></circle>`;
  }

  /** The name and number of the dot that is pointed at. */
  #note({ dots, width }: Chart): TemplateResult | typeof nothing {
    const dot = dots.find((candidate) => isSame(candidate, this.#lit));
    if (!dot) return nothing;
    const anchor = dot.x < width / 2 ? 'start' : 'end';
    const x = dot.x + (anchor === 'start' ? RADIUS + 4 : -RADIUS - 4);
    const text = `${this.words('entropyHead', { head: dot.head + 1 })} · ${formatNumber(dot.value)}`;
    return svg`<text class="note" aria-hidden="true" x=${x} y=${dot.y} dy=".35em" text-anchor=${anchor}>${text}</text>`;
  }

  #table(entropy: EntropyValues): TemplateResult {
    const { layers, heads, words } = this;
    const unit = unitName(entropy.unit, words);
    const rows = range(layers).map((layer) => [...entropy.values.subarray(layer * heads, (layer + 1) * heads)]);
    return html`<table class="hidden-words">
      <caption>${words('entropyLabel', { unit })}</caption>
      <thead>
        <tr>
          <th scope="col">${words('entropyLayerAxis')}</th>
          ${range(heads).map((head) => html`<th scope="col">${words('entropyHead', { head: head + 1 })}</th>`)}
          <th scope="col">${words('entropyMean')}</th>
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (values, layer) => html`<tr>
            <th scope="row">${words('layerName', { layer: layer + 1 })}</th>
            ${values.map((value) => html`<td>${formatNumber(value)}</td>`)}
            <td>${formatNumber(mean(values))}</td>
          </tr>`,
        )}
      </tbody>
    </table>`;
  }

  protected override updated(): void {
    const chart = this.#chart;
    if (!chart || !this.entropy) return;
    const axes = [chart.width, this.layers, this.entropy.max].join();
    if (axes === this.#axes) return;
    this.#axes = axes;
    const root = select(this.renderRoot.querySelector('svg'));
    root
      .select<SVGGElement>('.axis.x')
      .attr('transform', `translate(0 ${HEIGHT - MARGIN.bottom})`)
      .call(
        axisBottom(chart.across)
          .tickSize(0)
          .tickPadding(9)
          .tickFormat((layer) => String(layer + 1)),
      );
    root
      .select<SVGGElement>('.axis.y')
      .attr('transform', `translate(${MARGIN.left} 0)`)
      .call(
        axisLeft(chart.up)
          .ticks(4)
          .tickSize(-(chart.width - MARGIN.left - MARGIN.right))
          .tickFormat((value) => formatTick(Number(value))),
      )
      .call((axis) => axis.select('.domain').remove());
    root.selectAll('.axis').attr('font-size', null).attr('font-family', null);
  }

  get #tabStop(): HeadRef {
    return this.#at ?? this.selected[0] ?? { layer: 0, head: 0 };
  }

  #light(ref: HeadRef | null): void {
    if (isSame(this.#lit, ref) || (!this.#lit && !ref)) return;
    this.#lit = ref;
    this.requestUpdate();
  }

  readonly #pointed = (event: PointerEvent): void => this.#light(this.#nearest(event));

  readonly #clicked = (event: MouseEvent): void => {
    const dot = this.#nearest(event);
    if (dot) this.#select(dot, event.shiftKey || event.ctrlKey || event.metaKey);
  };

  #nearest({ clientX, clientY }: MouseEvent): HeadRef | null {
    const rect = this.renderRoot.querySelector('svg')?.getBoundingClientRect();
    if (!rect || !this.#chart) return null;
    let best: { dot: Dot; distance: number } | null = null;
    for (const dot of this.#chart.dots) {
      const distance = Math.hypot(dot.x - (clientX - rect.left), dot.y - (clientY - rect.top));
      if (distance <= REACH && distance < (best?.distance ?? Number.POSITIVE_INFINITY)) best = { dot, distance };
    }
    return best && { layer: best.dot.layer, head: best.dot.head };
  }

  #select({ layer, head }: HeadRef, add: boolean): void {
    this.#at = { layer, head };
    this.requestUpdate();
    emit(this, 'mh-head-select', { layer, head, add });
  }

  readonly #focused = (event: FocusEvent): void => {
    this.#settled.settle();
    const { layer, head } = (event.target as SVGElement).dataset;
    this.#light({ layer: Number(layer), head: Number(head) });
  };

  readonly #pressed = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      this.#select(this.#tabStop, event.shiftKey || event.ctrlKey || event.metaKey);
      return;
    }
    // Layers stand side by side here, as in a strip.
    const to = headsKey(this.#tabStop, event, { layers: this.layers, heads: this.heads, layout: 'strip' });
    if (!to) return;
    event.preventDefault();
    this.#at = to;
    this.requestUpdate();
    const selector = `[data-layer="${to.layer}"][data-head="${to.head}"]`;
    void this.updateComplete.then(() => this.renderRoot.querySelector<SVGElement>(selector)?.focus());
  };
}

function chartOf(width: number, layers: number, heads: number, { values, max }: EntropyValues): Chart {
  const across = scaleBand(range(layers), [MARGIN.left, width - MARGIN.right])
    .paddingInner(0.15)
    .paddingOuter(0.1);
  const up = scaleLinear([0, max || 1], [HEIGHT - MARGIN.bottom, MARGIN.top]);
  const dots = range(layers * heads).map((index) => {
    const [layer, head] = [Math.floor(index / heads), index % heads];
    const value = values[index] as number;
    return {
      layer,
      head,
      value,
      x: (across(layer) as number) + ((head + 0.5) / heads) * across.bandwidth(),
      y: up(value),
    };
  });
  return { width, across, up, dots };
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

const range = (count: number) => Array.from({ length: count }, (_, i) => i);

const isSame = (a: HeadRef | null, b: HeadRef | null) =>
  a !== null && b !== null && a.layer === b.layer && a.head === b.head;
