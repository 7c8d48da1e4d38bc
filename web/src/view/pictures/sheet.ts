/**
 * Drawing on a canvas of the page by way of one outside it. To set a font on a canvas in the page makes the browser bring
 * the page's styles and layout up to date, in the middle of an update that will change them again.
 */
let sheet: CanvasRenderingContext2D | null | undefined;

/**
 * Replaces what is on `canvas` by what `draw` draws, after giving it its size in device pixels. The context's state is
 * as new.
 */
export function drawBySheet(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
  draw: (context: CanvasRenderingContext2D) => void,
): void {
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  sheet ??= document.createElement('canvas').getContext('2d');
  const context = canvas.getContext('2d');
  if (!sheet || !context || width === 0 || height === 0) return;
  if (sheet.canvas.width < width) sheet.canvas.width = width;
  if (sheet.canvas.height < height) sheet.canvas.height = height;
  sheet.save();
  sheet.clearRect(0, 0, width, height);
  draw(sheet);
  sheet.restore();
  context.globalCompositeOperation = 'copy';
  context.drawImage(sheet.canvas, 0, 0, width, height, 0, 0, width, height);
}
