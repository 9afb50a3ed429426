/**
 * Gives the jobs of a killed worker to the others within two seconds; by itself the queue would wait for four hours.
 *
 * The queue marks each job with the pool of workers that took it. For each of its pools a process holds an advisory lock
 * named by the pool's id, on one connection, which ends with the process. A job whose pool holds no such lock is
 * nobody's any more.
 */
import type { Client } from "pg";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { connectForLocks, createLockClient } from "#jobs/lock-connection.ts";
import { sleep } from "#lib/clock.ts";

/** The first half of the locks' keys; "job" in ASCII. */
const livenessLockClass = 0x6a6f62;
const sweepMs = 1_000;
const reconnectMs = 500;

const lockSql = `SELECT pg_advisory_lock(${livenessLockClass}, hashtext($1))`;
const unlockSql = `SELECT pg_advisory_unlock(${livenessLockClass}, hashtext($1))`;

// A pool takes its lock when it is made and its first job just after: the second leaves time for it.
const freeJobsOfDead = statement(
  "jobs-of-dead-pools",
  `SELECT graphile_worker.force_unlock_workers(dead.ids)::text AS freed FROM (
     SELECT array_agg(DISTINCT locked_by) AS ids FROM graphile_worker.jobs
     WHERE locked_at < now() - interval '1 second' AND NOT EXISTS (
       SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = ${livenessLockClass}
         AND objid = (hashtext(locked_by)::int8 & 4294967295)::oid AND objsubid = 2
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
   ) AS dead WHERE ids IS NOT NULL`,
  { freed: "text?" },
);

export interface Liveness {
  /** Call it when a pool of workers is made, before it can take a job. */
  add(poolId: string): void;
  /** Call it when a pool has ended: what it could not hand back is free for others. */
  remove(poolId: string): void;
  close(): Promise<void>;
}

/** Keeps the locks of this process's pools, and frees the jobs of pools that are gone. */
export function startLiveness(context: Pick<Context, "database" | "log">, databaseUrl: string): Liveness {
  const poolIds = new Set<string>();
  const stopped = new AbortController();
  let client: Client | undefined;
  let asking: Promise<unknown> = Promise.resolve();
  const ask = (sql: string, poolId: string) => {
    asking = asking.then(() => client?.query(sql, [poolId])).catch(() => {});
  };

  async function keepLocks(): Promise<void> {
    while (!stopped.signal.aborted) {
      const connection = createLockClient(databaseUrl, "deedhouse-liveness");
      const broke = new Promise<void>((resolve) => {
        connection.on("error", () => resolve());
        connection.once("end", () => resolve());
      });
      try {
        await connectForLocks(connection);
        client = connection;
        for (const poolId of poolIds) ask(lockSql, poolId);
        await broke;
      } catch (error) {
        context.log.warn({ err: error }, "the connection that keeps the workers' locks broke");
      }
      client = undefined;
      await connection.end().catch(() => {});
      await sleep(reconnectMs, stopped.signal);
    }
  }

  async function sweep(): Promise<void> {
    while (!stopped.signal.aborted) {
      await sleep(sweepMs, stopped.signal);
      // Without our own locks we would free our own jobs.
      if (stopped.signal.aborted || !client) continue;
      await asking;
      await context.database.query(freeJobsOfDead, []).catch((error: unknown) => {
        context.log.warn({ err: error }, "the jobs of dead workers could not be looked for");
      });
    }
  }

  const running = Promise.all([keepLocks(), sweep()]);
  return {
    add(poolId) {
      poolIds.add(poolId);
      ask(lockSql, poolId);
    },
    remove(poolId) {
      poolIds.delete(poolId);
      ask(unlockSql, poolId);
    },
    async close() {
      stopped.abort();
      await client?.end().catch(() => {});
      await running;
    },
  };
}
