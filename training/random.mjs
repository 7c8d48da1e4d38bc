// Numbers that look random and are the same for the same seed, everywhere.

/** 32 bits from a text (FNV-1a, mixed once more so that near texts are far apart). */
export function hash(text) {
  let bits = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    bits = Math.imul(bits ^ text.charCodeAt(i), 0x01000193);
  }
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

/** A generator (mulberry32) with what one draws from it. */
export class Random {
  #state;

  constructor(seed) {
    this.#state = hash(String(seed));
  }

  /** 0 <= x < 1 */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let z = this.#state;
    z = Math.imul(z ^ (z >>> 15), z | 1);
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
    return ((z ^ (z >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number, from <= x <= to. */
  whole(from, to) {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  chance(probability) {
    return this.next() < probability;
  }

  pick(list) {
    return list[Math.floor(this.next() * list.length)];
  }

  /** `count` different ones. */
  some(list, count) {
    const taken = new Set();
    while (taken.size < count) {
      taken.add(Math.floor(this.next() * list.length));
    }
    return [...taken].map((index) => list[index]);
  }

  /** In place (Fisher & Yates). */
  shuffle(list) {
    for (let i = list.length - 1; i > 0; i--) {
      const other = this.whole(0, i);
      [list[i], list[other]] = [list[other], list[i]];
    }
    return list;
  }
}
