interface Entry {
  dueMs: number;
  key: string;
}

/** Outdated entries that are kept in addition to one for each key. */
const outdatedMin = 1_000;

/**
 * Keys sorted by due time, then by key, with one time per key: a binary heap in which outdated entries are skipped. A name that
 * is registered and deleted repeatedly leaves an outdated entry each time, so they are removed when they are the majority.
 */
export class DueQueue {
  readonly #dueMsByKey = new Map<string, number>();
  #heap: Entry[] = [];

  /** Sets when `key` is due, in place of its earlier time; undefined: never. */
  set(key: string, dueMs: number | undefined): void {
    if (this.#dueMsByKey.get(key) === dueMs) return;
    if (dueMs === undefined) {
      this.#dueMsByKey.delete(key);
      return;
    }
    this.#dueMsByKey.set(key, dueMs);
    this.#heap.push({ dueMs, key });
    this.#rise(this.#heap.length - 1);
    if (this.#heap.length > 2 * this.#dueMsByKey.size + outdatedMin) this.#removeOutdated();
  }

  /** The number of entries, including outdated ones. */
  get entryCount(): number {
    return this.#heap.length;
  }

  /** The time of the first key. */
  firstDueMs(): number | undefined {
    while (this.#heap[0] && this.#dueMsByKey.get(this.#heap[0].key) !== this.#heap[0].dueMs) this.#removeFirst();
    return this.#heap[0]?.dueMs;
  }

  /** Removes and returns the first key if it is due by then. */
  takeUntil(timeMs: number): Entry | undefined {
    const dueMs = this.firstDueMs();
    if (dueMs === undefined || dueMs > timeMs) return undefined;
    const first = this.#removeFirst();
    this.#dueMsByKey.delete(first.key);
    return first;
  }

  clear(): void {
    this.#dueMsByKey.clear();
    this.#heap = [];
  }

  #removeOutdated(): void {
    const entries = [...this.#dueMsByKey].map(([key, dueMs]) => ({ key, dueMs }));
    this.#heap = [];
    for (const entry of entries) {
      this.#heap.push(entry);
      this.#rise(this.#heap.length - 1);
    }
  }

  #removeFirst(): Entry {
    const first = this.#heap[0]!;
    const last = this.#heap.pop()!;
    if (this.#heap.length > 0) {
      this.#heap[0] = last;
      this.#sink(0);
    }
    return first;
  }

  #rise(start: number): void {
    let at = start;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(at, parent)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  #sink(start: number): void {
    let at = start;
    for (;;) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < this.#heap.length && this.#isBefore(child, least)) least = child;
      }
      if (least === at) return;
      this.#swap(at, least);
      at = least;
    }
  }

  #isBefore(one: number, other: number): boolean {
    const left = this.#heap[one]!;
    const right = this.#heap[other]!;
    return left.dueMs < right.dueMs || (left.dueMs === right.dueMs && left.key < right.key);
  }

  #swap(one: number, other: number): void {
    const held = this.#heap[one]!;
    this.#heap[one] = this.#heap[other]!;
    this.#heap[other] = held;
  }
}
