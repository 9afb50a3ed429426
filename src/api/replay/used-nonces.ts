import type { NonceEntry } from "#api/replay/nonce-file.ts";

/** The nonces that were answered, for as long as their timestamps can be presented. */
export class UsedNonces {
  /** The latest timestamp that was really forgotten: what was signed at or before it may have been answered. Never falls. */
  horizonSeconds: number;
  readonly #names = new Set<string>();
  /** The same nonces by their timestamp, to forget a second at once. */
  readonly #bySecond = new Map<number, string[]>();
  #forgottenBefore = 0;

  constructor(horizonSeconds: number) {
    this.horizonSeconds = horizonSeconds;
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

  /** Forgets the nonces with an earlier timestamp; looks once a second, and through a second each for those that are kept. */
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

/** How a nonce is known among those of all keys. Each new text is hashed anew by the first set that is asked for it. */
export function nameOf(keyId: string, nonce: string): string {
  return `${keyId}:${nonce}`;
}
