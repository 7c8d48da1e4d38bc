/**
 * Rows of a map that is too large to hold, asked for as they come into view. As many are kept as fit into a fixed amount
 * of memory; those not looked at for longest go first. One request at a time, of few rows, so that what is seen next need
 * not wait for what was seen before, and the page can be used in between.
 */
import type { WeightsSource } from './types.js';

/** Bytes of rows that are kept. */
const KEPT = 32 * 2 ** 20;
/** Bytes of rows that are asked for at once. */
const ASKED = 2 ** 20;
/** Of the rows that are kept, those that one view may show: the row pointed at and a few from before stay too. */
const SHOWN = 3 / 4;

export interface WeightRowsHost {
  /** Rows have come. */
  rowsCame(): void;
  /** The source failed; the rows are asked for again when they are wanted again. */
  rowsFailed(error: unknown): void;
}

export class WeightRows {
  readonly #source: WeightsSource;
  readonly #keyCount: number;
  readonly #host: WeightRowsHost;
  /** Rows by query; what was looked at last comes last. */
  readonly #kept = new Map<number, Float32Array>();
  #wanted: number[] = [];
  /** A row that comes before all that are wanted. */
  #needed: number | null = null;
  #asking = false;

  /** @param keyCount S, the length of a row */
  constructor(source: WeightsSource, keyCount: number, host: WeightRowsHost) {
    this.#source = source;
    this.#keyCount = keyCount;
    this.#host = host;
  }

  /** Whether there is a mask. */
  get masked(): boolean {
    return this.#source.visible !== undefined;
  }

  /** So many rows may be shown at once. */
  get mostShown(): number {
    return this.#rowsIn(KEPT * SHOWN);
  }

  /** Rows that are still to come. */
  get awaited(): number {
    return this.#wanted.length;
  }

  has(query: number): boolean {
    return this.#kept.has(query);
  }

  /** `[S]`, the weights of a query; undefined while they are not there. */
  get(query: number): Float32Array | undefined {
    const row = this.#kept.get(query);
    if (row) {
      this.#kept.delete(query);
      this.#kept.set(query, row);
    }
    return row;
  }

  visible(query: number, key: number): boolean {
    return this.#source.visible?.(query, key) ?? true;
  }

  /** Asks for these rows, in this order, instead of all that were wanted before. */
  want(queries: readonly number[]): void {
    this.#wanted = queries.filter((query) => !this.has(query));
    void this.#ask();
  }

  /** Asks for one row before all others. */
  need(query: number): void {
    if (this.has(query)) return;
    this.#needed = query;
    void this.#ask();
  }

  /** Asks for nothing more. */
  stop(): void {
    this.#wanted = [];
    this.#needed = null;
  }

  #rowsIn(bytes: number): number {
    return Math.max(1, Math.floor(bytes / Float32Array.BYTES_PER_ELEMENT / Math.max(1, this.#keyCount)));
  }

  async #ask(): Promise<void> {
    if (this.#asking) return;
    this.#asking = true;
    try {
      for (let queries = this.#next(); queries.length > 0; queries = this.#next()) {
        this.#keep(queries, await this.#source.rows(queries));
        this.#host.rowsCame();
        await taskEnd();
      }
    } catch (thrown) {
      this.stop();
      this.#host.rowsFailed(thrown);
    } finally {
      this.#asking = false;
    }
  }

  /** The rows to ask for next, ascending. */
  #next(): number[] {
    const needed = this.#needed;
    this.#needed = null;
    if (needed !== null && !this.has(needed)) return [needed];
    return this.#wanted.splice(0, this.#rowsIn(ASKED)).sort((a, b) => a - b);
  }

  #keep(queries: readonly number[], rows: Float32Array): void {
    const size = this.#keyCount;
    if (rows.length !== queries.length * size) {
      const sizes = `${queries.length} queries × ${size} keys`;
      throw new RangeError(
        `<mh-heatmap>: source.rows gave ${rows.length} numbers, but ${sizes} are ${queries.length * size}`,
      );
    }
    // Copies, or one row would keep the memory of all that came with it.
    queries.forEach((query, i) => {
      this.#kept.set(query, rows.slice(i * size, (i + 1) * size));
    });
    const most = this.#rowsIn(KEPT);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= most) break;
      this.#kept.delete(oldest);
    }
  }
}

/** Lets the page draw and hear its reader. */
const taskEnd = () => new Promise<void>((resolve) => setTimeout(resolve));
