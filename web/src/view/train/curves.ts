/**
 * `<mh-curves>`: values over the steps of a training, one line each, with a legend that reads them at the cursor or at
 * their end. The pointer moves the cursor of all charts through the page; the keyboard does so by the page's slider.
 *
 * @fires mh-step
 */
import { axisBottom, axisLeft } from 'd3-axis';
import { type ScaleContinuousNumeric, scaleLinear, scaleLog } from 'd3-scale';
import { select } from 'd3-selection';
import { css, html, LitElement, nothing, svg, type TemplateResult } from 'lit';
import { formatTick } from '../pictures/format.js';
import { pictureStyles, ThemeController } from '../pictures/theme.js';

export type Points = readonly (readonly [step: number, value: number])[];

export interface Curve {
  readonly label: string;
  readonly points: Points;
  /** Any CSS colour. */
  readonly colour: string;
  readonly dashed?: boolean;
  /** Drawn thin and left out of the legend. */
  readonly faint?: boolean;
}

/** A step with a name. */
export interface Mark {
  readonly step: number;
  readonly label: string;
}

declare global {
  interface HTMLElementEventMap {
    /** The step under the pointer, null when it leaves; `keep`: pressed, to stay there. */
    'mh-step': CustomEvent<{ readonly step: number | null; readonly keep: boolean }>;
  }
}

const MARGIN = { top: 6, right: 6, bottom: 20, left: 38 };

type Scale = ScaleContinuousNumeric<number, number>;

export class CurvesElement extends LitElement {
  static override readonly styles = [
    pictureStyles,
    css`
      figure {
        margin: 0;
      }
      figcaption {
        display: flex;
        flex-wrap: wrap;
        gap: 0 12px;
        align-items: baseline;
        min-block-size: 18px;
      }
      h3 {
        margin: 0;
        font-size: inherit;
        font-weight: 600;
      }
      ul {
        display: flex;
        flex-wrap: wrap;
        gap: 0 12px;
        margin: 0;
        padding: 0;
        list-style: none;
      }
      li {
        display: flex;
        align-items: center;
        gap: 4px;
        color: var(--muted);
      }
      li b {
        min-inline-size: 3.5ch;
        color: var(--ink);
        font-weight: 600;
      }
      svg {
        display: block;
        overflow: visible;
        touch-action: pan-y;
      }
      .axis :is(line, path) {
        stroke: var(--line);
      }
      .axis .tick text {
        fill: var(--muted);
      }
      .curve {
        fill: none;
        stroke-width: 1.75;
        stroke-linejoin: round;
      }
      .curve.faint {
        stroke-width: 1;
        opacity: 0.35;
      }
      .curve.dashed {
        stroke-width: 1.25;
        stroke-dasharray: 3 3;
      }
      .swatch {
        inline-size: 14px;
        block-size: 6px;
        overflow: visible;
      }
      .mark {
        stroke: var(--muted);
        stroke-dasharray: 1 3;
      }
      .cursor {
        stroke: var(--focus);
      }
    `,
  ];

  static override readonly properties = {
    heading: { attribute: false },
    curves: { attribute: false },
    lastStep: { attribute: false },
    cursor: { attribute: false },
    marks: { attribute: false },
    scale: { attribute: false },
    most: { attribute: false },
    height: { attribute: false },
    format: { attribute: false },
    stepLabel: { attribute: false },
  };

  declare heading: string;
  declare curves: readonly Curve[];
  /** Right end of the axis. */
  declare lastStep: number;
  declare cursor: number | null;
  declare marks: readonly Mark[];
  declare scale: 'linear' | 'log';
  /** Top of a linear axis; null: the largest value. */
  declare most: number | null;
  declare height: number;
  declare format: (value: number) => string;
  declare stepLabel: string;

  readonly #surroundings = new ThemeController(this, () => this.requestUpdate());
  #across: Scale = scaleLinear();

  constructor() {
    super();
    this.heading = '';
    this.curves = [];
    this.lastStep = 1;
    this.cursor = null;
    this.marks = [];
    this.scale = 'linear';
    this.most = null;
    this.height = 112;
    this.format = (value) => value.toFixed(2);
    this.stepLabel = 'step';
  }

  protected override render(): TemplateResult {
    const named = this.curves.filter(({ faint }) => !faint);
    const summary = named.map((curve) => `${curve.label} ${this.#valueOf(curve)}`).join(', ');
    return html`<figure>
      <figcaption>
        <h3>${this.heading}</h3>
        <ul>
          ${named.map(
            (curve) => html`<li>
              <svg class="swatch" aria-hidden="true">
                <line class="curve ${curve.dashed ? 'dashed' : ''}" stroke=${curve.colour} x2="14" y1="3" y2="3"></line>
              </svg>
              ${curve.label} <b>${this.#valueOf(curve)}</b>
            </li>`,
          )}
        </ul>
      </figcaption>
      ${this.#chart(`${this.heading}: ${summary}`)}
    </figure>`;
  }

  #chart(label: string): TemplateResult | typeof nothing {
    const { width } = this.#surroundings;
    if (width === 0) return nothing;
    const { height } = this;
    this.#across = scaleLinear([0, Math.max(1, this.lastStep)], [MARGIN.left, width - MARGIN.right]);
    const up = this.#upward();
    const line = (points: Points) =>
      points
        .filter(([, value]) => Number.isFinite(value) && (this.scale === 'linear' || value > 0))
        .map(([step, value], i) => `${i === 0 ? 'M' : 'L'}${this.#across(step).toFixed(1)} ${up(value).toFixed(1)}`)
        .join('');
    const upright = (name: string, step: number, title = '') =>
      svg`<line class=${name} x1=${this.#across(step)} x2=${this.#across(step)} y1=${MARGIN.top}
        y2=${height - MARGIN.bottom}><title>${title}</title></line>`;
    return html`<svg
      role="img"
      aria-label=${label}
      width=${width}
      height=${height}
      @pointermove=${(event: PointerEvent) => this.#point(event, false)}
      @pointerdown=${(event: PointerEvent) => this.#point(event, true)}
      @pointerleave=${() => this.#tell(null, false)}
    >
      ${svg`<g class="axis x" transform="translate(0 ${height - MARGIN.bottom})"></g>
        <g class="axis y" transform="translate(${MARGIN.left} 0)"></g>
        ${this.marks.map(({ step, label: title }) => upright('mark', step, title))}
        ${this.curves.map(
          ({ points, colour, dashed, faint }) =>
            svg`<path class="curve ${dashed ? 'dashed' : ''} ${faint ? 'faint' : ''}" stroke=${colour} d=${line(points)}></path>`,
        )}
        ${this.cursor === null ? nothing : upright('cursor', this.cursor)}`}
    </svg>`;
  }

  #upward(): Scale {
    const values = this.curves.flatMap(({ points }) => points.map(([, value]) => value)).filter(Number.isFinite);
    const range = [this.height - MARGIN.bottom, MARGIN.top];
    if (this.scale === 'log') {
      const positive = values.filter((value) => value > 0);
      const low = positive.reduce((least, value) => Math.min(least, value), Number.POSITIVE_INFINITY);
      const high = positive.reduce((most, value) => Math.max(most, value), 0);
      return scaleLog(high > 0 ? [Math.min(low, high / 10), high] : [0.1, 1], range);
    }
    const high = this.most ?? values.reduce((most, value) => Math.max(most, value), 0);
    return scaleLinear([0, high > 0 ? high : 1], range);
  }

  protected override updated(): void {
    const root = this.renderRoot;
    const [x, y] = ['x', 'y'].map((name) => root.querySelector<SVGGElement>(`.axis.${name}`));
    if (!x || !y) return;
    const { width } = this.#surroundings;
    select(x).call(
      axisBottom(this.#across)
        .ticks(Math.max(2, Math.floor(width / 90)))
        .tickSize(3),
    );
    const up = this.#upward();
    const ticks = axisLeft(up).tickSize(3);
    if (this.scale === 'log') ticks.ticks(3, (value: unknown) => formatTick(Number(value)));
    else ticks.ticks(4).tickFormat((value) => formatTick(Number(value)));
    select(y).call(ticks);
    select(root as unknown as Element)
      .selectAll('.axis text')
      .attr('font-family', null);
  }

  #valueOf({ points }: Curve): string {
    const { cursor } = this;
    const at =
      cursor === null
        ? points.at(-1)
        : points.reduce<Points[number] | undefined>(
            (best, point) =>
              best === undefined || Math.abs(point[0] - cursor) < Math.abs(best[0] - cursor) ? point : best,
            undefined,
          );
    return at === undefined ? '–' : this.format(at[1]);
  }

  #point(event: PointerEvent, keep: boolean): void {
    const { left } = (event.currentTarget as Element).getBoundingClientRect();
    const step = Math.round(this.#across.invert(event.clientX - left));
    this.#tell(Math.max(0, Math.min(this.lastStep, step)), keep);
  }

  #tell(step: number | null, keep: boolean): void {
    this.dispatchEvent(new CustomEvent('mh-step', { detail: { step, keep }, bubbles: true, composed: true }));
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'mh-curves': CurvesElement;
  }
}
