/**
 * What a process is at work on, as advisory locks on one connection, which ends with the process.
 *
 * The queue marks each job with the pool of workers that took it, and each pool has a lock named by its id. A job whose pool
 * holds no such lock is nobody's any more: it is given to the others within two seconds; by itself the queue would wait for
 * four hours. New orders are in no queue: who works on a registry's says so by a lock that is named by the registry
 * (new-orders.ts), and more than one process may hold it.
 */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { sleep } from "#lib/clock.ts";
import { heldLocks, lockKey } from "#locks/advisory-locks.ts";
import { keepLockConnection, type LockConnection } from "#locks/lock-connection.ts";

/** The first half of the locks' keys; "job" in ASCII. */
const livenessLockClass = 0x6a6f62;
const sweepMs = 1_000;
/** Connections of our own that are gone for us, and whose locks PostgreSQL may hold yet. */
const ownPidsMax = 10;

const lockSql = `SELECT pg_advisory_lock_shared(${livenessLockClass}, hashtext($1))`;
const unlockSql = `SELECT pg_advisory_unlock_shared(${livenessLockClass}, hashtext($1))`;

/** SQL: who holds a lock of that name, as heldLocks has them. `name` is SQL too. */
const holdersOf = (name: string) => `${heldLocks(livenessLockClass)} AND objid = ${lockKey(name)}`;

// A pool takes its lock when it is made and its first job just after: the second leaves time for it.
const freeJobsOfDead = statement(
  "jobs-of-dead-pools",
  `SELECT graphile_worker.force_unlock_workers(dead.ids)::text AS freed FROM (
     SELECT array_agg(DISTINCT locked_by) AS ids FROM graphile_worker.jobs
     WHERE locked_at < now() - interval '1 second' AND NOT EXISTS (${holdersOf("locked_by")})
   ) AS dead WHERE ids IS NOT NULL`,
  { freed: "text?" },
);

// What a process that hangs has taken it holds as long as it lives.
const freeJobsOfOthers = statement(
  "jobs-of-other-pools",
  `SELECT graphile_worker.force_unlock_workers(others.ids)::text AS freed FROM (
     SELECT array_agg(DISTINCT locked_by) AS ids FROM graphile_worker.jobs
     WHERE locked_by <> ALL($1::text[]) AND task_identifier = ANY($2::text[])
   ) AS others WHERE ids IS NOT NULL`,
  { freed: "text?" },
);

const holderElsewhere = statement(
  "liveness-elsewhere",
  `SELECT coalesce(substring(application_name FROM '^deedhouse-liveness (.+)$'), '(unknown)') AS process
   FROM (${holdersOf("$1")} AND pid <> ALL($2::int4[])) AS held LEFT JOIN pg_stat_activity USING (pid) LIMIT 1`,
  { process: "text" },
);

export interface Liveness {
  /**
   * Call it when a pool of workers is made, before it can take a job, or before other work of that name begins. Resolves when
   * others can see it; without a connection at once, and they see it when there is one again.
   */
  add(name: string): Promise<void>;
  /** Call it when a pool has ended, whose jobs others may have then, or other work of that name. */
  remove(name: string): void;
  /** Another process that is at work on what has that name: "process 4711 on host", or nothing. */
  findElsewhere(name: string): Promise<string | undefined>;
  /** Takes the jobs of these tasks from the pools of other processes, whether they live or not. */
  freeElsewhere(tasks: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

interface Connection extends LockConnection {
  held: Set<string>;
}

/** @throws the driver's error */
async function holdOnly({ query, held }: Connection, names: ReadonlySet<string>): Promise<void> {
  for (const name of names) {
    if (held.has(name)) continue;
    await query(lockSql, [name]);
    held.add(name);
  }
  for (const name of held) {
    if (names.has(name)) continue;
    await query(unlockSql, [name]);
    held.delete(name);
  }
}

/**
 * Keeps this process's locks, and frees the jobs of pools that are gone.
 * @param askMs how often the connection is asked whether it is there
 */
export function startLiveness(
  context: Pick<Context, "database" | "log">,
  databaseUrl: string,
  askMs?: number,
): Liveness {
  const names = new Set<string>();
  const stopped = new AbortController();
  let current: Connection | undefined;
  let ownPids: number[] = [];
  let following: Promise<void> = Promise.resolve();

  /** Lets the connection hold the lock of each name, once, and no others. */
  function follow(): Promise<void> {
    following = following.then(async () => {
      const connection = current;
      if (connection) await holdOnly(connection, names).catch(() => {});
    });
    return following;
  }

  async function sweep(): Promise<void> {
    while (!stopped.signal.aborted) {
      await sleep(sweepMs, stopped.signal);
      // Without our own locks we would free our own jobs.
      if (stopped.signal.aborted || !current) continue;
      await following;
      await context.database.query(freeJobsOfDead, []).catch((error: unknown) => {
        context.log.warn({ err: error }, "the jobs of dead workers could not be looked for");
      });
    }
  }

  const kept = { log: context.log, databaseUrl, askMs, stopped: stopped.signal };
  const connected = keepLockConnection(kept, (connection) => {
    current = connection && { ...connection, held: new Set() };
    if (connection) ownPids = [...ownPids, connection.pid].slice(-ownPidsMax);
    follow();
  });
  const running = Promise.all([connected, sweep()]);
  return {
    add(name) {
      names.add(name);
      return follow();
    },
    remove(name) {
      names.delete(name);
      follow();
    },
    async findElsewhere(name) {
      const [holder] = await context.database.query(holderElsewhere, [name, ownPids]);
      return holder && `process ${holder.process}`;
    },
    async freeElsewhere(tasks) {
      await context.database.query(freeJobsOfOthers, [[...names], tasks]);
    },
    async close() {
      stopped.abort();
      await running;
    },
  };
}
