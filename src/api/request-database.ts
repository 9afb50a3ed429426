/**
 * The database as the requests of resellers use it. A connection is given to the reseller who was served longest ago, and
 * one reseller never has all of them. Writes about one name or account would wait for each other's rows, so they wait here
 * instead, without a connection.
 */
import type { Database } from "#db/database.ts";
import { DatabaseUnavailable, LockTimeout } from "#db/errors.ts";
import { sleep } from "#lib/clock.ts";
import { measure, secondsSince } from "#lib/measure/measure.ts";
import { FairQueue, QueueFull } from "#lib/queues/fair-queue.ts";
import { createSourceTurns, TooManyWaiting } from "#lib/queues/source-turns.ts";

/**
 * Two less than the connections of the pool (src/build-context.ts): batches, which have items of all resellers, and what no
 * reseller has asked for, need some too.
 */
const connectionsMax = 8;
const resellerConnectionsMax = 6;
const waitingMax = 2_000;
/** As long as for a connection of the pool. */
const waitMsMax = 3_000;

/** How often a transaction is tried while another process holds its row, and the pause between two tries. */
const lockTriesMax = 3;
const lockPauseMs = 100;

/** Whose request it is, and what it writes to: the name or account in its path; undefined for reads and new things. */
export interface Requested {
  resellerId: number;
  subject: string | undefined;
}

/** @returns the database for one request; its transactions may run more than once, so they contain nothing but SQL */
export type RequestDatabase = (requested: Requested) => Database;

/** The turns of one api process. */
export function createRequestDatabase(database: Database): RequestDatabase {
  const connections = new FairQueue({
    runningMax: connectionsMax,
    sponsorRunningMax: resellerConnectionsMax,
    waitingMax,
    waitMsMax,
  });
  const subjects = createSourceTurns((error) => error instanceof DatabaseUnavailable);

  return ({ resellerId, subject }) => {
    const sponsors = [[String(resellerId)]];
    const withConnection = <T>(work: () => Promise<T>) => {
      const beganAtMs = performance.now();
      const begin = () => {
        measure("pool_wait_seconds", { pool: "requests" }, secondsSince(beganAtMs));
        return work();
      };
      return connections.run(sponsors, begin).catch(translate);
    };
    return {
      ...database,
      query: (statement, values) => withConnection(() => database.query(statement, values)),
      transaction(work) {
        const run = () => tryAgain(() => withConnection(() => database.transaction(work)));
        return subject === undefined ? run() : subjects.take(`${resellerId} ${subject}`, () => 1, run).catch(translate);
      },
    };
  };
}

async function tryAgain<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof LockTimeout) || tries === lockTriesMax) throw error;
      await sleep(lockPauseMs);
    }
  }
}

function translate(error: unknown): never {
  if (!(error instanceof QueueFull || error instanceof TooManyWaiting)) throw error;
  throw new DatabaseUnavailable("too many of the reseller's requests wait for the database", { cause: error });
}
