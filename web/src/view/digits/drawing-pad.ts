/**
 * `<mh-drawing-pad>`: a picture of 28 x 28 pixels to draw on, with pointer or keys: arrows move the pen, Space puts it down
 * and lifts it.
 *
 * @fires mh-draw - the picture after a stroke
 */
import { css, html, LitElement, type PropertyValues, type TemplateResult } from 'lit';
import { pictureSide } from 'multihead/models/digits';
import { drawStroke, type PicturePoint, paintPicture } from './ink.js';

declare global {
  interface HTMLElementEventMap {
    'mh-draw': CustomEvent<Float32Array>;
  }
}

const moves: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

export class DrawingPad extends LitElement {
  static override readonly properties = { picture: { attribute: false }, label: {}, dark: { type: Boolean } };
  static override readonly styles = css`
    :host {
      display: block;
      position: relative;
      aspect-ratio: 1;
      border: 1px solid var(--mh-line);
      border-radius: 6px;
      background: var(--mh-paper);
      overflow: hidden;
    }
    canvas {
      display: block;
      inline-size: 100%;
      block-size: 100%;
      image-rendering: pixelated;
      cursor: crosshair;
      /* A finger draws; it does not scroll. */
      touch-action: none;
    }
    canvas:focus-visible {
      outline: 2px solid var(--mh-focus);
      outline-offset: -3px;
    }
    .pen {
      position: absolute;
      inline-size: 12px;
      block-size: 12px;
      margin: -6px;
      border: 2px solid var(--mh-focus);
      border-radius: 50%;
      pointer-events: none;
    }
    .pen.down {
      background: var(--mh-focus);
    }
    canvas:not(:focus-visible) + .pen {
      display: none;
    }
  `;

  declare picture: Float32Array;
  declare label: string;
  /** Light ink, for a dark page. */
  declare dark: boolean;

  #last: PicturePoint | null = null;
  #pen: PicturePoint = { x: pictureSide / 2, y: pictureSide / 4 };
  #penDown = false;

  constructor() {
    super();
    this.picture = new Float32Array(pictureSide ** 2);
    this.label = '';
    this.dark = false;
  }

  #pointOf(event: PointerEvent): PicturePoint {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    return {
      x: ((event.clientX - box.left) / box.width) * pictureSide,
      y: ((event.clientY - box.top) / box.height) * pictureSide,
    };
  }

  #draw(from: PicturePoint, to: PicturePoint): void {
    this.picture = drawStroke(this.picture, from, to);
    this.dispatchEvent(new CustomEvent('mh-draw', { detail: this.picture, bubbles: true, composed: true }));
  }

  #begin(event: PointerEvent): void {
    if (event.button !== 0) return;
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    this.#last = this.#pointOf(event);
    this.#draw(this.#last, this.#last);
  }

  #go(event: PointerEvent): void {
    if (!this.#last) return;
    const to = this.#pointOf(event);
    this.#draw(this.#last, to);
    this.#last = to;
  }

  #end(): void {
    this.#last = null;
  }

  #pressed(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const move = moves[event.key];
    if (!move && event.key !== ' ') return;
    event.preventDefault();
    if (!move) {
      this.#penDown = !this.#penDown;
      if (this.#penDown) this.#draw(this.#pen, this.#pen);
    } else {
      const within = (value: number) => Math.min(pictureSide - 0.5, Math.max(0.5, value));
      const to = { x: within(this.#pen.x + move[0]), y: within(this.#pen.y + move[1]) };
      if (this.#penDown) this.#draw(this.#pen, to);
      this.#pen = to;
    }
    this.requestUpdate();
  }

  protected override updated(_changed: PropertyValues): void {
    const canvas = this.renderRoot.querySelector('canvas');
    if (canvas) paintPicture(canvas, this.picture, this.dark ? [232, 234, 237] : [28, 33, 39]);
  }

  protected override render(): TemplateResult {
    const place = (value: number) => `${(100 * value) / pictureSide}%`;
    return html`<canvas
        tabindex="0"
        role="img"
        aria-label=${this.label}
        @pointerdown=${this.#begin}
        @pointermove=${this.#go}
        @pointerup=${this.#end}
        @pointercancel=${this.#end}
        @keydown=${this.#pressed}
      ></canvas>
      <span class="pen ${this.#penDown ? 'down' : ''}" style="left: ${place(this.#pen.x)}; top: ${place(this.#pen.y)}"></span>`;
  }
}
