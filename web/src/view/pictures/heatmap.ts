/**
 * `<mh-heatmap>`: one attention map. Cells are pixels on a canvas, labels are SVG text, what is pointed at is outlined by
 * HTML over both, and an HTML grid over all of it is what the keyboard and screen readers meet.
 *
 * Two speeds: lit renders the frame when properties change; pointing, scrolling and zooming touch only the parts they
 * concern. The canvas and the labels hold the cells in view and some around them, and are drawn anew when the view
 * leaves these.
 *
 * @fires mh-cell, mh-query, mh-paint, mh-head-step, mh-table (types.ts)
 * @cssprop --mh-map-max-height - where the map begins to scroll; default: 85vh
 */
import { html, LitElement, nothing, type PropertyValues, render, type TemplateResult } from 'lit';
import { guard } from 'lit/directives/guard.js';
import { emit } from './emit.js';
import { formatTick } from './format.js';
import { clampPosition, type GridAction, type GridPosition, mapKey } from './grid-nav.js';
import { type GridOptions, mapGrid } from './heatmap-grid.js';
import { MapPointer, type MapPointerHost } from './heatmap-pointer.js';
import { heatmapStyles } from './heatmap-styles.js';
import { MapSurface } from './heatmap-surface.js';
import { MOST_IN_TABLE, mapTable } from './heatmap-table.js';
import { cellFacts, keyName, queryName, rowSummary, strongestKey } from './map-words.js';
import { type BrushTarget, type PaintedCell, Stroke } from './paint.js';
import { Settled } from './settled.js';
import { type PictureTheme, pictureStyles, ThemeController } from './theme.js';
import { tokenText } from './token-text.js';
import type {
  CellRef,
  EntropyValues,
  HeatmapProperties,
  MapPicture,
  Palette,
  PictureToken,
  ScaleType,
  Tool,
  WeightsSource,
  Words,
} from './types.js';
import { WeightRows, type WeightRowsHost } from './weight-rows.js';
import { picturesEn, unitName, wordsFrom } from './words.js';

/** Spoken summaries of rows come no faster. */
const SPEAK_AFTER = 500;
const ZOOM_STEP = 1.25;

export class HeatmapElement extends LitElement implements HeatmapProperties, MapPointerHost, WeightRowsHost {
  static override readonly styles = [pictureStyles, heatmapStyles];

  static override readonly properties = {
    queries: { attribute: false },
    keys: { attribute: false },
    weights: { attribute: false },
    source: { attribute: false },
    baseline: { attribute: false },
    scores: { attribute: false },
    rawScores: { attribute: false },
    visible: { attribute: false },
    rowValues: { attribute: false },
    selectedQuery: { attribute: false },
    cell: { attribute: false },
    tool: { attribute: false },
    palette: { attribute: false },
    scaleType: { attribute: false },
    max: { attribute: false },
    asTable: { attribute: false },
    label: { attribute: false },
    words: { attribute: false },
  };

  declare queries: readonly PictureToken[];
  declare keys: readonly PictureToken[];
  declare weights: Float32Array;
  declare source: WeightsSource | null;
  declare baseline: Float32Array | null;
  declare scores: Float32Array | null;
  declare rawScores: Float32Array | null;
  declare visible: Uint8Array | null;
  declare rowValues: EntropyValues | null;
  declare selectedQuery: number | null;
  declare cell: CellRef | null;
  declare tool: Tool;
  declare palette: Palette;
  declare scaleType: ScaleType;
  declare max: number;
  declare asTable: boolean;
  declare label: string;
  declare words: Words;

  readonly #pointer = new MapPointer(this);
  readonly #surroundings = new ThemeController(this, () => this.#redraw());
  /** What the grid for the keyboard and screen readers says; a new object when that changes. */
  readonly #settled = new Settled<GridOptions>(this);
  #grid: GridOptions | null = null;
  #surface: MapSurface | null = null;
  #frameRequest = 0;
  /** What has come of `source`. */
  #rows: WeightRows | null = null;
  #rowsRequest = 0;
  #failure = '';

  /** What the pointer is on; labels are row or column −1. */
  #hover: GridPosition | null = null;
  /** Where the one tab stop is. */
  #at: GridPosition = { row: 0, column: 0 };
  #focused = false;
  #rendering = false;
  #told: GridPosition | null = null;
  #spokenRow: number | null = null;
  #speech: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    this.queries = [];
    this.keys = [];
    this.weights = new Float32Array(0);
    this.source = null;
    this.baseline = null;
    this.scores = null;
    this.rawScores = null;
    this.visible = null;
    this.rowValues = null;
    this.selectedQuery = null;
    this.cell = null;
    this.tool = 'inspect';
    this.palette = 'cividis';
    this.scaleType = 'linear';
    this.max = 1;
    this.asTable = false;
    this.label = '';
    this.words = wordsFrom(picturesEn);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    cancelAnimationFrame(this.#frameRequest);
    cancelAnimationFrame(this.#rowsRequest);
    this.#rows?.stop();
    clearTimeout(this.#speech);
    this.#pointer.cancel();
  }

  /** What is shown now, for exports. */
  get picture(): MapPicture {
    const { queries, keys, weights, baseline, scores, rawScores, visible, rowValues, selectedQuery } = this;
    const { palette, scaleType, max } = this;
    return {
      queries,
      keys,
      weights,
      rows: this.#rows,
      baseline,
      scores,
      rawScores,
      visible,
      rowValues,
      selectedQuery,
      palette,
      scaleType,
      max,
    };
  }

  /** The colours it is shown in, for exports. */
  get theme(): PictureTheme {
    return this.#surroundings.theme;
  }

  /** Moves the keyboard focus to a cell. */
  focusCell(query: number, key: number): void {
    this.#moveTo({ row: query, column: key });
  }

  /* ------------------------------------------------------------------------------------------------ Rendering */

  protected override willUpdate(changed: PropertyValues<this>): void {
    const size = { rows: this.queries.length, columns: this.keys.length };
    this.#takeSource(changed);
    const expected = this.source ? 0 : size.rows * size.columns;
    for (const name of ['weights', 'baseline', 'scores', 'rawScores', 'visible'] as const) {
      const array = this[name];
      if (array && array.length !== expected) {
        if (this.source) throw new RangeError(`<mh-heatmap>: give a source or ${name}, not both`);
        const sizes = `${size.rows} queries × ${size.columns} keys`;
        throw new RangeError(`<mh-heatmap>: ${name} has ${array.length} numbers, but ${sizes} need ${expected}`);
      }
    }
    if (changed.has('selectedQuery') && !this.#focused) this.#enterAtSelected();
    this.#at = clampPosition(this.#at, size);
    if (this.#hover && (this.#hover.row >= size.rows || this.#hover.column >= size.columns)) this.#hover = null;
  }

  #takeSource(changed: PropertyValues<this>): void {
    if (!changed.has('source') && !(this.source && changed.has('keys'))) return;
    this.#rows?.stop();
    this.#rows = this.source && new WeightRows(this.source, this.keys.length, this);
    this.#failure = '';
  }

  /** The keyboard comes in where the page already looks: at the strongest key of the chosen row. */
  #enterAtSelected(): void {
    const row = this.selectedQuery;
    if (row === null || row >= this.queries.length) return;
    this.#at = { row, column: strongestKey(this.picture, row) ?? 0 };
  }

  protected override render(): TemplateResult {
    const label = this.words(this.baseline ? 'mapChangeLabel' : 'mapLabel', {
      label: this.label,
      rows: this.queries.length,
      columns: this.keys.length,
    });
    if (this.asTable) return mapTable(this.picture, label, this.words);
    return html`<div class="frame">
        <div
          class="scroller"
          part="scroller"
          tabindex="-1"
          @scroll=${this.#scrolled}
          @wheel=${{ handleEvent: this.#pointer.wheel, passive: false }}
          @touchstart=${{ handleEvent: this.#pointer.touchStart, passive: false }}
          @touchmove=${{ handleEvent: this.#pointer.touchMove, passive: false }}
          @touchend=${this.#pointer.touchEnd}
          @touchcancel=${this.#pointer.touchEnd}
        >
          <div
            class="plane ${this.tool === 'inspect' ? '' : 'paints'}"
            @pointerdown=${this.#pointer.down}
            @pointermove=${this.#pointer.move}
            @pointerup=${this.#pointer.up}
            @pointercancel=${this.#pointer.cancel}
            @pointerleave=${this.#pointer.leave}
          >
            <div class="map" @keydown=${this.#pressed} @focusin=${this.#focusIn} @focusout=${this.#focusOut}>
              <canvas part="canvas" aria-hidden="true"></canvas>
              <div class="band row chosen"></div>
              <div class="band row"></div>
              <div class="band column"></div>
              <div class="spot"></div>
              ${this.weights.length > 0 || this.source ? this.#gridOf(label) : nothing}
            </div>
            <div class="corner"></div>
            <div class="columns">
              <div class="labels"><canvas aria-hidden="true"></canvas><svg part="axis" aria-hidden="true"></svg></div>
            </div>
            <div class="right-top"></div>
            <div class="rows"><canvas aria-hidden="true"></canvas><svg part="axis" aria-hidden="true"></svg></div>
            <div class="values"><canvas aria-hidden="true"></canvas></div>
          </div>
        </div>
        <div class="tip" part="tooltip" aria-hidden="true" hidden></div>
        ${this.#foot()}
      </div>
      <p class="hidden-words" id="help">${this.words('mapHelp')}</p>
      <p class="hidden-words" role="status"></p>`;
  }

  #gridOf(label: string): unknown {
    const { picture, words } = this;
    const grid = { picture, at: this.#at, label, words };
    const rests = this.#grid && isSamePicture(this.#grid.picture, picture) && this.#grid.label === label;
    // Another language does not wait: the page would speak two.
    const otherWords = this.#grid !== null && this.#grid.words !== words;
    if (!rests || this.#grid?.at !== this.#at || otherWords) this.#grid = grid;
    const spoken = this.#settled.of(this.#grid ?? grid, this.#focused || otherWords);
    return guard([spoken], () => mapGrid(spoken));
  }

  #foot(): TemplateResult {
    const { rowValues, words } = this;
    const caption = rowValues
      ? words('rowValuesCaption', { max: formatTick(rowValues.max), unit: unitName(rowValues.unit, words) })
      : nothing;
    return html`<div class="foot">
      <div class="zoom">
        <button type="button" aria-label=${words('zoomOut')} title=${words('zoomOut')} @click=${() => this.#zoomStep(1 / ZOOM_STEP)}>−</button>
        <button type="button" aria-label=${words('zoomIn')} title=${words('zoomIn')} @click=${() => this.#zoomStep(ZOOM_STEP)}>+</button>
        <button type="button" @click=${() => this.#zoomFit()}>${words('zoomFit')}</button>
      </div>
      <div class="caption binned"></div>
      <div class="caption">${caption}</div>
    </div>`;
  }

  protected override update(changed: PropertyValues): void {
    this.#rendering = true;
    super.update(changed);
    this.#rendering = false;
  }

  protected override updated(changed: PropertyValues): void {
    if (this.asTable) {
      this.#surface = null;
      this.#rows?.want(Array.from(this.queries.slice(0, MOST_IN_TABLE).keys()));
      return;
    }
    // What only marks cells or names them leaves their picture as it is.
    const marks = ['cell', 'selectedQuery', 'label', 'tool'];
    if (!this.#surface?.alive) this.#surface = new MapSurface(this.renderRoot, this.#surroundings);
    else if ([...changed.keys()].every((name) => marks.includes(String(name)))) {
      this.#mark();
      this.#keepFocus();
      return;
    }
    this.#redraw();
    this.#keepFocus();
  }

  #redraw(): void {
    this.#surface?.redraw(this.picture);
    this.#mark();
  }

  /** What is lit: the pointer's cell, else the keyboard's, else what the page says. */
  get #lit(): GridPosition | null {
    if (this.#hover) return this.#hover;
    if (this.#focused) return this.#at;
    return this.cell ? { row: this.cell.query, column: this.cell.key } : null;
  }

  #mark(): void {
    this.#sayHowDrawn();
    if (this.#lit && this.#lit.row >= 0) this.#rows?.need(this.#lit.row);
    this.#surface?.mark(this.#lit, this.selectedQuery);
    this.#showTip();
  }

  /** Where cells are smaller than pixels, what a pixel shows. */
  #sayHowDrawn(): void {
    const note = this.renderRoot.querySelector('.binned');
    const { bin = 1, rowStep: step = 1 } = this.#surface ?? {};
    const notes: string[] = [];
    if (step > 1) notes.push(this.words('mapSampled', { bin, step }));
    else if (bin > 1) notes.push(this.words('mapBinned', { bin }));
    if (this.#failure) notes.push(this.words('mapFailed', { message: this.#failure }));
    else if (this.#rows?.awaited) notes.push(this.words('mapAwaited', { count: this.#rows.awaited }));
    const text = notes.join(' · ');
    if (note && note.textContent !== text) note.textContent = text;
  }

  rowsCame(): void {
    this.#failure = '';
    cancelAnimationFrame(this.#rowsRequest);
    this.#rowsRequest = requestAnimationFrame(() => {
      this.#surface?.repaint();
      // The cells with the focus have other names now, and perhaps their row has not been spoken of.
      this.#grid = null;
      this.requestUpdate();
      if (this.#focused && this.#spokenRow === null) this.#speakRow();
    });
  }

  rowsFailed(error: unknown): void {
    this.#failure = error instanceof Error ? error.message : String(error);
    this.#sayHowDrawn();
    reportError(error);
  }

  #showTip(): void {
    const tip = this.renderRoot.querySelector<HTMLElement>('.tip');
    if (!tip) return;
    const at = this.#hover ?? (this.#focused ? this.#at : null);
    const content = at && !this.#pointer.painting ? this.#tipContent(at) : null;
    tip.hidden = content === null;
    if (!at || !content) return;
    render(content, tip);
    this.#surface?.placeTip(tip, at);
  }

  #tipContent({ row, column }: GridPosition): TemplateResult | null {
    const { words, picture } = this;
    if (row >= 0 && column >= 0) {
      return html`<b>${tokenText(this.queries[row])} → ${tokenText(this.keys[column])}</b>
        <dl>
          ${cellFacts(picture, row, column, words).map(({ name, value }) => html`<dt>${name}</dt><dd>${value}</dd>`)}
        </dl>`;
    }
    if (row >= 0) return html`<b>${queryName(picture, row, words)}</b>`;
    if (column >= 0) return html`<b>${keyName(picture, column, words)}</b>`;
    return null;
  }

  /* ----------------------------------------------------------------------------------------- Scroll and zoom */

  readonly #scrolled = (): void => {
    cancelAnimationFrame(this.#frameRequest);
    this.#frameRequest = requestAnimationFrame(() => {
      this.#surface?.scrolled();
      this.#mark();
    });
  };

  zoomBy(factor: number, clientX: number, clientY: number): void {
    this.#surface?.zoomBy(factor, { clientX, clientY });
    this.#mark();
  }

  #zoomStep(factor: number): void {
    this.#surface?.zoomBy(factor);
    this.#mark();
  }

  #zoomFit(): void {
    this.#surface?.zoomTo('fit');
    this.#mark();
  }

  panBy(x: number, y: number): void {
    this.#surface?.panBy(x, y);
  }

  /* ---------------------------------------------------------------------------------------- Pointer intentions */

  targetAt(event: PointerEvent, kind?: BrushTarget['kind']): BrushTarget | null {
    const at = this.#surface?.cellAt(event);
    if (!at) return null;
    const rowInside = at.row >= 0 && at.row < this.queries.length;
    const columnInside = at.column >= 0 && at.column < this.keys.length;
    switch (kind ?? this.#paneOf(event)) {
      case 'row':
        return rowInside ? { kind: 'row', query: at.row } : null;
      case 'column': {
        // A slanted label stands beside its column.
        const labelled = kind ? null : (this.#surface?.slantedLabelAt(event) ?? null);
        if (labelled !== null) return { kind: 'column', key: labelled };
        return columnInside ? { kind: 'column', key: at.column } : null;
      }
      case 'cell':
        return rowInside && columnInside ? { kind: 'cell', query: at.row, key: at.column } : null;
      default:
        return null;
    }
  }

  #paneOf(event: Event): BrushTarget['kind'] | null {
    const target = event.target as Element;
    if (target.closest('.rows') || target.closest('.values')) return 'row';
    if (target.closest('.columns')) return 'column';
    return target.closest('.map') ? 'cell' : null;
  }

  hover(target: BrushTarget | null): void {
    const at = target ? position(target) : null;
    if (at?.row === this.#hover?.row && at?.column === this.#hover?.column) return;
    this.#hover = at;
    this.#mark();
    this.#tellCell();
  }

  choose(target: BrushTarget, touch: boolean): void {
    const at = position(target);
    const shown = this.#hover?.row === at.row && this.#hover.column === at.column;
    this.hover(target);
    if (touch && target.kind === 'cell' && !shown) return;
    if (!touch) this.#moveTo(at);
    if (target.kind !== 'column') this.#choose(target.query);
  }

  #choose(query: number): void {
    emit(this, 'mh-query', { query: query === this.selectedQuery ? null : query });
  }

  paint(cells: PaintedCell[], done: boolean): void {
    emit(this, 'mh-paint', { cells, hide: this.tool === 'hide', done });
  }

  #tellCell(): void {
    const at = this.#hover ?? (this.#focused ? this.#at : null);
    const cell = at && at.row >= 0 && at.column >= 0 ? at : null;
    if (cell?.row === this.#told?.row && cell?.column === this.#told?.column) return;
    this.#told = cell;
    emit(this, 'mh-cell', cell ? { query: cell.row, key: cell.column } : null);
  }

  /* ------------------------------------------------------------------------------------------------- Keyboard */

  readonly #pressed = (event: KeyboardEvent): void => {
    const action = mapKey(this.#at, event, { rows: this.queries.length, columns: this.keys.length });
    if (!action) return;
    event.preventDefault();
    this.#act(action);
  };

  #act(action: GridAction): void {
    // The keyboard takes over from a pointer that only rests on the map.
    this.#hover = null;
    switch (action.kind) {
      case 'move':
        this.#moveTo(action.to);
        break;
      case 'act':
        this.#actHere();
        break;
      case 'release':
        emit(this, 'mh-query', { query: null });
        break;
      case 'step':
        emit(this, 'mh-head-step', { of: action.of, by: action.by });
        break;
      case 'table':
        emit(this, 'mh-table', { asTable: !this.asTable });
        break;
    }
  }

  #actHere(): void {
    const { row, column } = this.#at;
    if (this.tool === 'inspect') {
      if (row >= 0) this.#choose(row);
      return;
    }
    const stroke = new Stroke(this.queries.length, this.keys.length);
    this.paint(stroke.extend(target({ row, column })), true);
  }

  #moveTo(at: GridPosition): void {
    this.#at = at;
    this.#focused = true;
    this.#surface?.scrollTo(at);
    this.requestUpdate();
    this.#tellCell();
    this.#speakRow();
  }

  /** After a rendering: the element with the focus may have been replaced by that of another row. */
  #keepFocus(): void {
    if (!this.#focused) return;
    const active = this.renderRoot.querySelector<HTMLElement>('[data-active]');
    if (active && this.shadowRoot?.activeElement !== active) active.focus({ preventScroll: true });
  }

  readonly #focusIn = (): void => {
    if (this.#focused) return;
    this.#focused = true;
    this.#settled.settle();
    this.#mark();
    this.#tellCell();
    this.#speakRow();
  };

  readonly #focusOut = (event: FocusEvent): void => {
    // An element that a rendering replaces loses the focus too; that is no leaving.
    if (this.#rendering) return;
    const next = event.relatedTarget;
    if (next instanceof Node && this.renderRoot.querySelector('.map')?.contains(next)) return;
    this.#focused = false;
    this.#spokenRow = null;
    this.#mark();
    this.#tellCell();
  };

  /** Tells a screen reader about a row when the focus has come to rest in it. */
  #speakRow(): void {
    const { row } = this.#at;
    if (row < 0 || row === this.#spokenRow) return;
    this.#spokenRow = row;
    clearTimeout(this.#speech);
    this.#speech = setTimeout(() => {
      if (this.#rows && !this.#rows.has(row)) {
        this.#spokenRow = null;
        return;
      }
      const status = this.renderRoot.querySelector('[role=status]');
      if (status) status.textContent = rowSummary(this.picture, row, this.words);
    }, SPEAK_AFTER);
  }
}

/** The same numbers and names. */
function isSamePicture(a: MapPicture, b: MapPicture): boolean {
  const parts = ['queries', 'keys', 'weights', 'baseline', 'visible', 'rowValues', 'selectedQuery'] as const;
  return parts.every((part) => a[part] === b[part]);
}

function position(target: BrushTarget): GridPosition {
  return { row: target.kind === 'column' ? -1 : target.query, column: target.kind === 'row' ? -1 : target.key };
}

function target({ row, column }: GridPosition): BrushTarget {
  if (row < 0) return { kind: 'column', key: column };
  if (column < 0) return { kind: 'row', query: row };
  return { kind: 'cell', query: row, key: column };
}
