/**
 * What an account uses, and what its uploads in progress will use.
 *
 * An upload reserves its file at once and its bytes as they arrive, so four uploads at the same time cannot all see
 * the same free space. While a file is being replaced, its size is lent to the uploads to its path, together and to no
 * others. The loan follows the file: it ends when the file is deleted, moved or replaced by a smaller one. So the uploads
 * of an account never hold more than its limit, beside the files that are already there.
 * At the end the account is checked again: the file may have been deleted, or the limit lowered, in the meantime.
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
  /** The file is in its place. */
  commit(replaced: { size: number } | undefined): void;
  /** Gives back what was not committed. Call it at the end in any case. */
  release(): void;
}

/** A path to which uploads are in progress. */
interface Target {
  uploads: number;
  /** Of all its uploads. */
  pendingBytes: number;
  /** The size of the file that is there now; undefined when there is none, and an upload will make one. */
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

  /** Accounts for a folder that was made (1) or removed (-1). */
  addFolders(count: 1 | -1): void {
    this.#add(0, count);
  }

  /** Accounts for a file that was deleted. Call it in the account's lane, as `moved` and `reserve`. */
  deleted(path: string, size: number): void {
    this.#add(-size, -1);
    this.#endLoans(path);
  }

  /** Accounts for a file or folder that has another path now. */
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

  /** What the uploads to other paths have taken beyond what is lent to them: what one leaves of its loan is nobody else's. */
  #takenBeside(target: Target): number {
    let bytes = 0;
    for (const other of this.#targets.values()) if (other !== target) bytes += Math.max(0, newBytes(other));
    return bytes;
  }

  /** Nothing is at this path any more, nor below it. */
  #endLoans(path: string): void {
    for (const [at, target] of this.#targets) {
      if (at === path || at.startsWith(`${path}/`)) target.lentBytes = undefined;
    }
  }

  #add(bytes: number, files: number): void {
    this.#usage = { bytes: this.#usage.bytes + bytes, files: this.#usage.files + files };
    this.#onChange();
  }
}

/** By how much the account would grow if all uploads to this path counted. */
function newBytes({ pendingBytes, lentBytes = 0 }: Target): number {
  return pendingBytes - lentBytes;
}
