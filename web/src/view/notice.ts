/** What an element says in its status line, for a while. */
import type { ReactiveController, ReactiveControllerHost } from 'lit';

const shownMilliseconds = 10_000;

export class Notice implements ReactiveController {
  readonly #host: ReactiveControllerHost;
  #text = '';
  #silence: ReturnType<typeof setTimeout> | undefined;

  constructor(host: ReactiveControllerHost) {
    this.#host = host;
    host.addController(this);
  }

  /** Empty once it has been there long enough. */
  get text(): string {
    return this.#text;
  }

  say(text: string): void {
    this.#text = text;
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => {
      this.#text = '';
      this.#host.requestUpdate();
    }, shownMilliseconds);
    this.#host.requestUpdate();
  }

  /** With the next rendering it is gone. */
  drop(): void {
    this.#text = '';
  }

  hostDisconnected(): void {
    clearTimeout(this.#silence);
  }
}
