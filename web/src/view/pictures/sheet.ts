/**
 * Drawing text outside the page. To set a font on a canvas in the page makes the browser bring the page's styles and
 * layout up to date, in the middle of an update that will change them again; a canvas outside has no page to ask.
 */
let sheet: OffscreenCanvas | undefined;

/** What `draw` draws on an empty sheet of this size in device pixels, both above 0; whoever uses it closes it. */
export function drawOutside(
  width: number,
  height: number,
  draw: (context: OffscreenCanvasRenderingContext2D) => void,
): ImageBitmap {
  sheet ??= new OffscreenCanvas(width, height);
  // A new size is also a new state of the context.
  sheet.width = width;
  sheet.height = height;
  draw(sheet.getContext('2d') as OffscreenCanvasRenderingContext2D);
  return sheet.transferToImageBitmap();
}

/** Shows a drawing on a canvas that shows nothing else; nothing is copied. Sizes in device pixels. */
export function drawOnPage(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
  draw: (context: OffscreenCanvasRenderingContext2D) => void,
): void {
  const bitmap = width > 0 && height > 0 ? drawOutside(width, height, draw) : null;
  canvas.getContext('bitmaprenderer')?.transferFromImageBitmap(bitmap);
}
