/**
 * `<mh-bars>`: where one query looks, as bars over its sentence. A list for screen readers; bars before a change are
 * outlined.
 *
 * @fires mh-cell (types.ts)
 */
import { css, html, LitElement, nothing, type TemplateResult } from 'lit';
import { roundMax } from './colour.js';
import { emit } from './emit.js';
import { formatWeight } from './format.js';
import { pictureStyles } from './theme.js';
import { tokenText } from './token-text.js';
import type { BarsProperties, CellRef, PictureToken, Words } from './types.js';
import { picturesEn, wordsFrom } from './words.js';

/** Bars that reach this share of the scale carry their number; the others show it when pointed at. */
const NUMBER_FROM = 0.1;
/** A smaller outline would be a line on the floor. */
const OUTLINE_FROM = 0.02;

export class BarsElement extends LitElement implements BarsProperties {
  static override readonly styles = [
    pictureStyles,
    css`
      ol {
        display: flex;
        flex-wrap: wrap;
        gap: 8px 2px;
        margin: 0;
        padding: 0;
        list-style: none;
      }
      li {
        display: grid;
        grid-template-rows: var(--mh-bar-height, 48px) auto;
        padding-block-start: 1.4em;
        justify-items: center;
        min-inline-size: 26px;
        padding-inline: 2px;
        border-radius: 4px;
      }
      .number {
        position: absolute;
        inset-inline: -1em;
        font-size: 11px;
        line-height: 1.3;
        text-align: center;
        opacity: 0;
      }
      .number.on,
      li:hover .number,
      li.lit .number {
        opacity: 1;
      }
      .column {
        position: relative;
        inline-size: 100%;
        max-inline-size: 36px;
        border-block-end: 1px solid var(--line);
      }
      .bar,
      .before {
        position: absolute;
        inset: auto 0 0;
      }
      .bar {
        background: var(--mh-data, color-mix(in srgb, var(--ink) 55%, var(--paper)));
        forced-color-adjust: none;
      }
      li.lit .bar,
      li:hover .bar {
        background: var(--focus);
      }
      .before {
        border: 1.5px dashed var(--ink);
        border-block-end: 0;
      }
      .masked .column::after {
        content: "";
        position: absolute;
        inset: auto 0 0;
        block-size: 8px;
        background: repeating-linear-gradient(-45deg, var(--line) 0 1px, transparent 1px 4px);
        forced-color-adjust: none;
      }
      .text {
        padding: 1px 3px;
        font-size: 14px;
        white-space: pre;
        max-inline-size: 12em;
        overflow: hidden;
        text-overflow: ellipsis;
      }
      .masked .text {
        color: var(--muted);
      }
      .query .text {
        border-radius: 3px;
        background: var(--accent);
        color: var(--mh-on-accent, var(--paper));
      }
      li.lit .text,
      li:hover .text {
        font-weight: 700;
      }
      @media (forced-colors: active) {
        .bar {
          background: CanvasText;
        }
        .query .text {
          background: Canvas;
          color: CanvasText;
          outline: 2px solid Highlight;
        }
      }
    `,
  ];

  static override readonly properties = {
    keys: { attribute: false },
    query: { attribute: false },
    queryText: { attribute: false },
    weights: { attribute: false },
    baseline: { attribute: false },
    visible: { attribute: false },
    cell: { attribute: false },
    words: { attribute: false },
  };

  declare keys: readonly PictureToken[];
  declare query: number | null;
  declare queryText: string;
  declare weights: Float32Array;
  declare baseline: Float32Array | null;
  declare visible: Uint8Array | null;
  declare cell: CellRef | null;
  declare words: Words;

  constructor() {
    super();
    this.keys = [];
    this.query = null;
    this.queryText = '';
    this.weights = new Float32Array(0);
    this.baseline = null;
    this.visible = null;
    this.cell = null;
    this.words = wordsFrom(picturesEn);
  }

  protected override willUpdate(): void {
    const { weights, baseline, visible } = this;
    for (const [name, array] of Object.entries({ weights, baseline, visible })) {
      if (!array || array.length === this.keys.length) continue;
      throw new RangeError(`<mh-bars>: ${name} has ${array.length} numbers for ${this.keys.length} keys`);
    }
  }

  protected override render(): TemplateResult {
    const max = this.#max();
    return html`<ol aria-label=${this.words('barsLabel', { text: this.queryText })} @pointerleave=${() => this.#tell(null)}>
      ${this.keys.map((token, key) => this.#token(tokenText(token), key, max))}
    </ol>`;
  }

  /** Bars share a round top, so that they move little while one types. */
  #max(): number {
    let max = 0;
    for (const weights of [this.weights, this.baseline ?? []])
      for (const weight of weights) max = Math.max(max, weight);
    return roundMax(max);
  }

  #token(text: string, key: number, max: number): TemplateResult {
    const weight = this.weights[key] as number;
    const masked = this.visible?.[key] === 0;
    const before = this.baseline?.[key] ?? 0;
    const isQuery = key === this.query && this.queryText === text;
    const isLit = this.cell !== null && this.cell.key === key && this.cell.query === this.query;
    const number = masked ? '' : formatWeight(weight);
    const classes = `${isQuery ? 'query' : ''} ${masked ? 'masked' : ''} ${isLit ? 'lit' : ''}`;
    return html`<li class=${classes} title=${text} @pointerenter=${() => this.#tell(key)}>
      <span class="column" aria-hidden="true">
        <span class="bar" style="block-size:${percent(weight / max)}"></span>
        ${before >= max * OUTLINE_FROM ? html`<span class="before" style="block-size:${percent(before / max)}"></span>` : nothing}
        <span
          class="number ${weight >= max * NUMBER_FROM ? 'on' : ''}"
          style="inset-block-end:${percent(Math.max(weight, before) / max)}"
          >${number}</span
        >
      </span>
      <span class="text" aria-hidden="true">${text}</span>
      <span class="hidden-words">${this.#name(text, key, isQuery)}</span>
    </li>`;
  }

  #name(text: string, key: number, isQuery: boolean): string {
    const { words } = this;
    const weight = formatWeight(this.weights[key] as number);
    const before = this.baseline?.[key];
    let name: string;
    if (this.visible?.[key] === 0) name = words('barsMaskedName', { text });
    else if (before === undefined) name = words('barsTokenName', { text, weight });
    else name = words('barsTokenChangeName', { text, weight, before: formatWeight(before) });
    return isQuery ? words('barsQueryName', { name }) : name;
  }

  #tell(key: number | null): void {
    emit(this, 'mh-cell', key === null || this.query === null ? null : { query: this.query, key });
  }
}

const percent = (share: number) => `${(share * 100).toFixed(1)}%`;
