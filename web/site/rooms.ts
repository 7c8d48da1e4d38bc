/** The rooms of the site: Explore, which is there at once, and the others, whose code comes when they are first asked for. */

import type { MapExport } from '../src/view/map-export.js';
import { defaultMask } from '../src/view/mask.js';
import { offerModel } from '../src/view/models.js';
import type { LensState } from '../src/view/state.js';
import { defaultState } from '../src/view/state.js';
import type { MultiheadTrain } from '../src/view/train/multihead-train.js';
import { hashPairs } from '../src/view/url.js';

const askedRooms = ['train', 'digits', 'translate'] as const;
type AskedRoom = (typeof askedRooms)[number];
export type Room = 'explore' | AskedRoom;

/** What the element of a room has; what is optional not every room needs. */
interface RoomElement extends HTMLElement {
  theme: MultiheadTrain['theme'];
  /** Its settings, as the hash of a link without its `#`. */
  readonly link?: string;
  openLink?(hash: string): void;
  /** The maps that can be saved as files. */
  readonly mapExport?: MapExport;
  pause?(): void;
  say?(message: string): void;
}

export interface RoomsOwner {
  shown(room: Room): void;
  /** The room's settings changed. */
  changed(): void;
  /** The lens is to show something else. */
  explore(state: (now: LensState) => LensState): void;
  /** What to say of a room that could not be loaded. */
  failed(reason: string): string;
}

/** The room that a link asks for. */
export function roomOf(hash: string): Room {
  const asked = hashPairs(hash).find(([name]) => name === 'room')?.[1];
  return askedRooms.find((room) => room === asked) ?? 'explore';
}

export class Rooms {
  readonly #main: HTMLElement;
  readonly #owner: RoomsOwner;
  readonly #loading = new Map<AskedRoom, Promise<RoomElement>>();
  readonly #loaded = new Map<AskedRoom, RoomElement>();
  readonly #loaders: Readonly<Record<AskedRoom, () => Promise<RoomElement>>> = {
    train: async () => {
      await import('../src/view/train/define.js');
      return this.#listening(document.createElement('multihead-train'));
    },
    digits: async () => {
      await import('../src/view/digits/define.js');
      return document.createElement('multihead-digits');
    },
    translate: async () => {
      await import('../src/view/translate/define.js');
      const room = document.createElement('multihead-translate');
      room.addEventListener('mh-settings', () => this.#owner.changed());
      return room;
    },
  };
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
    this.#hideOthers();
    if (room === 'explore') return;
    try {
      await this.#enter(room, hash);
      this.#hideOthers();
    } catch (error) {
      this.#loading.delete(room);
      this.#say(error instanceof Error ? error.message : String(error));
    }
  }

  /** The hash of the room that is shown, null for that of the lens. */
  link(): string | null {
    return this.#current === 'explore' ? null : (this.#shown?.link ?? `room=${this.#current}`);
  }

  /** The maps of the room that is shown; null: it has none to save, or is that of the lens. */
  get mapExport(): MapExport | null {
    return this.#shown?.mapExport ?? null;
  }

  speak(language: string): void {
    this.#language = language;
    for (const element of this.#loaded.values()) element.lang = language;
  }

  paint(theme: MultiheadTrain['theme']): void {
    this.#theme = theme;
    for (const element of this.#loaded.values()) element.theme = theme;
  }

  /** Says something where the reader is; false if there is no place for it but the lens. */
  say(message: string): boolean {
    if (!this.#shown?.say) return false;
    this.#shown.say(message);
    return true;
  }

  get #shown(): RoomElement | undefined {
    return this.#current === 'explore' ? undefined : this.#loaded.get(this.#current);
  }

  #hideOthers(): void {
    for (const [room, element] of this.#loaded) {
      element.hidden = room !== this.#current;
      if (element.hidden) element.pause?.();
    }
  }

  async #enter(room: AskedRoom, hash: string | undefined): Promise<void> {
    const loading = this.#loading.get(room) ?? this.#loaders[room]();
    this.#loading.set(room, loading);
    const element = await loading;
    element.lang = this.#language;
    element.theme = this.#theme;
    if (hash !== undefined) element.openLink?.(hash);
    if (this.#loaded.has(room)) return;
    this.#loaded.set(room, element);
    this.#main.append(element);
  }

  #listening(train: MultiheadTrain): MultiheadTrain {
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
