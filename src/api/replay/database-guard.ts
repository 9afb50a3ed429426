/**
 * A replay guard for several api processes: a nonce is in the database before its answer goes out. Nothing is reserved there, so a
 * process that is killed leaves almost no nonce behind that was not answered. Of two processes that work on the same request, the
 * database lets one answer; the other throws away what it has read.
 */
import { turnParts, writeNonces } from "#api/replay/database-nonces.ts";
import type { NonceEntry } from "#api/replay/nonce-file.ts";
import { JournalUnavailable, NonceTaken, type ReplayGuard } from "#api/replay/replay.ts";
import { nameOf, UsedNonces } from "#api/replay/used-nonces.ts";
import type { Context } from "#context.ts";
import type { OpenDatabase } from "#db/database.ts";
import { createTurnStatement } from "#db/turn-statement.ts";
import { unixSeconds } from "#lib/clock.ts";
import { reportDefect } from "#lib/report-defect.ts";

export interface DatabaseGuardOptions {
  /** For nonces alone, so that no slow query delays them. The guard closes it. */
  database: OpenDatabase;
  context: Pick<Context, "clock" | "database">;
  windowSeconds: number;
}

export interface DatabaseGuard extends ReplayGuard {
  /** From now on requests signed at or before this time are refused. It never falls. */
  raiseHorizon(seconds: number): void;
  /** Empties parts of the table that are not needed any more; from time to time. @throws DatabaseUnavailable */
  turnParts(): Promise<void>;
}

/** A replay guard that keeps its nonces in the database, and in memory those that this process has answered. */
export function createDatabaseGuard({ database, context, windowSeconds }: DatabaseGuardOptions): DatabaseGuard {
  const { clock } = context;
  const inFlight = new Set<string>();
  /** What this process has answered: a twin costs it no statement. */
  const used = new UsedNonces(0);
  let horizonSeconds = 0;
  const isTaken = (name: string) => used.has(name) || inFlight.has(name);
  const write = createWriter(database, () => unixSeconds(clock) - windowSeconds);

  return {
    mode: "database",

    raiseHorizon(seconds) {
      horizonSeconds = Math.max(horizonSeconds, seconds);
    },

    turnParts: () => turnParts(context, windowSeconds),

    load: (entries) => used.addAll(entries),

    isUsed: (keyId, nonce) => isTaken(nameOf(keyId, nonce)),

    reserve(keyId, nonce, timestamp) {
      const now = unixSeconds(clock);
      if (Math.abs(timestamp - now) > windowSeconds || timestamp <= horizonSeconds) return false;
      // What is forgotten here is still in the database.
      used.forgetBefore(now - windowSeconds);
      const name = nameOf(keyId, nonce);
      if (isTaken(name)) return false;
      inFlight.add(name);
      return true;
    },

    release(keyId, nonce) {
      inFlight.delete(nameOf(keyId, nonce));
    },

    async answered(keyId, nonce, timestamp, isStored = false) {
      const name = nameOf(keyId, nonce);
      const use = () => {
        inFlight.delete(name);
        used.add(name, timestamp);
      };
      try {
        if (!isStored) await write({ keyId, nonce, timestamp });
        use();
      } catch (error) {
        if (error instanceof NonceTaken) use();
        throw error;
      }
    },

    kept: () => used.size,
    horizonSeconds: () => horizonSeconds,

    close() {
      database.close().catch(reportDefect);
    },
  };
}

/** Writes the nonces of one turn of the event loop in one statement. */
function createWriter(database: OpenDatabase, since: () => number) {
  const ask = createTurnStatement({
    name: "nonces-insert",
    database,
    execute: (entries: readonly NonceEntry[]) => writeNonces(database, entries, since()),
  });
  /** By nonce and key. */
  const writing = new Set<string>();

  /** @throws NonceTaken; JournalUnavailable */
  return async (entry: NonceEntry): Promise<void> => {
    // Two readings of requests in flight can be the same nonce. The later one is taken.
    const name = nameOf(entry.keyId, entry.nonce);
    if (writing.has(name)) throw new NonceTaken();
    writing.add(name);
    try {
      const isNew = await ask(entry);
      if (isNew === false) throw new NonceTaken();
      if (!isNew) throw new JournalUnavailable("the database has no part for the nonce's time: is a clock wrong?");
    } catch (error) {
      if (error instanceof NonceTaken || error instanceof JournalUnavailable) throw error;
      throw new JournalUnavailable("the database did not store the nonces", { cause: error });
    } finally {
      writing.delete(name);
    }
  };
}
