/**
 * Mouse, pen and touch on a map, turned into intentions: hover, choose, paint, zoom, pan. No drawing here.
 *
 * Touch: a tap shows a cell, a second tap on it chooses its row, a long press hovers and follows the finger, two fingers
 * zoom and pan; one finger scrolls map and page, except with a paint tool.
 */
import { type BrushTarget, type PaintedCell, Stroke } from './paint.js';
import type { Tool } from './types.js';

export interface MapPointerHost {
  readonly tool: Tool;
  readonly queries: readonly unknown[];
  readonly keys: readonly unknown[];
  /**
   * What lies at a point of the screen. With `kind`, the nearest of that kind or null outside the map: a drag that began
   * on row labels goes on over rows.
   */
  targetAt(event: PointerEvent, kind?: BrushTarget['kind']): BrushTarget | null;
  hover(target: BrushTarget | null): void;
  choose(target: BrushTarget, touch: boolean): void;
  paint(cells: PaintedCell[], done: boolean): void;
  zoomBy(factor: number, clientX: number, clientY: number): void;
  panBy(x: number, y: number): void;
}

const LONG_PRESS = 450;
/** A press that moves further than this is no click. */
const CLICK_SLOP = 8;

interface Press {
  readonly id: number;
  readonly x: number;
  readonly y: number;
  readonly touch: boolean;
  readonly target: BrushTarget | null;
  moved: boolean;
  long: boolean;
  timer: ReturnType<typeof setTimeout> | undefined;
}

interface Pinch {
  readonly distance: number;
  readonly x: number;
  readonly y: number;
}

export class MapPointer {
  readonly #host: MapPointerHost;
  #press: Press | null = null;
  #stroke: { readonly stroke: Stroke; readonly kind: BrushTarget['kind'] } | null = null;
  #pinch: Pinch | null = null;

  constructor(host: MapPointerHost) {
    this.#host = host;
  }

  get painting(): boolean {
    return this.#stroke !== null;
  }

  readonly down = (event: PointerEvent): void => {
    if (event.button !== 0 || !event.isPrimary) return;
    const target = this.#host.targetAt(event);
    const touch = event.pointerType === 'touch';
    this.#press = {
      id: event.pointerId,
      x: event.clientX,
      y: event.clientY,
      touch,
      target,
      moved: false,
      long: false,
      timer: undefined,
    };
    if (this.#host.tool !== 'inspect') this.#beginStroke(event, target);
    else if (touch) this.#press.timer = setTimeout(this.#longPress, LONG_PRESS);
  };

  readonly move = (event: PointerEvent): void => {
    const press = this.#press?.id === event.pointerId ? this.#press : null;
    if (press && Math.hypot(event.clientX - press.x, event.clientY - press.y) > CLICK_SLOP) {
      press.moved = true;
      clearTimeout(press.timer);
    }
    if (this.#stroke) this.#extendStroke(event);
    else if (event.pointerType !== 'touch' || press?.long) this.#host.hover(this.#host.targetAt(event));
  };

  readonly up = (event: PointerEvent): void => {
    const press = this.#press;
    if (press?.id !== event.pointerId) return;
    clearTimeout(press.timer);
    this.#press = null;
    if (this.#stroke) this.#endStroke();
    else if (!press.moved && !press.long && press.target && this.#host.tool === 'inspect') {
      this.#host.choose(press.target, press.touch);
    }
  };

  readonly cancel = (): void => {
    clearTimeout(this.#press?.timer);
    this.#press = null;
    this.#endStroke();
  };

  readonly leave = (event: PointerEvent): void => {
    if (event.pointerType !== 'touch' && !this.#stroke) this.#host.hover(null);
  };

  readonly wheel = (event: WheelEvent): void => {
    // A pinch on a touchpad arrives as a wheel with ctrl.
    if (!event.ctrlKey) return;
    event.preventDefault();
    const pixels = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? event.deltaY * 16 : event.deltaY;
    this.#host.zoomBy(Math.exp(-pixels / 200), event.clientX, event.clientY);
  };

  readonly touchStart = (event: TouchEvent): void => {
    if (event.touches.length !== 2) return;
    // Two fingers are ours; prevented here, or the browser takes them as its own scroll.
    event.preventDefault();
    this.cancel();
    this.#pinch = pinchOf(event.touches);
  };

  readonly touchMove = (event: TouchEvent): void => {
    if (this.#pinch && event.touches.length === 2) {
      event.preventDefault();
      const now = pinchOf(event.touches);
      this.#host.panBy(this.#pinch.x - now.x, this.#pinch.y - now.y);
      this.#host.zoomBy(now.distance / this.#pinch.distance, now.x, now.y);
      this.#pinch = now;
    } else if (this.#stroke || this.#press?.long) {
      event.preventDefault();
    }
  };

  readonly touchEnd = (event: TouchEvent): void => {
    if (event.touches.length < 2) this.#pinch = null;
  };

  readonly #longPress = (): void => {
    if (!this.#press) return;
    this.#press.long = true;
    this.#host.hover(this.#press.target);
  };

  #beginStroke(event: PointerEvent, target: BrushTarget | null): void {
    if (!target) return;
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    const stroke = new Stroke(this.#host.queries.length, this.#host.keys.length);
    this.#stroke = { stroke, kind: target.kind };
    this.#host.hover(target);
    this.#host.paint(stroke.extend(target), false);
  }

  #extendStroke(event: PointerEvent): void {
    if (!this.#stroke) return;
    const { stroke, kind } = this.#stroke;
    const way = event.getCoalescedEvents?.() ?? [];
    const cells = (way.length > 0 ? way : [event]).flatMap((point) => {
      const target = this.#host.targetAt(point, kind);
      return target ? stroke.extend(target) : [];
    });
    this.#host.hover(this.#host.targetAt(event, kind));
    if (cells.length > 0) this.#host.paint(cells, false);
  }

  #endStroke(): void {
    if (!this.#stroke) return;
    this.#stroke = null;
    this.#host.paint([], true);
  }
}

function pinchOf(touches: TouchList): Pinch {
  const [a, b] = [touches[0] as Touch, touches[1] as Touch];
  return {
    distance: Math.max(1, Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY)),
    x: (a.clientX + b.clientX) / 2,
    y: (a.clientY + b.clientY) / 2,
  };
}
