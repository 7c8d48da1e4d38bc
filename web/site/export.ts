/** The maps on screen as files: SVG, PNG, CSV or JSON, with the sentence and the settings that made them. */
import { translator } from '../src/view/i18n/index.js';
import type { MapExport } from '../src/view/map-export.js';
import type { MultiheadLens } from '../src/view/multihead-lens.js';
import { mapCsv, mapJson } from '../src/view/pictures/export-data.js';
import { mapImage, svgToPng } from '../src/view/pictures/export-png.js';
import { MOST_RECTANGLES, mapSvg } from '../src/view/pictures/export-svg.js';
import type { HeatmapElement } from '../src/view/pictures/heatmap.js';
import { saveFile } from '../src/view/save-file.js';
import { stateToHash } from '../src/view/url.js';

export const formats = ['svg', 'png', 'csv', 'json'] as const;
export type Format = (typeof formats)[number];

/** PNGs are for slides and papers: two pixels a unit. */
const pngScale = 2;

/** Saves every map on screen; resolves to how many there were. */
export async function exportMaps(maps: MapExport, format: Format): Promise<number> {
  const { heatmaps } = maps;
  for (const [index, heatmap] of heatmaps.entries()) {
    const name = heatmaps.length > 1 ? `attention-${index + 1}.${format}` : `attention.${format}`;
    saveFile(await fileOf(maps, heatmap, format), name);
  }
  return heatmaps.length;
}

/** What the lens shows. */
export function lensMaps(lens: MultiheadLens): MapExport {
  const { text, mask, scale, temperature } = lens.state;
  const t = translator(lens.language);
  const model = lens.modelInfo?.name;
  const scaleName = typeof scale === 'number' ? String(scale) : t(`scale.${scale}`);
  const facts = [
    model,
    `${t('mask')}: ${t(`mask.${mask.preset}`)}`,
    `${t('scale')}: ${scaleName}`,
    `${t('temperature')}: ${temperature}`,
  ];
  return {
    heatmaps: lens.heatmaps,
    words: lens.words,
    caption: [text, facts.join(' · '), t('caveat')],
    settings: { model, text, mask: mask.preset, scale, temperature, link: `#${stateToHash(lens.state)}` },
  };
}

async function fileOf(maps: MapExport, heatmap: HeatmapElement, format: Format): Promise<Blob> {
  switch (format) {
    case 'svg':
      return new Blob([svgOf(maps, heatmap)], { type: 'image/svg+xml' });
    case 'png':
      return svgToPng(svgOf(maps, heatmap), pngScale);
    case 'csv':
      return new Blob([mapCsv(heatmap.picture)], { type: 'text/csv' });
    case 'json':
      return new Blob([mapJson(heatmap.picture, heatmap.label, maps.settings)], { type: 'application/json' });
  }
}

function svgOf({ caption, words }: MapExport, heatmap: HeatmapElement): string {
  const { picture, theme, label } = heatmap;
  const large = picture.queries.length * picture.keys.length > MOST_RECTANGLES;
  return mapSvg(picture, {
    ...theme,
    title: label,
    caption,
    accent: getComputedStyle(heatmap).getPropertyValue('--mh-accent'),
    words,
    ...(large ? { image: mapImage(picture, theme.theme) } : {}),
  });
}
