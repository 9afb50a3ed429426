/**
 * The usage of an account, with reservations for its uploads in progress.
 *
 * An upload reserves its file at once and its bytes as they arrive, so concurrent uploads cannot use the same free space.
 * While a file is being replaced, its size is lent to all uploads to its path together, and to no others. The loan ends when
 * the file is deleted, moved or replaced by a smaller one. So files and uploads of an account together never exceed its
 * limit. At the end the account is checked again: the file may have been deleted, or the limit lowered, in the meantime.
 */
import type { AccountLimits, Usage } from "#nodes/driver.ts";

export class QuotaExceeded extends Error {
  override readonly name = "QuotaExceeded";
}

export interface Reservation {
  /** Accounts for bytes before they are written. @throws QuotaExceeded */
  take(bytes: number): void;
  /** @throws QuotaExceeded when the file no longer fits; `replaced` is the file at the path now, if any */
  check(replaced: { size: number } | undefined): void;
  /** Records that the file is in place. */
  commit(replaced: { size: number } | undefined): void;
  /** Releases what was not committed. Always call it at the end. */
  release(): void;
}

/** A path to which uploads are in progress. */
interface Target {
  uploads: number;
  /** The bytes of all its uploads. */
  pendingBytes: number;
  /** The size of the existing file; undefined when an upload will create it. */
  lentBytes: number | undefined;
}

export class Quota {
  #usage: Usage;
  readonly #limits: () => AccountLimits;
  readonly #onChange: () => void;
  readonly #targets = new Map<string, Target>();

  constructor(usage: Usage, limits: () => AccountLimits, onChange: () => void) {
    this.#usage = { ...usage };
    this.#limits = limits;
    this.#onChange = onChange;
  }

  get usage(): Usage {
    return { ...this.#usage };
  }

  /** Counts a folder that was created (1) or removed (-1). */
  addFolders(count: 1 | -1): void {
    this.#add(0, count);
  }

  /** Counts a deleted file. Call it in the account's queue, like `moved` and `reserve`. */
  deleted(path: string, size: number): void {
    this.#add(-size, -1);
    this.#endLoans(path);
  }

  /** Counts a file or folder that has been moved. */
  moved(from: string, to: string, file: { size: number } | undefined, replaced: { size: number } | undefined): void {
    if (replaced !== undefined) this.#add(-replaced.size, -1);
    this.#endLoans(from);
    const target = this.#targets.get(to);
    if (target !== undefined && file !== undefined) target.lentBytes = file.size;
  }

  /** @throws QuotaExceeded when there is no room for one more file or folder */
  checkFiles(): void {
    let pending = 0;
    for (const { lentBytes } of this.#targets.values()) if (lentBytes === undefined) pending += 1;
    if (this.#usage.files + pending + 1 > this.#limits().filesMax) throw new QuotaExceeded();
  }

  /** Starts an upload to `path`; `replaced` is the file there now, if any. @throws QuotaExceeded */
  reserve(path: string, replaced: { size: number } | undefined): Reservation {
    const target = this.#targets.get(path) ?? { uploads: 0, pendingBytes: 0, lentBytes: undefined };
    if (target.uploads === 0 && replaced === undefined) this.checkFiles();
    this.#targets.set(path, target);
    target.uploads += 1;
    target.lentBytes = replaced?.size;
    let bytes = 0;
    let isOpen = true;
    const release = () => {
      if (!isOpen) return;
      isOpen = false;
      target.uploads -= 1;
      target.pendingBytes -= bytes;
      if (target.uploads === 0) this.#targets.delete(path);
    };
    return {
      take: (more) => {
        const wanted = this.#usage.bytes + this.#takenBeside(target) + newBytes(target) + more;
        if (wanted > this.#limits().diskBytesMax) throw new QuotaExceeded();
        bytes += more;
        target.pendingBytes += more;
      },
      check: (current) => {
        const { diskBytesMax, filesMax } = this.#limits();
        if (bytes > 0 && this.#usage.bytes + bytes - (current?.size ?? 0) > diskBytesMax) throw new QuotaExceeded();
        if (current === undefined && this.#usage.files + 1 > filesMax) throw new QuotaExceeded();
      },
      commit: (current) => {
        release();
        target.lentBytes = bytes;
        this.#add(bytes - (current?.size ?? 0), current === undefined ? 1 : 0);
      },
      release,
    };
  }

  /** What uploads to other paths have taken beyond their loans: an unused part of a loan is not available to others. */
  #takenBeside(target: Target): number {
    let bytes = 0;
    for (const other of this.#targets.values()) if (other !== target) bytes += Math.max(0, newBytes(other));
    return bytes;
  }

  /** Ends the loans at this path and below it: the files are gone. */
  #endLoans(path: string): void {
    for (const [at, target] of this.#targets) {
      if (at === path || at.startsWith(`${path}/`)) target.lentBytes = undefined;
    }
  }

  /** Never below 0: a file that was put into the folder past this count is not in it, and may be deleted by FTP. */
  #add(bytes: number, files: number): void {
    this.#usage = { bytes: Math.max(0, this.#usage.bytes + bytes), files: Math.max(0, this.#usage.files + files) };
    this.#onChange();
  }
}

/** How much the account would grow if all uploads to this path were committed. */
function newBytes({ pendingBytes, lentBytes = 0 }: Target): number {
  return pendingBytes - lentBytes;
}
