/**
 * What the pictures take and what they tell: the properties' types and every event. No code here.
 *
 * Pictures are lit components that keep no application state: properties in, events out. T queries, S keys, L layers,
 * H heads; matrices are row-major and flat; layers, heads, queries and keys count from 0 here and from 1 in words.
 *
 * Colours come from custom properties that the page sets on an ancestor; each has a fallback:
 * `--mh-ink` text, `--mh-muted` secondary text, `--mh-paper` background, `--mh-line` rules and hatching, `--mh-accent`
 * selection, `--mh-on-accent` text on it, `--mh-focus` focus ring and crosshair, `--mh-data` bars, `--mh-font`.
 */
import type { Token } from '../../core/types.js';
import type { WeightRows } from './weight-rows.js';

/** What a picture needs of a token; a `Token` of the engine fits. */
export type PictureToken = Pick<Token, 'text'> & Partial<Pick<Token, 'special'>>;

/** Looks up a text by key (see `words.ts`) and fills its `{{name}}` places. */
export type Words = (key: string, values?: Readonly<Record<string, string | number>>) => string;

export type Palette = 'cividis' | 'viridis' | 'grey';
export type ScaleType = 'linear' | 'log';
export type EntropyUnit = 'nats' | 'bits' | 'normalised';
export type Tool = 'inspect' | 'hide' | 'show';

export interface CellRef {
  readonly query: number;
  readonly key: number;
}

export interface HeadRef {
  readonly layer: number;
  readonly head: number;
}

/** Entropies, already in `unit`; bars are drawn against `max` (1 when normalised, else the log of the key count). */
export interface EntropyValues {
  readonly values: Float32Array;
  readonly max: number;
  readonly unit: EntropyUnit;
}

/**
 * Weights that are computed when they are looked at, for maps too large to hold: 4096 × 4096 numbers are 64 MB, for each
 * head. The map asks for the rows in view; where cells are smaller than pixels, for as many as there are lines of pixels.
 * It keeps at most 32 MB of them. For other weights (another head, another mask), give another object.
 */
export interface WeightsSource {
  /** `[queries.length, S]`: the rows of some queries, which ascend; 0 where hidden. */
  rows(queries: readonly number[]): Float32Array | Promise<Float32Array>;
  /** Whether the mask lets a query see a key. Absent: every key is visible. */
  visible?(query: number, key: number): boolean;
}

/** One attention map and how it is coloured: what `<mh-heatmap>` shows, its table and every export. */
export interface MapPicture {
  /** T tokens, down. */
  readonly queries: readonly PictureToken[];
  /** S tokens, across. */
  readonly keys: readonly PictureToken[];
  /** `[T, S]` */
  readonly weights: Float32Array;
  /** The weights of a map with a `source`, as far as they have come; then `weights` is empty, and there is nothing to export. */
  readonly rows?: WeightRows | null;
  /** `[T, S]`; when given, the picture is the signed difference `weights − baseline`. */
  readonly baseline: Float32Array | null;
  /** `[T, S]` after scale and mask, −Infinity where hidden. */
  readonly scores: Float32Array | null;
  /** `[T, S]` plain QKᵀ. */
  readonly rawScores: Float32Array | null;
  /** `[T, S]`, 0 where hidden by the mask; null: all visible. */
  readonly visible: Uint8Array | null;
  /** One value a row, drawn as bars at the end of the rows. */
  readonly rowValues: EntropyValues | null;
  readonly selectedQuery: number | null;
  readonly palette: Palette;
  readonly scaleType: ScaleType;
  /** Weight at the top of the sequential scale, in (0, 1]. A difference takes its own symmetric range. */
  readonly max: number;
}

/** Cells painted since the last event of the stroke, each at most once a stroke; `done` on the last event of a stroke. */
export interface PaintDetail {
  readonly cells: readonly (readonly [query: number, key: number])[];
  readonly hide: boolean;
  readonly done: boolean;
}

/** What each event carries. All bubble and are composed. */
export interface PictureEvents {
  /** The cell under the pointer or focus changed; null when there is none. From `<mh-heatmap>` and `<mh-bars>`. */
  'mh-cell': CellRef | null;
  /** A query was chosen, or (null) let go. From `<mh-heatmap>`. */
  'mh-query': { readonly query: number | null };
  /** Cells were painted with the `hide` or `show` tool. From `<mh-heatmap>`. */
  'mh-paint': PaintDetail;
  /** The keyboard asks for another head (PageUp, PageDown) or layer (`[`, `]`). From `<mh-heatmap>`. */
  'mh-head-step': { readonly by: 1 | -1; readonly of: 'head' | 'layer' };
  /** The keyboard (`T`) asks to change between picture and table. From `<mh-heatmap>`. */
  'mh-table': { readonly asTable: boolean };
  /** A head was chosen; `add`: add it to (or take it from) the selection. From `<mh-heads>` and `<mh-entropy>`. */
  'mh-head-select': HeadRef & { readonly add: boolean };
}

declare global {
  interface HTMLElementEventMap {
    'mh-cell': CustomEvent<PictureEvents['mh-cell']>;
    'mh-query': CustomEvent<PictureEvents['mh-query']>;
    'mh-paint': CustomEvent<PictureEvents['mh-paint']>;
    'mh-head-step': CustomEvent<PictureEvents['mh-head-step']>;
    'mh-table': CustomEvent<PictureEvents['mh-table']>;
    'mh-head-select': CustomEvent<PictureEvents['mh-head-select']>;
  }
}

/** Properties of `<mh-heatmap>`. */
export interface HeatmapProperties extends Omit<MapPicture, 'rows'> {
  /** In place of `weights` and `visible`; there is no baseline and there are no scores then. */
  readonly source: WeightsSource | null;
  /** The cell to light up, when the page knows better than this picture's own pointer (a second map, the bars). */
  readonly cell: CellRef | null;
  readonly tool: Tool;
  /** The same numbers as a `<table>`. */
  readonly asTable: boolean;
  /** What this map is, for its accessible name: "Layer 2, head 5". */
  readonly label: string;
  readonly words: Words;
}

/** Properties of `<mh-legend>`. */
export interface LegendProperties {
  readonly kind: 'sequential' | 'diverging';
  /** Top of the scale; a diverging one goes from −max to max. */
  readonly max: number;
  readonly palette: Palette;
  readonly scaleType: ScaleType;
  /** Show the swatch that explains hatching. */
  readonly masked: boolean;
  readonly words: Words;
}

/** Properties of `<mh-heads>`. */
export interface HeadsProperties {
  readonly layers: number;
  readonly heads: number;
  /** T and S of every map. */
  readonly queryCount: number;
  readonly keyCount: number;
  /** `[L, H, T, S]` */
  readonly attention: Float32Array;
  /** `[L, H, T, S]`; when given, thumbnails show the signed difference. */
  readonly baseline: Float32Array | null;
  /** One value a head, `[L, H]`. */
  readonly entropy: EntropyValues | null;
  readonly selected: readonly HeadRef[];
  readonly ablated: readonly HeadRef[];
  readonly palette: Palette;
  readonly scaleType: ScaleType;
  /** Weight at the top of the scale; null: every thumbnail up to its own maximum. */
  readonly max: number | null;
  /** `grid`: a row a layer. `strip`: one row that scrolls sideways. */
  readonly layout: 'grid' | 'strip';
  /** A plain click adds, as with shift or ctrl (for touch). */
  readonly adding: boolean;
  readonly words: Words;
}

/** Properties of `<mh-entropy>`. */
export interface EntropyProperties {
  readonly layers: number;
  readonly heads: number;
  /** `[L, H]` */
  readonly entropy: EntropyValues | null;
  readonly selected: readonly HeadRef[];
  readonly ablated: readonly HeadRef[];
  readonly words: Words;
}

/** Properties of `<mh-bars>`: one row of a map over its sentence. */
export interface BarsProperties {
  /** S tokens. */
  readonly keys: readonly PictureToken[];
  /** The row's query: its number, and its text where the queries are not the keys. */
  readonly query: number | null;
  readonly queryText: string;
  /** `[S]` weights of the row. */
  readonly weights: Float32Array;
  /** `[S]` weights before the change, drawn as outlines. */
  readonly baseline: Float32Array | null;
  /** `[S]`, 0 where hidden. */
  readonly visible: Uint8Array | null;
  readonly cell: CellRef | null;
  readonly words: Words;
}
