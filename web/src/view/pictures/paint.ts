/** Which cells a stroke of the paint tool covers. Pure. */

/** Where the brush is: a cell, a whole row (a row label) or a whole column (a column label). */
export type BrushTarget =
  | { readonly kind: 'cell'; readonly query: number; readonly key: number }
  | { readonly kind: 'row'; readonly query: number }
  | { readonly kind: 'column'; readonly key: number };

export type PaintedCell = readonly [query: number, key: number];

/** One stroke, from press to release, over a map of `queryCount` × `keyCount`. */
export class Stroke {
  readonly #queryCount: number;
  readonly #keyCount: number;
  readonly #seen = new Set<number>();
  #last: BrushTarget | null = null;

  constructor(queryCount: number, keyCount: number) {
    this.#queryCount = queryCount;
    this.#keyCount = keyCount;
  }

  /**
   * Moves the brush to a target and returns the cells it newly covers: a pointer moves further than a cell between two
   * events, so the way from the last target of the same kind is filled in.
   */
  extend(target: BrushTarget): PaintedCell[] {
    const fresh: PaintedCell[] = [];
    for (const [query, key] of this.#covered(target)) {
      const index = query * this.#keyCount + key;
      if (this.#seen.has(index)) continue;
      this.#seen.add(index);
      fresh.push([query, key]);
    }
    this.#last = target;
    return fresh;
  }

  #covered(target: BrushTarget): PaintedCell[] {
    const last = this.#last;
    if (target.kind === 'cell') {
      return last?.kind === 'cell' ? cellsBetween(last, target) : [[target.query, target.key]];
    }
    if (target.kind === 'row') {
      const from = last?.kind === 'row' ? last.query : target.query;
      return span(from, target.query).flatMap((query) =>
        span(0, this.#keyCount - 1).map((key) => [query, key] as const),
      );
    }
    const from = last?.kind === 'column' ? last.key : target.key;
    return span(from, target.key).flatMap((key) => span(0, this.#queryCount - 1).map((query) => [query, key] as const));
  }
}

/** The cells of a straight line between two cells, both ends included (Bresenham's algorithm). */
export function cellsBetween(
  from: { readonly query: number; readonly key: number },
  to: { readonly query: number; readonly key: number },
): PaintedCell[] {
  let { query, key } = from;
  const queries = Math.abs(to.query - query);
  const keys = Math.abs(to.key - key);
  const down = Math.sign(to.query - query);
  const right = Math.sign(to.key - key);
  const cells: PaintedCell[] = [[query, key]];
  let error = keys - queries;
  while (query !== to.query || key !== to.key) {
    const doubled = 2 * error;
    if (doubled > -queries) {
      error -= queries;
      key += right;
    }
    if (doubled < keys) {
      error += keys;
      query += down;
    }
    cells.push([query, key]);
  }
  return cells;
}

/** The integers from a to b, in either direction, both included. */
function span(a: number, b: number): number[] {
  const low = Math.min(a, b);
  return Array.from({ length: Math.abs(b - a) + 1 }, (_, i) => low + i);
}
