/** The bytes that each site has sent this month, from nginx's log. One file has sums and log position: nothing counts twice. */
import { readFile } from "node:fs/promises";
import { Type } from "typebox";
import { Value } from "typebox/value";
import { ignoreMissing, writeFileAtomic } from "#nodes/atomic-file.ts";
import type { Traffic } from "#nodes/driver.ts";
import { LogTail, TailState } from "#nodes/proftpd-nginx/log-tail.ts";

const Saved = Type.Object({
  tail: TailState,
  sums: Type.Array(Type.Tuple([Type.Integer(), Type.String(), Type.Integer()])),
});

export interface TrafficCountOptions {
  log: string;
  file: string;
  /** The folder of all homes, as a real path. */
  homes: string;
  isAccount: (uid: number) => boolean;
  onChange: (uid: number) => void;
  logBytesMax: number;
  /** Signals nginx to reopen its logs. */
  reopenLogs: () => void;
}

export class TrafficCount {
  readonly #options: TrafficCountOptions;
  readonly #sums: Map<number, Traffic>;
  readonly #tail: LogTail;
  readonly #changed = new Set<number>();
  #isChanged = false;

  private constructor(options: TrafficCountOptions, sums: Map<number, Traffic>, tail: TailState) {
    this.#options = options;
    this.#sums = sums;
    this.#tail = new LogTail(options.log, tail);
  }

  static async open(options: TrafficCountOptions): Promise<TrafficCount> {
    const text = await readFile(options.file, "utf8").catch(ignoreMissing);
    if (text === undefined) return new TrafficCount(options, new Map(), {});
    const { sums, tail } = Value.Parse(Saved, JSON.parse(text));
    return new TrafficCount(options, new Map(sums.map(([uid, month, bytes]) => [uid, { month, bytes }])), tail);
  }

  get(uid: number): Traffic | undefined {
    return this.#sums.get(uid);
  }

  forget(uid: number): void {
    if (this.#sums.delete(uid)) this.#isChanged = true;
  }

  async look(): Promise<void> {
    const { logBytesMax, reopenLogs } = this.#options;
    if (await this.#tail.read((line) => this.#add(line))) this.#isChanged = true;
    if (await this.#tail.rotate(logBytesMax)) reopenLogs();
  }

  /** Saves the sums, then reports the accounts that changed: so a busy site wakes waiting callers no more often than this. */
  async save(): Promise<void> {
    if (!this.#isChanged) return;
    this.#isChanged = false;
    const sums = [...this.#sums].map(([uid, { month, bytes }]) => [uid, month, bytes]);
    await writeFileAtomic(this.#options.file, JSON.stringify({ tail: this.#tail.state, sums }));
    for (const uid of this.#changed) this.#options.onChange(uid);
    this.#changed.clear();
  }

  /** `1795301519.041 263 <homes>/200001/www` */
  #add(line: string): void {
    const [seconds, bytes, path = ""] = line.split(" ");
    const uid = Number(
      path.startsWith(`${this.#options.homes}/`) && path.slice(this.#options.homes.length).split("/")[1],
    );
    const month = monthOf(Number(seconds));
    // nginx buffers its log: the last lines of a removed account arrive after its removal.
    if (!this.#options.isAccount(uid) || !(Number(bytes) >= 0) || month === undefined) return;
    const before = this.#sums.get(uid);
    // A download counts for the month in which it ended; lines of an earlier month arrive too late.
    if (before !== undefined && before.month > month) return;
    const sum = before?.month === month ? before.bytes : 0;
    this.#sums.set(uid, { month, bytes: sum + Number(bytes) });
    this.#changed.add(uid);
  }
}

function monthOf(seconds: number): string | undefined {
  return seconds > 0 ? new Date(seconds * 1_000).toISOString().slice(0, 7) : undefined;
}
