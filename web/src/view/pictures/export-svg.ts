/**
 * The map that is shown as one SVG document: cells as rectangles (or one picture, of a large map), labels as text, title,
 * legend, and a caption with the settings. Pure; the same labels and colours as on the page.
 */
import {
  type ColourScale,
  colourOf,
  LOG_DECADES,
  LUT_SIZE,
  pictureScale,
  pixelToCss,
  type Theme,
  textColourOn,
} from './colour.js';
import { formatChange, formatNumber, formatTick, formatWeight } from './format.js';
import { LABEL, type PlacedLabel, placeColumnLabels, placeRowLabels } from './labels.js';
import { layoutMap, type MapLayout } from './map-layout.js';
import { isVisible } from './map-words.js';
import { estimateWidth, type Measure, tokenText } from './token-text.js';
import type { MapPicture, Words } from './types.js';
import { unitName } from './words.js';

export interface SvgOptions {
  readonly title: string;
  /** Lines below the map: model, head, mask, scale… */
  readonly caption: readonly string[];
  readonly theme: Theme;
  /** CSS colours and the font of the page. */
  readonly ink: string;
  readonly paper: string;
  readonly line: string;
  readonly accent: string;
  readonly font: string;
  readonly words: Words;
  /** Width of text; default: an estimate. */
  readonly measure?: Measure;
  /** A map of more than `MOST_RECTANGLES` cells: its cells as an image of one pixel a cell (a data URL). */
  readonly image?: string;
}

/** A map of more cells needs `image`. */
export const MOST_RECTANGLES = 16384;

const WIDTH = 900;
/** A small map must leave room for its legend, title and caption. */
const LEAST_WIDTH = 480;
/** No side of the map becomes longer. */
const LONGEST = 8000;
const PADDING = 20;
const NUMBERS_FROM = 32;
const LINE = 17;
const LEGEND = { width: 180, bar: 10, height: 44 };

export function mapSvg(picture: MapPicture, options: SvgOptions): string {
  const { queries, keys } = picture;
  if (queries.length * keys.length > MOST_RECTANGLES && !options.image) {
    const size = `${queries.length} × ${keys.length}`;
    throw new RangeError(`mapSvg: a map of ${size} cells needs options.image, its cells as one picture`);
  }
  const measure = options.measure ?? estimateWidth(LABEL.fontSize);
  const texts = { queryTexts: queries.map(tokenText), keyTexts: keys.map(tokenText) };
  const layout = layoutMap({
    ...texts,
    space: { width: WIDTH, height: Number.POSITIVE_INFINITY, pixelRatio: 1 },
    zoom:
      Math.max(queries.length, keys.length) * 14 > LONGEST ? LONGEST / Math.max(queries.length, keys.length) : 'auto',
    rowValues: picture.rowValues !== null,
    measure,
  });
  const scale = pictureScale(picture, options.theme);
  const { columnLabelHeight, rowLabelWidth, mapWidth, mapHeight, rightWidth } = layout;
  const mapLeft = PADDING + rowLabelWidth;
  const mapTop = PADDING + LINE * 1.5 + columnLabelHeight;
  const legendTop = mapTop + mapHeight + LINE * (picture.rowValues ? 2 : 1);
  const captionTop = legendTop + LEGEND.height + LINE;
  const width = Math.ceil(Math.max(mapLeft + mapWidth + rightWidth + PADDING, LEAST_WIDTH));
  const caption = options.caption.flatMap((line) => wrap(line, width - PADDING * 2, measure));
  const height = Math.ceil(captionTop + caption.length * LINE + PADDING / 2);

  const parts = [
    `<rect width="100%" height="100%" fill="${escapeXml(options.paper)}"/>`,
    textAt(PADDING, PADDING + LINE / 2, options.title, 'font-size="15" font-weight="700"'),
    group(
      mapLeft,
      PADDING + LINE * 1.5,
      placeColumnLabels(texts.keyTexts, { from: 0, to: keys.length }, columnPane(layout), measure).map(label),
    ),
    group(
      PADDING,
      mapTop,
      placeRowLabels(
        texts.queryTexts,
        { from: 0, to: queries.length },
        { cell: layout.cell, width: rowLabelWidth },
        measure,
      ).map(label),
    ),
    group(mapLeft, mapTop, [...cells(picture, layout, scale, options), ...chosenRow(picture, layout, options)]),
    ...(picture.rowValues ? [group(mapLeft + mapWidth, mapTop, rowBars(picture, layout, options))] : []),
    group(mapLeft, legendTop, legend(picture, scale, options)),
    ...caption.map((line, i) => textAt(PADDING, captionTop + i * LINE, line, 'opacity="0.75"')),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" font-family="${escapeXml(options.font)}" font-size="${LABEL.fontSize}" fill="${escapeXml(options.ink)}">
<title>${escapeXml(options.title)}</title>
<desc>${escapeXml(options.caption.join(' · '))}</desc>
<defs>${hatchPattern(options)}${gradient(scale)}</defs>
${parts.join('\n')}
</svg>
`;
}

const columnPane = (layout: MapLayout) => ({
  cell: layout.cell,
  mode: layout.columnMode,
  height: layout.columnLabelHeight,
});

/* ---------------------------------------------------------------------------------------------------- Parts */

function label({ lines, anchor, rotate, full, cut }: PlacedLabel): string {
  const [first] = lines;
  const turn = rotate && first ? ` transform="rotate(${rotate} ${number(first.x)} ${number(first.y)})"` : '';
  const spans = lines.map(
    ({ text, x, y }) => `<tspan x="${number(x)}" y="${number(y)}" dy=".35em">${escapeXml(text)}</tspan>`,
  );
  const title = cut ? `<title>${escapeXml(full)}</title>` : '';
  return `<text text-anchor="${anchor}"${turn}>${title}${spans.join('')}</text>`;
}

function cells(picture: MapPicture, layout: MapLayout, scale: ColourScale, { image }: SvgOptions): string[] {
  const { mapWidth, mapHeight, cell } = layout;
  const area = `width="${number(mapWidth)}" height="${number(mapHeight)}"`;
  const ground = `<rect ${area} fill="url(#hatch)"/>`;
  if (image) {
    return [
      ground,
      `<image ${area} preserveAspectRatio="none" style="image-rendering:pixelated" href="${escapeXml(image)}"/>`,
    ];
  }
  const { queries, keys, weights, baseline } = picture;
  const drawn = [ground];
  for (let query = 0; query < queries.length; query++) {
    for (let key = 0; key < keys.length; key++) {
      if (!isVisible(picture, query, key)) continue;
      const at = query * keys.length + key;
      const value = (weights[at] as number) - (baseline ? (baseline[at] as number) : 0);
      const pixel = colourOf(scale, value);
      const [x, y] = [key * cell, query * cell];
      drawn.push(
        `<rect x="${number(x)}" y="${number(y)}" width="${number(cell)}" height="${number(cell)}" fill="${pixelToCss(pixel)}"/>`,
      );
      if (cell < NUMBERS_FROM) continue;
      const text = baseline ? formatChange(value) : formatWeight(value);
      const look = `font-size="11" text-anchor="middle" fill="${textColourOn(pixel)}"`;
      drawn.push(textAt(x + cell / 2, y + cell / 2, text, look));
    }
  }
  return drawn;
}

function chosenRow({ selectedQuery }: MapPicture, { cell, mapWidth }: MapLayout, { accent }: SvgOptions): string[] {
  if (selectedQuery === null) return [];
  const place = `y="${number(selectedQuery * cell)}" width="${number(mapWidth)}" height="${number(cell)}"`;
  return [`<rect ${place} fill="none" stroke="${escapeXml(accent)}" stroke-width="2"/>`];
}

function rowBars({ rowValues, queries }: MapPicture, layout: MapLayout, { line, words }: SvgOptions): string[] {
  if (!rowValues) return [];
  const { cell, valuesWidth, mapHeight } = layout;
  const room = valuesWidth - 42;
  const thickness = Math.max(1, Math.min(10, cell - 3));
  const bars = queries.flatMap((_, query) => {
    const value = rowValues.values[query] as number;
    const share = rowValues.max > 0 ? Math.min(1, Math.max(0, value / rowValues.max)) : 0;
    const place = `x="4" y="${number((query + 0.5) * cell - thickness / 2)}" height="${number(thickness)}"`;
    const marks = [
      `<rect ${place} width="${room}" fill="${escapeXml(line)}" opacity="0.35"/>`,
      `<rect ${place} width="${number(share * room)}" opacity="0.65"/>`,
    ];
    if (cell >= LABEL.pitch)
      marks.push(textAt(valuesWidth - 4, (query + 0.5) * cell, formatNumber(value), 'text-anchor="end"'));
    return marks;
  });
  const caption = words('rowValuesCaption', { max: formatTick(rowValues.max), unit: unitName(rowValues.unit, words) });
  return [...bars, textAt(valuesWidth - 4, mapHeight + LINE * 0.9, caption, 'text-anchor="end" opacity="0.75"')];
}

function legend(picture: MapPicture, scale: ColourScale, { line, words }: SvgOptions): string[] {
  const { width, bar } = LEGEND;
  const kind = words(scale.kind === 'diverging' ? 'legendChange' : 'legendWeight');
  const name = scale.type === 'log' ? `${kind} · ${words('legendLog')}` : kind;
  const top = LINE - 4;
  const stroke = `stroke="${escapeXml(line)}"`;
  const drawn = [
    textAt(0, 4, name, 'opacity="0.75"'),
    `<rect y="${top}" width="${width}" height="${bar}" fill="url(#scale)" ${stroke}/>`,
    ...legendTicks(scale).map(({ share, text }) => textAt(share * width, top + bar + 10, text, 'text-anchor="middle"')),
  ];
  if (picture.visible) {
    drawn.push(`<rect x="${width + 30}" y="${top}" width="22" height="${bar}" fill="url(#hatch)" ${stroke}/>`);
    drawn.push(textAt(width + 58, top + bar / 2, words('legendMasked'), 'opacity="0.75"'));
  }
  return drawn;
}

/** Ticks at the quarters of a linear scale and the decades of a logarithmic one. */
function legendTicks({ kind, type, max }: ColourScale): { readonly share: number; readonly text: string }[] {
  const parts = type === 'log' ? LOG_DECADES : 4;
  return Array.from({ length: parts + 1 }, (_, i) => {
    const share = i / parts;
    if (type === 'log') return { share, text: formatTick(max / 10 ** (LOG_DECADES - i)) };
    const value = kind === 'diverging' ? (2 * share - 1) * max : share * max;
    return { share, text: (kind === 'diverging' && value > 0 ? '+' : '') + formatTick(value) };
  });
}

function hatchPattern({ paper, line }: SvgOptions): string {
  const size = 'width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"';
  const ground = `<rect width="5" height="5" fill="${escapeXml(paper)}"/>`;
  return `<pattern id="hatch" ${size}>${ground}<path d="M0 0V5" stroke="${escapeXml(line)}" stroke-width="1.6"/></pattern>`;
}

function gradient({ lut }: ColourScale): string {
  const stops = Array.from({ length: 17 }, (_, i) => {
    const colour = pixelToCss(lut[Math.round((i / 16) * (LUT_SIZE - 1))] as number);
    return `<stop offset="${number(i / 16)}" stop-color="${colour}"/>`;
  });
  return `<linearGradient id="scale">${stops.join('')}</linearGradient>`;
}

/* -------------------------------------------------------------------------------------------------- Writing */

/** Breaks a line of text at spaces, or anywhere between the characters of scripts without them. */
function wrap(text: string, width: number, measure: Measure): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.match(/\s*(?:[^\s\u3000-\u9fff\uff00-\uffef]+|[^\s])/gu) ?? []) {
    if (line !== '' && measure(line + word) > width) {
      lines.push(line);
      line = word.trimStart();
    } else {
      line += word;
    }
  }
  return line === '' ? lines : [...lines, line];
}

const group = (x: number, y: number, parts: readonly string[]) =>
  `<g transform="translate(${number(x)} ${number(y)})">\n${parts.join('\n')}\n</g>`;

const textAt = (x: number, y: number, text: string, attributes: string) =>
  `<text x="${number(x)}" y="${number(y)}" dy=".35em" ${attributes}>${escapeXml(text)}</text>`;

const number = (value: number) => String(Number(value.toFixed(2)));

/** Text for XML 1.0: markup escaped, and what XML cannot hold at all (control characters, half characters) replaced. */
export function escapeXml(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Cs}\ufffe\uffff]/gu, (sign) =>
      sign === '\t' || sign === '\n' || sign === '\r' ? ' ' : '\ufffd',
    )
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
