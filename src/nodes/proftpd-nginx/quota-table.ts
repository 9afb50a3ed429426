/**
 * The limits of accounts in the format of ProFTPD's mod_quotatab: a table of fixed-size records, read at login. A limit
 * applies to later logins only, so lowering one requires ending the open sessions. Kernel quotas by uid are the upgrade (they
 * also limit concurrent uploads, docs/hosting.md): they need a file system with quotas, and fit behind the same interface.
 */
import { closeSync, existsSync, openSync, readFileSync, writeSync } from "node:fs";
import { writeFileAtomic } from "#nodes/atomic-file.ts";
import { groupOf } from "#nodes/proftpd-nginx/login-file.ts";

export interface Limits {
  /** Applies to all later logins. `bytes` and `files` as the file system counts them. */
  setLimit(uid: number, bytes: number, files: number): void;
  clearLimit(uid: number): void;
}

const headerBytes = 4;
const limitMagic = 0x7626;
const tallyMagic = 0x7644;
/** A record: name, kind, per session, hard or soft, three counts of bytes (double), three of files (32 bits). */
const nameBytes = 81;
const recordBytes = 126;
const filesMax = 0xffff_ffff;
const groupQuota = 30;
const hardLimit = 1;
const unlimited = -1;

export class QuotaTable implements Limits {
  readonly #file: number;
  readonly #slots = new Map<string, number>();
  readonly #free: number[] = [];
  #end: number;

  private constructor(path: string, content: Buffer) {
    this.#file = openSync(path, "r+");
    this.#end = Math.floor((content.length - headerBytes) / recordBytes);
    for (let slot = 0; slot < this.#end; slot++) {
      const start = headerBytes + slot * recordBytes;
      const name = content.toString("latin1", start, start + nameBytes).replace(/\0.*$/s, "");
      if (name === "") this.#free.push(slot);
      else this.#slots.set(name, slot);
    }
  }

  /** Both tables must exist when ProFTPD starts. ProFTPD itself maintains the tally. */
  static async open(paths: { quotaLimits: string; quotaTally: string }): Promise<QuotaTable> {
    if (!existsSync(paths.quotaLimits)) await writeFileAtomic(paths.quotaLimits, header(limitMagic));
    if (!existsSync(paths.quotaTally)) await writeFileAtomic(paths.quotaTally, header(tallyMagic));
    return new QuotaTable(paths.quotaLimits, readFileSync(paths.quotaLimits));
  }

  setLimit(uid: number, bytes: number, files: number): void {
    const record = Buffer.alloc(recordBytes);
    record.write(groupOf(uid), "latin1");
    record.writeInt32LE(groupQuota, 81);
    record.writeInt32LE(hardLimit, 86);
    // 0 would mean unlimited, but never occurs: the account's own folder always counts.
    record.writeDoubleLE(bytes, 90);
    record.writeDoubleLE(unlimited, 98);
    record.writeDoubleLE(unlimited, 106);
    record.writeUInt32LE(Math.min(files, filesMax), 114);
    this.#write(this.#slotOf(groupOf(uid)), record);
  }

  clearLimit(uid: number): void {
    const slot = this.#slots.get(groupOf(uid));
    if (slot === undefined) return;
    this.#write(slot, Buffer.alloc(recordBytes));
    this.#slots.delete(groupOf(uid));
    this.#free.push(slot);
  }

  close(): void {
    closeSync(this.#file);
  }

  #slotOf(name: string): number {
    const slot = this.#slots.get(name) ?? this.#free.pop() ?? this.#end++;
    this.#slots.set(name, slot);
    return slot;
  }

  #write(slot: number, record: Buffer): void {
    writeSync(this.#file, record, 0, recordBytes, headerBytes + slot * recordBytes);
  }
}

function header(magic: number): string {
  return String.fromCharCode(magic & 0xff, magic >> 8, 0, 0);
}
