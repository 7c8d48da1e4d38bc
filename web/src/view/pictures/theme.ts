/**
 * How a picture finds the page's colours: styles with fallbacks, and what a canvas needs of them resolved. The shared
 * styles and names of custom properties are in one place here.
 */
import { css, type ReactiveController, type ReactiveControllerHost } from 'lit';
import { luminance, type Theme } from './colour.js';
import type { MapInk } from './map-pixels.js';
import { estimateWidth, type Measure } from './token-text.js';

/** Every picture's own styles begin with these. Colours that are not set are the system's. */
export const pictureStyles = css`
  :host {
    --ink: var(--mh-ink, CanvasText);
    --paper: var(--mh-paper, Canvas);
    --muted: var(--mh-muted, color-mix(in srgb, var(--ink) 65%, var(--paper)));
    --line: var(--mh-line, color-mix(in srgb, var(--ink) 25%, var(--paper)));
    --accent: var(--mh-accent, Highlight);
    --focus: var(--mh-focus, var(--accent));
    display: block;
    position: relative;
    box-sizing: border-box;
    color: var(--ink);
    background-color: var(--paper);
    /* Carry --line and --muted to the canvas, which needs them as resolved colours. */
    text-decoration-color: var(--line);
    column-rule-color: var(--muted);
    font: calc(12px * var(--mh-size, 1)) / 1.3 var(--mh-font, system-ui, "PingFang SC", "Noto Sans SC", "Noto Sans CJK SC", "Microsoft YaHei", sans-serif);
    font-variant-numeric: tabular-nums;
    /* A change of colours ends a transition, and so is noticed: see ThemeController. */
    transition: background-color 1ms;
  }
  :host([hidden]) {
    display: none;
  }
  @media (forced-colors: active) {
    :host {
      --ink: CanvasText;
      --paper: Canvas;
      --muted: CanvasText;
      --line: CanvasText;
      --accent: Highlight;
      --focus: Highlight;
    }
  }
  *,
  *::before {
    box-sizing: border-box;
  }
  svg text {
    fill: currentColor;
  }
  .hidden-words {
    position: absolute;
    width: 1px;
    height: 1px;
    margin: -1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
    /* Nobody sees whether the columns of such a table fit. */
    table-layout: fixed;
  }
`;

/** The resolved colours of a picture and whether its paper is light. */
export interface PictureTheme extends MapInk {
  readonly muted: string;
  readonly theme: Theme;
}

/** Reads the colours that style an element. */
function readTheme(element: HTMLElement): PictureTheme {
  const style = getComputedStyle(element);
  const paper = style.backgroundColor;
  const strong = matchMedia('(prefers-contrast: more)').matches || matchMedia('(forced-colors: active)').matches;
  return {
    paper,
    ink: style.color,
    line: style.textDecorationColor,
    muted: style.columnRuleColor,
    font: style.fontFamily,
    strong,
    theme: luminance(resolveColour(paper)) > 0.18 ? 'light' : 'dark',
  };
}

const resolved = new Map<string, number>();

/** A packed pixel of any CSS colour, in whatever notation the browser reports it; transparent counts as white. */
function resolveColour(colour: string): number {
  const known = resolved.get(colour);
  if (known !== undefined) return known;
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 1;
  const context = canvas.getContext('2d', { willReadFrequently: true });
  if (!context) return 0xffffffff;
  context.fillStyle = '#ffffff';
  context.fillRect(0, 0, 1, 1);
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  const [red, green, blue] = context.getImageData(0, 0, 1, 1).data as unknown as [number, number, number];
  const pixel = ((blue << 16) | (green << 8) | red) >>> 0;
  resolved.set(colour, pixel);
  return pixel;
}

/**
 * The surroundings of a picture: its width and colours, read once and kept until they change, since reading them in the
 * middle of an update makes the browser lay out the page. Tells its host to draw again when they or the pixel ratio do.
 */
export class ThemeController implements ReactiveController {
  readonly #host: ReactiveControllerHost & HTMLElement;
  readonly #redraw: () => void;
  #observer: ResizeObserver | undefined;
  #width = 0;
  #theme: PictureTheme | null = null;

  constructor(host: ReactiveControllerHost & HTMLElement, redraw: () => void) {
    this.#host = host;
    this.#redraw = redraw;
    host.addController(this);
  }

  /** Inner width of the host; 0 while it is not displayed. */
  get width(): number {
    this.#width ||= this.#host.clientWidth;
    return this.#width;
  }

  /** A new object whenever something about the surroundings may have changed. */
  get theme(): PictureTheme {
    this.#theme ??= readTheme(this.#host);
    return this.#theme;
  }

  hostConnected(): void {
    this.#observer = new ResizeObserver(this.#resized);
    this.#observer.observe(this.#host);
    this.#host.addEventListener('transitionend', this.#colourChanged);
    // A change of zoom or of the screen changes the pixel ratio, and is a resize of the window.
    window.addEventListener('resize', this.#changed);
  }

  hostDisconnected(): void {
    this.#observer?.disconnect();
    this.#host.removeEventListener('transitionend', this.#colourChanged);
    window.removeEventListener('resize', this.#changed);
    this.#width = 0;
    this.#theme = null;
  }

  /** The height follows from what is drawn and must not ask for another drawing. */
  readonly #resized = (entries: ResizeObserverEntry[]): void => {
    const width = Math.floor(entries.at(-1)?.contentRect.width ?? 0);
    if (width === this.#width) return;
    this.#width = width;
    this.#changed();
  };

  readonly #colourChanged = (event: TransitionEvent): void => {
    if (event.target === this.#host && event.propertyName === 'background-color') this.#changed();
  };

  readonly #changed = (): void => {
    this.#theme = null;
    this.#redraw();
  };
}

const widths = new Map<string, Map<string, number>>();
let ruler: CanvasRenderingContext2D | null | undefined;

/** Measures text in a CSS font; every width is measured once. */
export function textMeasure(font: string): Measure {
  let known = widths.get(font);
  if (!known) {
    known = new Map();
    widths.set(font, known);
  }
  const cache = known;
  return (text) => {
    const cached = cache.get(text);
    if (cached !== undefined) return cached;
    ruler ??= document.createElement('canvas').getContext('2d');
    if (!ruler) return estimateWidth(12)(text);
    ruler.font = font;
    const { width } = ruler.measureText(text);
    cache.set(text, width);
    return width;
  };
}
