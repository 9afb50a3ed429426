/** What the first thread of an api and the threads that answer requests tell each other. */
import type { ReplayMemory } from "#api/replay/replay-memory.ts";
import type { CountsMemory } from "#front/thread-counts.ts";
import type { TlsPair } from "#lib/net/tls-pair.ts";
import type { ThreadShare } from "#metrics/thread-shares.ts";

/** Why no signed request may be answered now, as the first thread knows it. */
export interface Refusals {
  database: string | undefined;
  nonces: string | undefined;
}

/** What a thread gets at its start. */
export interface ThreadData {
  /** Its number, from 1 on: that of its predecessor, if that has died. */
  thread: number;
  port: number;
  nonces: ReplayMemory;
  counts: CountsMemory;
  vitals: SharedArrayBuffer;
  /** As of now; messages follow. */
  refusals: Refusals;
}

export type ToThread =
  | { is: "refusals"; refusals: Refusals }
  | { is: "certificate"; pair: TlsPair }
  | { is: "measure"; number: number }
  | { is: "drain" }
  | { is: "close"; graceMs: number };

export type FromThread =
  | { is: "ready"; port: number }
  | { is: "measured"; number: number; share: ThreadShare }
  | { is: "closed"; cut: number };

/** A thread's words in `vitals`, which it writes once a second. */
const vitalWords = 2;
export const vitalAt = (thread: number) => ({ beats: thread * vitalWords, inProgress: thread * vitalWords + 1 });
export const allocateVitals = (threads: number) =>
  new SharedArrayBuffer((threads + 1) * vitalWords * Int32Array.BYTES_PER_ELEMENT);
export const beatMs = 1_000;
