/**
 * What only screen readers meet (names of cells, tables that nobody sees) follows when the numbers have come to rest: to
 * keep up with typing it would cost the browser more than the picture does. Where the focus is, it follows at once.
 */
import type { ReactiveController, ReactiveControllerHost } from 'lit';

/** Milliseconds without a change. */
const REST = 200;

export class Settled<T> implements ReactiveController {
  readonly #host: ReactiveControllerHost & HTMLElement;
  #value: T | null = null;
  #next: T | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(host: ReactiveControllerHost & HTMLElement) {
    this.#host = host;
    host.addController(this);
  }

  /** The newest value once nothing newer has come for a while, or `now`; before that, the one that rested last. */
  of(value: T, now = this.#host.matches(':focus-within')): T {
    if (value === this.#next && !now) return this.#value ?? value;
    this.#next = value;
    clearTimeout(this.#timer);
    if (this.#value === null || now) this.#value = value;
    else this.#timer = setTimeout(() => this.settle(), REST);
    return this.#value;
  }

  /** Takes the newest value now, for a focus that comes in. */
  settle(): void {
    clearTimeout(this.#timer);
    if (this.#value === this.#next) return;
    this.#value = this.#next;
    this.#host.requestUpdate();
  }

  hostDisconnected(): void {
    clearTimeout(this.#timer);
  }

  hostConnected(): void {
    this.settle();
  }
}
