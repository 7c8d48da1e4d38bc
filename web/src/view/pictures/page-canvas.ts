/**
 * Drawing on canvases of the page, for all pictures at once: after every element has rendered, and not while nobody can
 * see it. Text on a canvas needs the page's styles, which the browser brings up to date when it is asked; asked in the
 * middle of the renderings it would do so once for each of them.
 */

type Draw = (context: CanvasRenderingContext2D) => void;

/** What each canvas is to show; only the newest counts. */
const wanted = new Map<HTMLCanvasElement, Draw>();

/**
 * Gives a canvas this size in device pixels, and has `draw` called on it, empty and without a transformation, when the
 * renderings of this task are done, or once the page is to be seen again.
 */
export function drawSoon(canvas: HTMLCanvasElement, width: number, height: number, draw: Draw): void {
  // A size that stays is not set again, which would make the browser lay out the page.
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  if (wanted.size === 0) document.hidden ? whenSeen() : queueMicrotask(drawAll);
  wanted.set(canvas, draw);
}

function whenSeen(): void {
  const seen = () => {
    if (document.hidden) return;
    document.removeEventListener('visibilitychange', seen);
    drawAll();
  };
  document.addEventListener('visibilitychange', seen);
}

function drawAll(): void {
  const drawings = [...wanted];
  wanted.clear();
  for (const [canvas, draw] of drawings) {
    const context = canvas.width > 0 && canvas.height > 0 ? canvas.getContext('2d') : null;
    if (!context) continue;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    draw(context);
  }
}
