/** Maps on screen that can be saved as files, and what is to be said with them. */
import type { HeatmapElement } from './pictures/heatmap.js';
import type { Words } from './pictures/types.js';

export interface MapExport {
  readonly heatmaps: readonly HeatmapElement[];
  readonly words: Words;
  /** Lines below a picture. */
  readonly caption: readonly string[];
  /** What it takes to make the same map again. */
  readonly settings: Readonly<Record<string, unknown>>;
}
