/**
 * What the eye sees of a map: canvas, labels, bars, crosshair, and how far it is scrolled and zoomed. Holds the cells in
 * view and some around them, and draws anew when the view leaves these. It changes elements that `<mh-heatmap>` rendered.
 */
import { pictureScale } from './colour.js';
import type { GridPosition } from './grid-nav.js';
import { type Box, drawRowValues, LabelPane } from './heatmap-panes.js';
import { LABEL, placeColumnLabels, placeRowLabels } from './labels.js';
import {
  covers,
  layoutMap,
  MAX_ZOOM,
  type MapInput,
  type MapLayout,
  type MapView,
  type MapWindow,
  scrollToCell,
  windowOf,
  type Zoom,
} from './map-layout.js';
import { drawMap, drawnQuery } from './map-pixels.js';
import { type PictureTheme, type ThemeController, textMeasure } from './theme.js';
import { type Measure, tokenText } from './token-text.js';
import type { MapPicture } from './types.js';
import type { WeightRows } from './weight-rows.js';

/** Cells around the view that are drawn ahead of scrolling, in CSS pixels. */
const MARGIN = 400;
/** The same where each row is computed on being asked for. */
const MARGIN_OF_ROWS = 60;
/** Between a cell and its tooltip. */
const TIP_GAP = 10;

/** The elements of a rendered map. */
interface Parts {
  readonly frame: HTMLElement;
  readonly scroller: HTMLElement;
  readonly plane: HTMLElement;
  readonly map: HTMLElement;
  readonly canvas: HTMLCanvasElement;
  readonly columnLabels: HTMLElement;
  readonly values: HTMLElement;
  readonly valuesCanvas: HTMLCanvasElement;
  readonly rowBand: HTMLElement;
  readonly columnBand: HTMLElement;
  readonly chosenBand: HTMLElement;
  readonly spot: HTMLElement;
}

/** A picture as last drawn, with the texts of its tokens. */
interface Drawn {
  readonly picture: MapPicture;
  readonly queryTexts: readonly string[];
  readonly keyTexts: readonly string[];
  readonly theme: PictureTheme;
  readonly measure: Measure;
  readonly layout: MapLayout;
}

interface ScrollerSize {
  readonly width: number;
  readonly height: number;
}

/** What a picture is drawn into: see ThemeController. */
type Surroundings = Pick<ThemeController, 'theme' | 'width'>;

export class MapSurface {
  readonly #parts: Parts;
  readonly #columns: LabelPane;
  readonly #rows: LabelPane;
  readonly #surroundings: Surroundings;
  #zoom: Zoom = 'auto';
  #drawn: Drawn | null = null;
  #window: MapWindow | null = null;
  /** Of a map whose rows come one by one, one in so many is drawn. */
  #rowStep = 1;
  /** Whether the labels of the drawn window stand. */
  #labelled = false;
  /** How far it is scrolled, as last told. */
  #scroll = { left: 0, top: 0 };
  #scrollerRead: (ScrollerSize & { readonly given: string }) | null = null;
  /** The most height there is, read with this theme. */
  #limit: { readonly height: number; readonly theme: PictureTheme } | null = null;

  constructor(root: ParentNode, surroundings: Surroundings) {
    const find = <E extends Element>(selector: string) => root.querySelector(selector) as E;
    this.#surroundings = surroundings;
    this.#parts = {
      frame: find('.frame'),
      scroller: find('.scroller'),
      plane: find('.plane'),
      map: find('.map'),
      canvas: find('canvas'),
      columnLabels: find('.columns .labels'),
      values: find('.values'),
      valuesCanvas: find('.values canvas'),
      rowBand: find('.band.row:not(.chosen)'),
      columnBand: find('.band.column'),
      chosenBand: find('.band.chosen'),
      spot: find('.spot'),
    };
    this.#columns = new LabelPane(find('.columns'));
    this.#rows = new LabelPane(find('.rows'));
  }

  /** False once the elements it drew on have left the page. */
  get alive(): boolean {
    return this.#parts.frame.isConnected;
  }

  /** Cells per side of a drawn square. */
  get bin(): number {
    return this.#drawn?.layout.bin ?? 1;
  }

  /** One query in so many is drawn; 1 of a map that is all there. */
  get rowStep(): number {
    return this.#rowStep;
  }

  /** Draws the same cells again, of which more rows have come. */
  repaint(): void {
    if (this.#window) this.#draw(this.#window);
  }

  /** Lays out and draws a picture. Nothing is drawn while the host has no width. */
  redraw(picture: MapPicture): void {
    const { theme, width } = this.#surroundings;
    if (width === 0) return;
    const before = this.#drawn;
    const texts = { queryTexts: picture.queries.map(tokenText), keyTexts: picture.keys.map(tokenText) };
    const measure = textMeasure(`${LABEL.fontSize}px ${theme.font}`);
    const layout = layoutMap(this.#input({ picture, ...texts, measure }, this.#zoom));
    this.#drawn = { picture, ...texts, theme, measure, layout };
    // While one paints or types, most stays as it is; and what is not touched need not be laid out again.
    const sameLayout = before !== null && isSame(Object.values(before.layout), Object.values(layout));
    const sameTexts = before && isSame(before.queryTexts, texts.queryTexts) && isSame(before.keyTexts, texts.keyTexts);
    if (!sameLayout) this.#applyLayout(layout);
    this.#labelled &&= sameLayout && sameTexts === true && before.theme === theme;
    this.#draw(sameLayout ? this.#window : null);
  }

  #input(from: Pick<Drawn, 'picture' | 'queryTexts' | 'keyTexts' | 'measure'>, zoom: Zoom): MapInput {
    const { queryTexts, keyTexts, measure } = from;
    const space = { width: this.#surroundings.width, height: this.#mostHeight(), pixelRatio: devicePixelRatio };
    return { queryTexts, keyTexts, space, zoom, rowValues: from.picture.rowValues !== null, measure };
  }

  #mostHeight(): number {
    const { theme } = this.#surroundings;
    if (this.#limit?.theme !== theme) {
      const height = Number.parseFloat(getComputedStyle(this.#parts.scroller).maxHeight);
      this.#limit = { theme, height: Number.isFinite(height) ? height : Number.POSITIVE_INFINITY };
    }
    return this.#limit.height;
  }

  /** Gives the panes their sizes. */
  #applyLayout(layout: MapLayout): void {
    const { frame, plane, map, values } = this.#parts;
    const { rowLabelWidth, columnLabelHeight, mapWidth, mapHeight, rightWidth, valuesWidth } = layout;
    plane.style.gridTemplate = `${columnLabelHeight}px ${mapHeight}px / ${rowLabelWidth}px ${mapWidth}px ${rightWidth}px`;
    map.style.setProperty('--cell', `${layout.cell}px`);
    map.style.setProperty('--row-label-width', `${rowLabelWidth}px`);
    map.style.setProperty('--column-label-height', `${columnLabelHeight}px`);
    values.style.width = `${valuesWidth}px`;
    frame.style.setProperty('--picture-width', `${rowLabelWidth + mapWidth + valuesWidth}px`);
  }

  /** After scrolling: draws the cells in view, unless they are drawn already. */
  scrolled(): void {
    if (!this.#drawn) return;
    const { map, scroller, columnLabels } = this.#parts;
    this.#scroll = { left: scroller.scrollLeft, top: scroller.scrollTop };
    map.style.setProperty('--scroll-left', `${this.#scroll.left}px`);
    map.style.setProperty('--scroll-top', `${this.#scroll.top}px`);
    const { layout } = this.#drawn;
    const view = this.#view(layout);
    columnLabels.style.clipPath = layout.fits ? '' : labelClip(layout, view);
    if (!this.#window || !covers(this.#window, windowOf(layout, view, this.#size, 0))) this.#draw(null);
  }

  get #size(): { T: number; S: number } {
    const picture = this.#drawn?.picture;
    return { T: picture?.queries.length ?? 0, S: picture?.keys.length ?? 0 };
  }

  /** Draws a window of cells and its labels: the one given, or a new one about what is in view. */
  #draw(given: MapWindow | null): void {
    if (!this.#drawn) return;
    const { picture, theme, layout } = this.#drawn;
    const { canvas, columnLabels } = this.#parts;
    const view = given ? null : this.#view(layout);
    const margin = picture.rows ? MARGIN_OF_ROWS : MARGIN;
    const window = view ? windowOf(layout, view, this.#size, margin) : (given as MapWindow);
    if (view) {
      this.#rowStep = picture.rows ? rowStep(picture.rows, layout, view.height + 2 * margin) : 1;
      this.#window = window;
      this.#labelled = false;
      columnLabels.style.clipPath = layout.fits ? '' : labelClip(layout, view);
    }
    picture.rows?.want(drawnQueries(window, layout.bin, this.#rowStep));
    const source = picture.rows
      ? { rows: picture.rows, step: this.#rowStep, baseline: null }
      : { ...picture, rows: null, keyCount: picture.keys.length, offset: 0 };
    drawMap(canvas, source, pictureScale(picture, theme.theme), { layout, window, ink: theme });
    canvas.style.left = `${window.keyFrom * layout.cell}px`;
    canvas.style.top = `${window.queryFrom * layout.cell}px`;
    canvas.style.width = `${canvas.width / devicePixelRatio}px`;
    canvas.style.height = `${canvas.height / devicePixelRatio}px`;
    this.#drawPanes(this.#drawn, window);
  }

  #drawPanes({ picture, queryTexts, keyTexts, measure, layout, theme }: Drawn, window: MapWindow): void {
    const { cell, columnMode: mode, columnLabelHeight: height, rowLabelWidth: width } = layout;
    const columnRange = { from: window.keyFrom, to: window.keyTo };
    const rowRange = { from: window.queryFrom, to: window.queryTo };
    if (!this.#labelled) {
      const columns = placeColumnLabels(keyTexts, columnRange, { cell, mode, height }, measure);
      this.#columns.show({ labels: columns, box: columnLabelBox(layout, window), theme });
      const rows = placeRowLabels(queryTexts, rowRange, { cell, width }, measure);
      this.#rows.show({ labels: rows, box: rowLabelBox(layout, window), theme });
      this.#labelled = true;
    }
    const { values, valuesCanvas } = this.#parts;
    values.hidden = picture.rowValues === null;
    if (picture.rowValues) drawRowValues(valuesCanvas, picture.rowValues, layout, rowRange, theme);
  }

  /** The part of the scroller that shows cells. A map that fits is not scrolled, and nothing has to be asked. */
  #view(layout: MapLayout): MapView {
    if (layout.fits) return { left: 0, top: 0, width: layout.mapWidth, height: layout.mapHeight };
    const { width, height } = this.#scrollerSize(layout);
    return {
      ...this.#scroll,
      width: width - layout.rowLabelWidth - layout.valuesWidth,
      height: height - layout.columnLabelHeight,
    };
  }

  /** Inner size of the scroller, read again only when it may be another: a reading makes the browser lay out the page. */
  #scrollerSize({ rowLabelWidth, mapWidth, rightWidth, columnLabelHeight, mapHeight }: MapLayout): ScrollerSize {
    const [width, height] = [rowLabelWidth + mapWidth + rightWidth, columnLabelHeight + mapHeight];
    const most = { width: this.#surroundings.width, height: this.#mostHeight() };
    // Scroll bars come and go with what overflows; as high as it may be it is only then.
    const given = [most.width, width > most.width, Math.min(height, most.height)].join();
    if (this.#scrollerRead?.given !== given) {
      const { clientWidth, clientHeight } = this.#parts.scroller;
      this.#scrollerRead = { given, width: clientWidth, height: clientHeight };
    }
    return this.#scrollerRead;
  }

  /** Moves the crosshair and the outline of the chosen row, and makes their labels bold. */
  mark(lit: GridPosition | null, chosenRow: number | null): void {
    if (!this.#drawn) return;
    const { queries, keys } = this.#drawn.picture;
    const inside = (index: number | undefined, count: number) =>
      index !== undefined && index >= 0 && index < count ? index : null;
    const row = inside(lit?.row, queries.length);
    const column = inside(lit?.column, keys.length);
    const { rowBand, columnBand, chosenBand, spot } = this.#parts;
    place(rowBand, row, null);
    place(columnBand, null, column);
    place(chosenBand, chosenRow, null);
    if (row === null || column === null) place(spot, null, null);
    else place(spot, row, column);
    this.#rows.mark(row, chosenRow);
    this.#columns.mark(column, null);
  }

  /** Places a tooltip below and right of a cell, or on the other side where there is no room. */
  placeTip(tip: HTMLElement, { row, column }: GridPosition): void {
    if (!this.#drawn) return;
    const frame = this.#parts.frame.getBoundingClientRect();
    const map = this.#parts.map.getBoundingClientRect();
    const { cell } = this.#drawn.layout;
    const left = map.left - frame.left + column * cell;
    const top = map.top - frame.top + row * cell;
    const { offsetWidth: width, offsetHeight: height } = tip;
    const right = left + cell + TIP_GAP;
    const below = top + cell + TIP_GAP;
    const above = top - height - TIP_GAP;
    tip.style.left = `${Math.max(0, right + width <= frame.width ? right : left - width - TIP_GAP)}px`;
    tip.style.top = `${below + height <= frame.height || above < 0 ? below : above}px`;
  }

  /** The cell at a point of the screen; row and column may lie outside the map. */
  cellAt({ clientX, clientY }: { readonly clientX: number; readonly clientY: number }): GridPosition | null {
    if (!this.#drawn) return null;
    const map = this.#parts.map.getBoundingClientRect();
    const { cell } = this.#drawn.layout;
    return { row: Math.floor((clientY - map.top) / cell), column: Math.floor((clientX - map.left) / cell) };
  }

  /** The column whose slanted label is at a point of the screen: it stands over its neighbours' columns. */
  slantedLabelAt({ clientX, clientY }: { readonly clientX: number; readonly clientY: number }): number | null {
    if (!this.#drawn) return null;
    const { layout, measure } = this.#drawn;
    const map = this.#parts.map.getBoundingClientRect();
    const up = map.top - LABEL.gap - clientY;
    const index = Math.floor((clientX - map.left - up) / layout.cell);
    const label = this.#columns.labels.find((candidate) => candidate.index === index);
    const end = measure(label?.lines[0]?.text ?? '') * Math.SQRT1_2 + LABEL.fontSize / 2;
    return label?.rotate === -45 && up <= end ? index : null;
  }

  scrollTo({ row, column }: GridPosition): void {
    if (!this.#drawn) return;
    const { layout } = this.#drawn;
    const { scroller } = this.#parts;
    this.#scroll = { left: scroller.scrollLeft, top: scroller.scrollTop };
    const view = this.#view(layout);
    if (column >= 0) scroller.scrollLeft = scrollToCell(column, layout.cell, view.left, view.width);
    if (row >= 0) scroller.scrollTop = scrollToCell(row, layout.cell, view.top, view.height);
  }

  panBy(x: number, y: number): void {
    this.#parts.scroller.scrollBy(x, y);
  }

  /** Zooms about a point of the screen (the middle if none is given): the cell there stays there. */
  zoomBy(factor: number, point?: { readonly clientX: number; readonly clientY: number }): void {
    if (!this.#drawn) return;
    const { map, scroller } = this.#parts;
    const { cell } = this.#drawn.layout;
    const frame = scroller.getBoundingClientRect();
    const x = point?.clientX ?? frame.left + frame.width / 2;
    const y = point?.clientY ?? frame.top + frame.height / 2;
    const before = map.getBoundingClientRect();
    const [column, row] = [(x - before.left) / cell, (y - before.top) / cell];

    const wanted = Math.min(MAX_ZOOM, (typeof this.#zoom === 'number' ? this.#zoom : cell) * factor);
    const smallest = layoutMap(this.#input(this.#drawn, 'fit')).cell;
    this.zoomTo(wanted <= smallest ? 'fit' : wanted);

    const after = map.getBoundingClientRect();
    scroller.scrollLeft += after.left + column * this.#drawn.layout.cell - x;
    scroller.scrollTop += after.top + row * this.#drawn.layout.cell - y;
    this.scrolled();
  }

  zoomTo(zoom: Zoom): void {
    this.#zoom = zoom;
    if (this.#drawn) this.redraw(this.#drawn.picture);
  }
}

/** One query in so many lets a view of this height (CSS pixels) be shown by rows that can be kept. */
function rowStep(rows: WeightRows, { bin, cell }: MapLayout, height: number): number {
  const lines = height / cell / bin;
  return bin * Math.ceil(lines / rows.mostShown);
}

/** The queries that a window draws, from its middle outwards. */
function drawnQueries({ queryFrom, queryTo }: MapWindow, bin: number, step: number): number[] {
  const queries = new Set<number>();
  for (let query = queryFrom; query < queryTo; query += bin) queries.add(drawnQuery(query, step));
  const middle = (queryFrom + queryTo) / 2;
  return [...queries].sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle));
}

/** Only labels of columns in view are to be seen; slanted ones lean out of it. */
function labelClip({ columnMode, columnLabelHeight: height }: MapLayout, { left, width }: MapView): string {
  const lean = columnMode === 'slanted' ? height : 0;
  const right = left + width;
  return `polygon(${left}px ${height}px, ${left + lean}px 0, ${right + lean}px 0, ${right}px ${height}px)`;
}

/** Where column labels of a window may be, in their pane; slanted ones lean to the right. */
function columnLabelBox({ cell, columnMode, columnLabelHeight: height }: MapLayout, window: MapWindow): Box {
  const right = columnMode === 'slanted' ? height : LABEL.fontSize;
  const left = window.keyFrom * cell - LABEL.fontSize;
  return { left, top: 0, width: window.keyTo * cell + right - left, height };
}

/** Where row labels of a window may be, in their pane; those of low cells reach over their row. */
function rowLabelBox({ cell, rowLabelWidth: width }: MapLayout, window: MapWindow): Box {
  const top = window.queryFrom * cell - LABEL.fontSize;
  return { left: 0, top, width, height: window.queryTo * cell + LABEL.fontSize - top };
}

/** Puts a mark on a row, a column or a cell; takes it off where there is neither. */
function place(mark: HTMLElement, row: number | null, column: number | null): void {
  mark.classList.toggle('on', row !== null || column !== null);
  if (row !== null) mark.style.setProperty('--q', String(row));
  if (column !== null) mark.style.setProperty('--k', String(column));
}

const isSame = (a: readonly unknown[], b: readonly unknown[]) =>
  a.length === b.length && a.every((value, i) => value === b[i]);
