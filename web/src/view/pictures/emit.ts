import type { PictureEvents } from './types.js';

/** Dispatches an event of a picture: it bubbles, and leaves the shadow trees it is in. */
export function emit<Name extends keyof PictureEvents>(
  from: EventTarget,
  name: Name,
  detail: PictureEvents[Name],
): void {
  from.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
}
