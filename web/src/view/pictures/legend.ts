/** `<mh-legend>`: the colour scale of the maps with its ticks, and what hatching means. */
import { axisBottom } from 'd3-axis';
import { scaleLinear, scaleLog } from 'd3-scale';
import { select } from 'd3-selection';
import { css, html, LitElement, nothing, type TemplateResult } from 'lit';
import { type ColourScale, colourScale, LOG_DECADES, LUT_SIZE, pixelToCss, type ScaleKind } from './colour.js';
import { formatTick } from './format.js';
import { fillHatch } from './map-pixels.js';
import { type PictureTheme, pictureStyles, ThemeController } from './theme.js';
import type { LegendProperties, Palette, ScaleType, Words } from './types.js';
import { picturesEn, wordsFrom } from './words.js';

const WIDTH = 180;
/** Room for half a tick label beside the scale. */
const INSET = 14;
const SWATCH = { width: 22, height: 12 };

export class LegendElement extends LitElement implements LegendProperties {
  static override readonly styles = [
    pictureStyles,
    css`
      .legend {
        display: flex;
        flex-wrap: wrap;
        align-items: flex-start;
        gap: 4px 16px;
      }
      .scale {
        inline-size: ${WIDTH + 2 * INSET}px;
      }
      .name {
        padding-inline: ${INSET}px;
        color: var(--muted);
      }
      .bar {
        block-size: ${SWATCH.height}px;
        margin-inline: ${INSET}px;
        outline: 1px solid var(--line);
        forced-color-adjust: none;
      }
      svg {
        display: block;
        overflow: visible;
      }
      .tick line {
        stroke: var(--muted);
      }
      .masked {
        display: flex;
        align-items: center;
        gap: 6px;
        padding-block-start: 16px;
        color: var(--muted);
      }
      canvas {
        outline: 1px solid var(--line);
        inline-size: ${SWATCH.width}px;
        block-size: ${SWATCH.height}px;
      }
    `,
  ];

  static override readonly properties = {
    kind: { attribute: false },
    max: { attribute: false },
    palette: { attribute: false },
    scaleType: { attribute: false },
    masked: { attribute: false },
    words: { attribute: false },
  };

  declare kind: ScaleKind;
  declare max: number;
  declare palette: Palette;
  declare scaleType: ScaleType;
  declare masked: boolean;
  declare words: Words;

  readonly #surroundings = new ThemeController(this, () => this.requestUpdate());

  constructor() {
    super();
    this.kind = 'sequential';
    this.max = 1;
    this.palette = 'cividis';
    this.scaleType = 'linear';
    this.masked = true;
    this.words = wordsFrom(picturesEn);
  }

  get #isLog(): boolean {
    return this.kind === 'sequential' && this.scaleType === 'log';
  }

  protected override render(): TemplateResult {
    const { kind, words } = this;
    const name = words(kind === 'diverging' ? 'legendChange' : 'legendWeight');
    return html`<div class="legend">
      <div class="scale" role="img" aria-label=${this.#description()}>
        <div class="name">${name}${this.#isLog ? ` · ${words('legendLog')}` : nothing}</div>
        <div class="bar"></div>
        <svg width=${WIDTH + 2 * INSET} height="18" aria-hidden="true"></svg>
      </div>
      ${this.masked ? html`<div class="masked"><canvas aria-hidden="true"></canvas>${words('legendMasked')}</div>` : nothing}
    </div>`;
  }

  #description(): string {
    const max = formatTick(this.max);
    if (this.kind === 'diverging') return this.words('legendDivergingLabel', { max });
    if (!this.#isLog) return this.words('legendSequentialLabel', { max });
    return this.words('legendLogLabel', { max, min: formatTick(this.max / 10 ** LOG_DECADES) });
  }

  protected override updated(): void {
    const { kind, max, palette, scaleType } = this;
    const { theme } = this.#surroundings;
    const scale = colourScale({ kind, max, palette, type: scaleType, theme: theme.theme });
    const bar = this.renderRoot.querySelector<HTMLElement>('.bar');
    if (bar) bar.style.background = gradient(scale);
    this.#drawAxis();
    const canvas = this.renderRoot.querySelector('canvas');
    if (canvas) drawSwatch(canvas, theme);
  }

  #drawAxis(): void {
    const svg = this.renderRoot.querySelector<SVGSVGElement>('svg');
    if (!svg) return;
    const { max } = this;
    const range = [INSET, INSET + WIDTH];
    const axis = this.#isLog
      ? axisBottom(scaleLog([max / 10 ** LOG_DECADES, max], range))
      : axisBottom(scaleLinear([this.kind === 'diverging' ? -max : 0, max], range)).ticks(4);
    if (this.#isLog) axis.tickValues(Array.from({ length: LOG_DECADES + 1 }, (_, i) => max / 10 ** i));
    if (this.kind === 'diverging') axis.tickValues([-max, -max / 2, 0, max / 2, max]);
    const sign = (value: number) => (this.kind === 'diverging' && value > 0 ? '+' : '');
    axis.tickFormat((value) => sign(Number(value)) + formatTick(Number(value))).tickSize(4);
    select(svg)
      .selectAll<SVGGElement, null>('g.axis')
      .data([null])
      .join('g')
      .attr('class', 'axis')
      .call(axis as never)
      .call((group) => group.select('.domain').remove())
      .attr('font-size', null)
      .attr('font-family', null);
  }
}

/** The table of a scale as a CSS gradient, at a step fine enough for the eye. */
function gradient({ lut }: ColourScale): string {
  const stops = Array.from({ length: 33 }, (_, i) => pixelToCss(lut[Math.round((i / 32) * (LUT_SIZE - 1))] as number));
  return `linear-gradient(to right, ${stops.join(', ')})`;
}

function drawSwatch(canvas: HTMLCanvasElement, theme: PictureTheme): void {
  canvas.width = Math.round(SWATCH.width * devicePixelRatio);
  canvas.height = Math.round(SWATCH.height * devicePixelRatio);
  const context = canvas.getContext('2d');
  if (context) fillHatch(context, theme, canvas, { x: 0, y: 0, pixelRatio: devicePixelRatio });
}
