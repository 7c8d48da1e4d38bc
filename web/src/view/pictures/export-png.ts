/** The parts of an export that need a browser: pictures of pixels. */
import { pictureScale, type Theme } from './colour.js';
import { cellPixels, putPixels } from './map-pixels.js';
import type { MapPicture } from './types.js';

/** The cells of a map as a PNG data URL, one pixel a cell, hidden cells transparent; for `mapSvg` of a large map. */
export function mapImage(picture: MapPicture, theme: Theme): string {
  const canvas = document.createElement('canvas');
  canvas.width = picture.keys.length;
  canvas.height = picture.queries.length;
  const source = { ...picture, rows: null, keyCount: canvas.width, offset: 0 };
  const window = { queryFrom: 0, queryTo: canvas.height, keyFrom: 0, keyTo: canvas.width };
  putPixels(canvas, cellPixels(source, pictureScale(picture, theme), window), canvas.width, canvas.height);
  return canvas.toDataURL('image/png');
}

/** An SVG document as a PNG, `scale` pixels a unit. Rejects where the browser cannot draw it, or has no room for it. */
export async function svgToPng(svg: string, scale: number): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  canvas.width = Math.round(image.naturalWidth * scale);
  canvas.height = Math.round(image.naturalHeight * scale);
  canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => {
      if (blob) resolve(blob);
      else
        reject(new Error(`The browser could not make a PNG of ${canvas.width} × ${canvas.height} pixels; export SVG`));
    }, 'image/png');
  });
}
