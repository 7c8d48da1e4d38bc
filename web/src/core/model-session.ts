/** What an engine keeps between the runs of one session: `mh_session`, made anew when a text outgrows it. */
import type { Engine } from './engine.js';

/** Room for a sentence; a session grows by doubling. */
const SMALLEST_CAPACITY = 64;

export class KeptStates {
  readonly #engine: Engine;
  readonly #model: number;
  readonly #positions: number;
  #handle = 0;
  #capacity = 0;

  /** For the model at the address `model`, which takes `positions` tokens. */
  constructor(engine: Engine, model: number, positions: number) {
    this.#engine = engine;
    this.#model = model;
    this.#positions = positions;
  }

  /** Address of an `mh_session` with room for `length` tokens. */
  handle(length: number): number {
    if (this.#handle !== 0 && length <= this.#capacity) return this.#handle;
    this.free();
    let capacity = SMALLEST_CAPACITY;
    while (capacity < length) capacity *= 2;
    capacity = Math.min(capacity, this.#positions);
    this.#handle = this.#engine.memory.scope((scope) => {
      const out = scope.alloc(4);
      this.#engine.check('mh_session_create', out, this.#model, capacity);
      return this.#engine.memory.uint32(out);
    });
    this.#capacity = capacity;
    return this.#handle;
  }

  free(): void {
    if (this.#handle !== 0 && this.#engine.alive) this.#engine.call('mh_session_free', this.#handle);
    this.#handle = 0;
  }
}
