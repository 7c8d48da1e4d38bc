/** Ink on a picture of 28 x 28 pixels. */
import { pictureSide } from 'multihead/models/digits';

/** Of the pen, in pixels: about as wide as the strokes of MNIST. */
const radius = 1.35;

/** A point in pixels, from the top left corner of the picture. */
export interface PicturePoint {
  readonly x: number;
  readonly y: number;
}

/** The picture with a stroke from one point to another in it; ink never gets less. */
export function drawStroke(picture: Float32Array, from: PicturePoint, to: PicturePoint): Float32Array {
  const next = picture.slice();
  for (let y = 0; y < pictureSide; y++)
    for (let x = 0; x < pictureSide; x++) {
      const away = distanceToStroke({ x: x + 0.5, y: y + 0.5 }, from, to);
      const ink = Math.min(1, Math.max(0, radius + 0.5 - away));
      const i = y * pictureSide + x;
      next[i] = Math.max(next[i] ?? 0, ink);
    }
  return next;
}

function distanceToStroke(point: PicturePoint, from: PicturePoint, to: PicturePoint): number {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = dx * dx + dy * dy;
  const along = length === 0 ? 0 : ((point.x - from.x) * dx + (point.y - from.y) * dy) / length;
  const share = Math.min(1, Math.max(0, along));
  return Math.hypot(point.x - from.x - share * dx, point.y - from.y - share * dy);
}

/**
 * The picture moved by whole pixels so that its ink has its middle in the middle, as MNIST's have: a digit drawn in a corner
 * is the same digit. A blank one stays.
 */
export function centred(picture: Float32Array): Float32Array {
  let [mass, atX, atY] = [0, 0, 0];
  picture.forEach((ink, i) => {
    mass += ink;
    atX += ink * (i % pictureSide);
    atY += ink * Math.floor(i / pictureSide);
  });
  if (mass === 0) return picture;
  const middle = (pictureSide - 1) / 2;
  const [moveX, moveY] = [Math.round(middle - atX / mass), Math.round(middle - atY / mass)];
  return picture.map((_, i) => {
    const [x, y] = [(i % pictureSide) - moveX, Math.floor(i / pictureSide) - moveY];
    const inside = x >= 0 && y >= 0 && x < pictureSide && y < pictureSide;
    return inside ? (picture[y * pictureSide + x] ?? 0) : 0;
  });
}

/** The pictures in `samples.ts`: [count][28 · 28], 0 to 1. */
export function readSamples(base64: string): Float32Array[] {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const pixels = pictureSide ** 2;
  return Array.from({ length: bytes.length / pixels }, (_, i) =>
    Float32Array.from(bytes.subarray(i * pixels, (i + 1) * pixels), (byte) => byte / 255),
  );
}

/** Draws a picture into a canvas of 28 x 28: ink in a colour, paper clear. */
export function paintPicture(
  canvas: HTMLCanvasElement,
  picture: Float32Array,
  rgb: readonly [number, number, number],
): void {
  canvas.width = pictureSide;
  canvas.height = pictureSide;
  const context = canvas.getContext('2d');
  if (!context) return;
  const image = context.createImageData(pictureSide, pictureSide);
  picture.forEach((ink, i) => {
    image.data.set([...rgb, Math.round(255 * ink)], 4 * i);
  });
  context.putImageData(image, 0, 0);
}
