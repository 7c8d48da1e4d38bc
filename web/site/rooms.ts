/** The rooms of the site: Explore, which is there at once, and Train, whose code comes when it is first asked for. */

import { defaultMask } from '../src/view/mask.js';
import { offerModel } from '../src/view/models.js';
import type { LensState } from '../src/view/state.js';
import { defaultState } from '../src/view/state.js';
import type { MultiheadTrain } from '../src/view/train/multihead-train.js';
import { hashPairs } from '../src/view/url.js';

export type Room = 'explore' | 'train';

export interface RoomsOwner {
  shown(room: Room): void;
  /** The room's settings changed. */
  changed(): void;
  /** The lens is to show something else. */
  explore(state: (now: LensState) => LensState): void;
  /** What to say of a room that could not be loaded. */
  failed(reason: string): string;
}

export const isTrainLink = (hash: string): boolean =>
  hashPairs(hash).some(([name, value]) => name === 'room' && value === 'train');

export class Rooms {
  readonly #main: HTMLElement;
  readonly #owner: RoomsOwner;
  #train: MultiheadTrain | null = null;
  #loading: Promise<MultiheadTrain> | null = null;
  #notice: HTMLElement | null = null;
  #current: Room = 'explore';
  #language = 'en';
  #theme: MultiheadTrain['theme'] = 'auto';

  constructor(main: HTMLElement, owner: RoomsOwner) {
    this.#main = main;
    this.#owner = owner;
  }

  get current(): Room {
    return this.#current;
  }

  /** Shows a room; `hash` is the link that asked for it, if one did. */
  async show(room: Room, hash?: string): Promise<void> {
    this.#current = room;
    this.#owner.shown(room);
    this.#notice?.remove();
    if (room === 'explore') {
      this.#train?.pause();
      if (this.#train) this.#train.hidden = true;
      return;
    }
    try {
      const train = await this.#loaded(hash);
      train.hidden = this.#current !== 'train';
    } catch (error) {
      this.#loading = null;
      this.#say(error instanceof Error ? error.message : String(error));
    }
  }

  /** The hash of the room that is shown, null for that of the lens. */
  link(): string | null {
    return this.#current === 'train' ? (this.#train?.link ?? 'room=train') : null;
  }

  speak(language: string): void {
    this.#language = language;
    if (this.#train) this.#train.lang = language;
  }

  paint(theme: MultiheadTrain['theme']): void {
    this.#theme = theme;
    if (this.#train) this.#train.theme = theme;
  }

  /** Says something where the reader is; false if that is the lens. */
  say(message: string): boolean {
    if (this.#current !== 'train' || !this.#train) return false;
    this.#train.say(message);
    return true;
  }

  async #loaded(hash: string | undefined): Promise<MultiheadTrain> {
    this.#loading ??= import('../src/view/train/define.js').then(() => this.#make(hash));
    const train = await this.#loading;
    if (hash !== undefined) train.openLink(hash);
    return train;
  }

  #make(hash: string | undefined): MultiheadTrain {
    const train = document.createElement('multihead-train');
    train.lang = this.#language;
    train.theme = this.#theme;
    if (hash !== undefined) train.openLink(hash);
    train.addEventListener('mh-settings', () => this.#owner.changed());
    train.addEventListener('mh-explore', ({ detail: { files, text, head } }) =>
      this.#owner.explore((now) => ({
        ...defaultState,
        unit: now.unit,
        palette: now.palette,
        scaleType: now.scaleType,
        model: offerModel(files),
        text,
        mask: { ...defaultMask, preset: 'causal' },
        heads: [head],
        query: null,
      })),
    );
    this.#train = train;
    this.#main.append(train);
    return train;
  }

  #say(reason: string): void {
    this.#notice = document.createElement('p');
    this.#notice.className = 'room-notice';
    this.#notice.setAttribute('role', 'alert');
    this.#notice.textContent = this.#owner.failed(reason);
    this.#main.append(this.#notice);
  }
}
