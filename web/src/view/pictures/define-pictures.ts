/** Registers every picture element. Importing this registers nothing; calling it twice is fine. */
import { BarsElement } from './bars.js';
import { EntropyElement } from './entropy.js';
import { HeadsElement } from './heads.js';
import { HeatmapElement } from './heatmap.js';
import { LegendElement } from './legend.js';

const elements = {
  'mh-bars': BarsElement,
  'mh-entropy': EntropyElement,
  'mh-heads': HeadsElement,
  'mh-heatmap': HeatmapElement,
  'mh-legend': LegendElement,
} as const;

export function definePictures(): void {
  for (const [name, element] of Object.entries(elements)) {
    if (!customElements.get(name)) customElements.define(name, element);
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'mh-bars': BarsElement;
    'mh-entropy': EntropyElement;
    'mh-heads': HeadsElement;
    'mh-heatmap': HeatmapElement;
    'mh-legend': LegendElement;
  }
}
