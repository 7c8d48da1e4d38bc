/** What a training remembers of itself, in memory that does not grow: the further it gets, the coarser the past. */

/** Values over steps. When there are too many, every two become their mean. */
export class Series {
  readonly #capacity: number;
  #steps: number[] = [];
  #values: number[] = [];
  /** Points of the newest entry, and how many make one. */
  #gathered = 0;
  #stride = 1;

  constructor(capacity = 600) {
    this.#capacity = capacity;
  }

  add(step: number, value: number): void {
    if (this.#gathered > 0 && this.#gathered < this.#stride) {
      const last = this.#values.length - 1;
      const mean = this.#values[last] as number;
      this.#gathered++;
      this.#values[last] = mean + (value - mean) / this.#gathered;
      this.#steps[last] = step;
      return;
    }
    if (this.#values.length === this.#capacity) this.#halve();
    this.#values.push(value);
    this.#steps.push(step);
    this.#gathered = 1;
  }

  get points(): readonly (readonly [step: number, value: number])[] {
    return this.#steps.map((step, i) => [step, this.#values[i] as number] as const);
  }

  get last(): number | undefined {
    return this.#values.at(-1);
  }

  #halve(): void {
    const pairs = Math.floor(this.#values.length / 2);
    this.#values = Array.from(
      { length: pairs },
      (_, i) => ((this.#values[2 * i] as number) + (this.#values[2 * i + 1] as number)) / 2,
    );
    this.#steps = Array.from({ length: pairs }, (_, i) => this.#steps[2 * i + 1] as number);
    this.#stride *= 2;
  }
}

/** Things kept at some steps, at most `capacity` of them: when full, every second of the older ones goes. */
export class Snapshots<T> {
  readonly #capacity: number;
  #kept: { readonly step: number; readonly value: T }[] = [];
  #stride = 1;
  #offered = 0;

  /** `capacity` ≥ 2. */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Keeps it if its turn has come; the newest one is always there. */
  add(step: number, value: T): void {
    const last = this.#kept.at(-1);
    // The newest stands in until the next one that is to stay.
    if (last !== undefined && (this.#offered - 1) % this.#stride !== 0) this.#kept.pop();
    this.#kept.push({ step, value });
    this.#offered++;
    if (this.#kept.length <= this.#capacity) return;
    this.#kept = this.#kept.filter((_, i) => i % 2 === 0 || i === this.#kept.length - 1);
    this.#stride *= 2;
  }

  get all(): readonly { readonly step: number; readonly value: T }[] {
    return this.#kept;
  }

  /** The kept one whose step is nearest; undefined when there is none. */
  at(step: number): { readonly step: number; readonly value: T } | undefined {
    return this.#kept.reduce<{ readonly step: number; readonly value: T } | undefined>(
      (best, one) => (best === undefined || Math.abs(one.step - step) < Math.abs(best.step - step) ? one : best),
      undefined,
    );
  }
}
