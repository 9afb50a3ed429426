/**
 * The bytes that sites have sent, by account, in the current month (UTC).
 *
 * It counts the bytes written to connections, with headers, as they are written: a long download counts while it runs. Every
 * `flushMs` the counts are reported to the feed and written to one file, so a killed process loses no more than that.
 */
import { readFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { Type } from "typebox";
import { Value } from "typebox/value";
import type { Clock } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import { createSerialQueue } from "#lib/queues/serial-queue.ts";
import { ignoreMissing, writeFileAtomic } from "#nodes/atomic-file.ts";
import type { Traffic as MonthTraffic } from "#nodes/driver.ts";

const Kept = Type.Object({
  month: Type.String({ pattern: "^\\d{4}-\\d{2}$" }),
  bytes: Type.Record(Type.String({ pattern: "^\\d+$" }), Type.Integer({ minimum: 0 })),
});

export interface TrafficOptions {
  file: string;
  flushMs: number;
  clock: Clock;
  /** Called for each account that has sent something since the last flush. */
  onChange: (uid: number) => void;
  log: Log;
}

/** A response in progress. */
interface Sending {
  uid: number;
  socket: Socket;
  countedBytes: number;
}

export class Traffic {
  readonly #options: TrafficOptions;
  readonly #bytes: Map<number, number>;
  readonly #sending = new Set<Sending>();
  readonly #changed = new Set<number>();
  #timer: NodeJS.Timeout | undefined;
  #month: string;
  readonly #writes = createSerialQueue();

  private constructor(options: TrafficOptions, month: string, bytes: Map<number, number>) {
    this.#options = options;
    this.#month = month;
    this.#bytes = bytes;
  }

  /** @throws when the file exists and cannot be read: a month's counts must not decrease */
  static async load(options: TrafficOptions): Promise<Traffic> {
    const { file, clock } = options;
    const text = await readFile(file, "utf8").catch(ignoreMissing);
    if (text === undefined) return new Traffic(options, monthOf(clock), new Map());
    const { month, bytes } = parseKept(file, text);
    return new Traffic(options, month, new Map(Object.entries(bytes).map(([uid, sent]) => [Number(uid), sent])));
  }

  /** Starts saving and reporting. */
  start(): void {
    this.#timer = setInterval(() => this.#flush(), this.#options.flushMs).unref();
  }

  of(uid: number): MonthTraffic {
    this.#turnMonth();
    return { month: this.#month, bytes: this.#bytes.get(uid) ?? 0 };
  }

  /** Counts what a connection sends for an account, until the returned function is called. */
  begin(uid: number, socket: Socket): () => void {
    const sending = { uid, socket, countedBytes: socket.bytesWritten };
    this.#sending.add(sending);
    return () => {
      this.#count(sending);
      this.#sending.delete(sending);
    };
  }

  forget(uid: number): void {
    this.#bytes.delete(uid);
  }

  /** Saves the counts. Close the senders first. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#flush();
    // All writes before it have ended.
    await this.#writes(async () => {});
  }

  #count(sending: Sending): void {
    const { uid, socket } = sending;
    const bytes = socket.bytesWritten - sending.countedBytes;
    if (bytes === 0) return;
    sending.countedBytes += bytes;
    this.#turnMonth();
    this.#bytes.set(uid, (this.#bytes.get(uid) ?? 0) + bytes);
    this.#changed.add(uid);
  }

  /** A clock that is set back does not return to an earlier month. */
  #turnMonth(): void {
    const month = monthOf(this.#options.clock);
    if (month <= this.#month) return;
    this.#month = month;
    this.#bytes.clear();
  }

  #flush(): void {
    for (const sending of this.#sending) this.#count(sending);
    if (this.#changed.size === 0) return;
    const { file, onChange, log } = this.#options;
    for (const uid of this.#changed) onChange(uid);
    this.#changed.clear();
    const kept = JSON.stringify({ month: this.#month, bytes: Object.fromEntries(this.#bytes) });
    this.#writes(() => writeFileAtomic(file, `${kept}\n`)).catch((error) =>
      log.error({ err: error }, "traffic not written"),
    );
  }
}

function monthOf(clock: Clock): string {
  return clock.now().toISOString().slice(0, 7);
}

function parseKept(file: string, text: string): { month: string; bytes: Record<string, number> } {
  try {
    return Value.Parse(Kept, JSON.parse(text));
  } catch (error) {
    throw new Error(`${file} is not a traffic file: remove it to count the month from 0`, { cause: error });
  }
}
