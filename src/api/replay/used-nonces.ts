import type { NonceEntry } from "#api/replay/nonce-file.ts";

/** The answered nonces, for as long as their timestamps can be presented. */
export class UsedNonces {
  /**
   * The latest timestamp that was really forgotten: a request signed at or before it may have been answered. Never
   * falls.
   */
  horizonSeconds: number;
  readonly #names = new Set<string>();
  /** The same nonces by timestamp, so that a second can be forgotten at once. */
  readonly #bySecond = new Map<number, string[]>();
  #forgottenBefore = 0;

  constructor(horizonSeconds: number) {
    this.horizonSeconds = horizonSeconds;
  }

  get size(): number {
    return this.#names.size;
  }

  /** @param name as `nameOf` makes it */
  has(name: string): boolean {
    return this.#names.has(name);
  }

  add(name: string, timestamp: number): void {
    if (timestamp <= this.horizonSeconds || this.#names.has(name)) return;
    this.#names.add(name);
    const second = this.#bySecond.get(timestamp);
    if (second) second.push(name);
    else this.#bySecond.set(timestamp, [name]);
  }

  addAll(entries: Iterable<NonceEntry>): void {
    for (const { keyId, nonce, timestamp } of entries) this.add(nameOf(keyId, nonce), timestamp);
  }

  /** Forgets the nonces with an earlier timestamp. Runs once a second, in time proportional to the seconds kept. */
  forgetBefore(oldestSeconds: number): void {
    if (oldestSeconds === this.#forgottenBefore) return;
    this.#forgottenBefore = oldestSeconds;
    for (const [second, names] of this.#bySecond) {
      if (second >= oldestSeconds) continue;
      this.horizonSeconds = Math.max(this.horizonSeconds, second);
      for (const name of names) this.#names.delete(name);
      this.#bySecond.delete(second);
    }
  }
}

/** Names a nonce among those of all keys. Every new string is hashed once, by the first set that looks it up. */
export function nameOf(keyId: string, nonce: string): string {
  return `${keyId}:${nonce}`;
}
