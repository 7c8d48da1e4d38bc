/** The maps on screen as files: SVG, PNG, CSV or JSON, with the sentence and the settings that made them. */
import { translator } from '../src/view/i18n/index.js';
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
export async function exportMaps(lens: MultiheadLens, format: Format): Promise<number> {
  const { heatmaps } = lens;
  for (const [index, heatmap] of heatmaps.entries()) {
    const name = heatmaps.length > 1 ? `attention-${index + 1}.${format}` : `attention.${format}`;
    saveFile(await fileOf(lens, heatmap, format), name);
  }
  return heatmaps.length;
}

async function fileOf(lens: MultiheadLens, heatmap: HeatmapElement, format: Format): Promise<Blob> {
  switch (format) {
    case 'svg':
      return new Blob([svgOf(lens, heatmap)], { type: 'image/svg+xml' });
    case 'png':
      return svgToPng(svgOf(lens, heatmap), pngScale);
    case 'csv':
      return new Blob([mapCsv(heatmap.picture)], { type: 'text/csv' });
    case 'json':
      return new Blob([mapJson(heatmap.picture, heatmap.label, settings(lens))], { type: 'application/json' });
  }
}

/** What it takes to make the same map again. */
function settings({ state, modelInfo }: MultiheadLens): Readonly<Record<string, unknown>> {
  const { text, scale, temperature } = state;
  return { model: modelInfo?.name, text, mask: state.mask.preset, scale, temperature, link: `#${stateToHash(state)}` };
}

function svgOf(lens: MultiheadLens, heatmap: HeatmapElement): string {
  const { picture, theme, label } = heatmap;
  const t = translator(lens.language);
  const { mask, text, scale, temperature } = lens.state;
  const scaleName = typeof scale === 'number' ? String(scale) : t(`scale.${scale}`);
  const large = picture.queries.length * picture.keys.length > MOST_RECTANGLES;
  return mapSvg(picture, {
    ...theme,
    title: label,
    caption: [
      text,
      [
        lens.modelInfo?.name,
        `${t('mask')}: ${t(`mask.${mask.preset}`)}`,
        `${t('scale')}: ${scaleName}`,
        `${t('temperature')}: ${temperature}`,
      ].join(' · '),
      t('caveat'),
    ],
    accent: getComputedStyle(lens).getPropertyValue('--mh-accent'),
    words: lens.words,
    ...(large ? { image: mapImage(picture, theme.theme) } : {}),
  });
}
