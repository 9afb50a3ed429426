/**
 * What this process has told others is committed: an order that a reseller got a 202 for, a command that a registry got. A database that
 * lacks any of it went back, which PostgreSQL does not say: a standby that was promoted without the last commits looks like any other.
 */
import type { Clock } from "#lib/clock.ts";

const keptMs = 10 * 60_000;
const keptMax = 10_000;

export interface AcknowledgedRequest {
  is: "request";
  keyId: string;
  nonce: string;
  /** For operators: the code of the order, or else what was requested. */
  name: string;
  at: Date;
}

export interface AcknowledgedCommand {
  is: "command";
  clTrid: string;
  at: Date;
}

type Entry = AcknowledgedRequest | AcknowledgedCommand;

/** Those of the last ten minutes, and at most 10,000. */
export interface Acknowledged {
  addRequest(request: Pick<AcknowledgedRequest, "keyId" | "nonce" | "name">): void;
  addCommand(clTrid: string): void;
  entries(): Entry[];
  /** For entries that are lost, once the alarm is raised. */
  forget(entries: readonly Entry[]): void;
}

export function createAcknowledged(clock: Clock): Acknowledged {
  // In the order of their times.
  const kept = new Map<Entry, number>();
  function add(entry: Entry): void {
    const nowMs = clock.monotonicMs();
    kept.set(entry, nowMs);
    for (const [oldest, atMs] of kept) {
      if (kept.size <= keptMax && nowMs - atMs <= keptMs) break;
      kept.delete(oldest);
    }
  }
  return {
    addRequest: ({ keyId, nonce, name }) => add({ is: "request", keyId, nonce, name, at: clock.now() }),
    addCommand: (clTrid) => add({ is: "command", clTrid, at: clock.now() }),
    entries: () => [...kept].filter(([, atMs]) => clock.monotonicMs() - atMs <= keptMs).map(([entry]) => entry),
    forget(entries) {
      for (const entry of entries) kept.delete(entry);
    },
  };
}
