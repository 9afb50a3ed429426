/**
 * The disk usage of accounts. An account is counted again whenever ProFTPD's log shows that its files may have changed. The
 * counts are saved with the position in the log, so a start counts only the accounts that changed in the meantime.
 */
import { readFile } from "node:fs/promises";
import { Type } from "typebox";
import { Value } from "typebox/value";
import type { Log } from "#lib/log.ts";
import { ignoreMissing, writeFileAtomic } from "#nodes/atomic-file.ts";
import type { Usage } from "#nodes/driver.ts";
import { countUsage } from "#nodes/homes/usage.ts";
import { LogTail, TailState } from "#nodes/proftpd-nginx/log-tail.ts";

const nothing: Usage = { bytes: 0, files: 0 };
const changing = new Set(["STOR", "STOU", "DELE", "MKD", "XMKD", "RMD", "XRMD", "RNTO", "EXIT"]);

const Saved = Type.Object({
  tail: TailState,
  usage: Type.Array(Type.Tuple([Type.Integer(), Type.Integer(), Type.Integer()])),
});

export interface UsageWatchOptions {
  activityLog: string;
  /** Stores the counts. */
  file: string;
  docroot: (uid: number) => string;
  onChange: (uid: number) => void;
  onLogin: (uid: number) => void;
  logBytesMax: number;
  log: Log;
}

export class UsageWatch {
  readonly #options: UsageWatchOptions;
  readonly #usage: Map<number, Usage>;
  readonly #tail: LogTail;
  /** Uids to count. */
  readonly #waiting = new Set<number>();
  /** The uid that is being counted. */
  #current: number | undefined;
  #isChanged = false;
  #counting: Promise<void> | undefined;
  #isClosed = false;

  private constructor(options: UsageWatchOptions, usage: Map<number, Usage>, tail: TailState) {
    this.#options = options;
    this.#usage = usage;
    this.#tail = new LogTail(options.activityLog, tail);
  }

  static async open(options: UsageWatchOptions): Promise<UsageWatch> {
    const text = await readFile(options.file, "utf8").catch(ignoreMissing);
    if (text === undefined) return new UsageWatch(options, new Map(), {});
    const { usage, tail } = Value.Parse(Saved, JSON.parse(text));
    return new UsageWatch(options, new Map(usage.map(([uid, bytes, files]) => [uid, { bytes, files }])), tail);
  }

  /** The last count. */
  get(uid: number): Usage {
    return this.#usage.get(uid) ?? nothing;
  }

  /** Reports this account's usage from now on. An account without a count is counted soon. */
  watch(uid: number): void {
    if (this.#usage.has(uid)) return;
    this.#usage.set(uid, nothing);
    this.#options.onChange(uid);
    this.recount(uid);
  }

  forget(uid: number): void {
    this.#usage.delete(uid);
    this.#waiting.delete(uid);
    this.#isChanged = true;
  }

  /** Counts soon. */
  recount(uid: number): void {
    this.#waiting.add(uid);
    this.#counting ??= this.#countWaiting().finally(() => {
      this.#counting = undefined;
    });
  }

  /** Reads ProFTPD's new log lines. */
  async look(): Promise<void> {
    const { onLogin, logBytesMax } = this.#options;
    const isNew = await this.#tail.read((line) => {
      const [uid, command = ""] = line.split(" ");
      if (!this.#usage.has(Number(uid))) return;
      if (changing.has(command)) this.recount(Number(uid));
      if (command === "PASS") onLogin(Number(uid));
    });
    if (isNew) this.#isChanged = true;
    // Sessions open the log when they start: open ones continue to write to the renamed file.
    await this.#tail.rotate(logBytesMax);
  }

  /** Saves the counts. Accounts that wait to be counted are left out, so the next start counts them. */
  async save(): Promise<void> {
    if (!this.#isChanged) return;
    this.#isChanged = false;
    const counted = [...this.#usage].filter(([uid]) => !this.#waiting.has(uid) && uid !== this.#current);
    const usage = counted.map(([uid, { bytes, files }]) => [uid, bytes, files]);
    await writeFileAtomic(this.#options.file, JSON.stringify({ tail: this.#tail.state, usage }));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#counting;
    await this.save();
  }

  async #countWaiting(): Promise<void> {
    const { log } = this.#options;
    for (const uid of this.#waiting) {
      if (this.#isClosed) return;
      this.#waiting.delete(uid);
      this.#current = uid;
      // A file may disappear during the count. Its removal is in the log too, so the account is counted again.
      await this.#count(uid).catch((error) => {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT") log.error({ err: error, uid }, "usage not counted");
      });
      this.#current = undefined;
    }
  }

  async #count(uid: number): Promise<void> {
    const usage = await countUsage(this.#options.docroot(uid));
    const before = this.#usage.get(uid);
    // Undefined: the account was removed meanwhile.
    if (before === undefined || (before.bytes === usage.bytes && before.files === usage.files)) return;
    this.#usage.set(uid, usage);
    this.#isChanged = true;
    this.#options.onChange(uid);
  }
}
