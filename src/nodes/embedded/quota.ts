/**
 * What an account uses, and what its uploads in progress will use.
 *
 * An upload reserves its file at once and its bytes as they arrive, so four uploads at the same time cannot all see
 * the same free space. The size of a file that will be replaced is lent to the first upload to that path only. At the
 * end the account is checked again: the file may have been deleted, or the limit lowered, in the meantime.
 */
import type { AccountLimits, Usage } from "../driver.ts";

export class QuotaExceeded extends Error {
  override readonly name = "QuotaExceeded";
}

export interface Reservation {
  /** Accounts for bytes before they are written. @throws QuotaExceeded */
  take(bytes: number): void;
  /** @throws QuotaExceeded when the file no longer fits; `replaced` is the file at the path now, if any */
  check(replaced: { size: number } | undefined): void;
  /** The file is in its place. */
  commit(replaced: { size: number } | undefined): void;
  /** Gives back what was not committed. Call it at the end in any case. */
  release(): void;
}

export class Quota {
  #usage: Usage;
  readonly #limits: () => AccountLimits;
  readonly #onChange: () => void;
  #pendingBytes = 0;
  #pendingFiles = 0;
  #lentBytes = 0;
  readonly #targets = new Set<string>();

  constructor(usage: Usage, limits: () => AccountLimits, onChange: () => void) {
    this.#usage = { ...usage };
    this.#limits = limits;
    this.#onChange = onChange;
  }

  get usage(): Usage {
    return { ...this.#usage };
  }

  /** Accounts for an entry that was made or removed outside an upload. */
  add(bytes: number, files: number): void {
    this.#usage = { bytes: this.#usage.bytes + bytes, files: this.#usage.files + files };
    this.#onChange();
  }

  /** @throws QuotaExceeded when there is no room for one more file or folder */
  checkFiles(): void {
    if (this.#usage.files + this.#pendingFiles + 1 > this.#limits().filesMax) throw new QuotaExceeded();
  }

  /** Starts an upload to `target`; `replaced` is the file there now, if any. @throws QuotaExceeded */
  reserve(target: string, replaced: { size: number } | undefined): Reservation {
    if (replaced === undefined) this.checkFiles();
    const isFirst = !this.#targets.has(target);
    const lent = isFirst ? (replaced?.size ?? 0) : 0;
    const files = isFirst && replaced === undefined ? 1 : 0;
    let bytes = 0;
    let isOpen = true;
    this.#targets.add(target);
    this.#lentBytes += lent;
    this.#pendingFiles += files;
    const release = () => {
      if (!isOpen) return;
      isOpen = false;
      if (isFirst) this.#targets.delete(target);
      this.#lentBytes -= lent;
      this.#pendingFiles -= files;
      this.#pendingBytes -= bytes;
    };
    return {
      take: (more) => {
        const wanted = this.#usage.bytes + this.#pendingBytes + more - this.#lentBytes;
        if (wanted > this.#limits().diskBytesMax) throw new QuotaExceeded();
        bytes += more;
        this.#pendingBytes += more;
      },
      check: (current) => {
        const { diskBytesMax, filesMax } = this.#limits();
        if (bytes > 0 && this.#usage.bytes + bytes - (current?.size ?? 0) > diskBytesMax) throw new QuotaExceeded();
        if (current === undefined && this.#usage.files + 1 > filesMax) throw new QuotaExceeded();
      },
      commit: (current) => {
        release();
        this.add(bytes - (current?.size ?? 0), current === undefined ? 1 : 0);
      },
      release,
    };
  }
}
