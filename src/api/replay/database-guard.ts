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
import { unixSeconds, waitAtMost } from "#lib/clock.ts";
import { reportDefect } from "#lib/report-defect.ts";

/** Then the end of the statement is unknown, and the answer is 503. */
const answerMsMax = 2_000;

interface Waiting {
  entry: NonceEntry;
  written: PromiseWithResolvers<void>;
}

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

/** Writes the nonces of one turn of the event loop, and those that come while a statement runs, in one statement. */
function createWriter(database: OpenDatabase, since: () => number) {
  /** By nonce and key. */
  let waiting = new Map<string, Waiting>();
  let isRunning = false;

  async function run(batch: Waiting[]): Promise<void> {
    const entries = batch.map(({ entry }) => entry);
    let isInTime = false;
    const answer = writeNonces(database, entries, since()).then((isNew) => {
      isInTime = true;
      for (const [place, { written }] of batch.entries()) {
        if (isNew[place]) written.resolve();
        else if (isNew[place] === false) written.reject(new NonceTaken());
        else written.reject(new JournalUnavailable("the database has no part for the nonce's time: is a clock wrong?"));
      }
    });
    const failed = answer.catch((error: unknown) => {
      isInTime = true;
      const reason = new JournalUnavailable("the database did not store the nonces", { cause: error });
      for (const { written } of batch) written.reject(reason);
    });
    await waitAtMost(answerMsMax, failed);
    if (isInTime) return;
    // The connection may never answer again; the next statement gets another one.
    database.suspend();
    await failed;
    database.resume();
  }

  async function runAll(): Promise<void> {
    while (waiting.size > 0) {
      const batch = [...waiting.values()];
      waiting = new Map();
      await run(batch);
    }
    isRunning = false;
  }

  /** @throws NonceTaken; JournalUnavailable */
  return (entry: NonceEntry): Promise<void> => {
    // Two readings of requests in flight can be the same nonce. The later one is taken.
    const name = nameOf(entry.keyId, entry.nonce);
    if (waiting.has(name)) return Promise.reject(new NonceTaken());
    const written = Promise.withResolvers<void>();
    waiting.set(name, { entry, written });
    if (!isRunning) {
      isRunning = true;
      setImmediate(() => {
        runAll().catch(reportDefect);
      });
    }
    return written.promise;
  };
}
