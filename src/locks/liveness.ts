/**
 * What a process is working on, as shared advisory locks on one connection, which ends with the process. More than one process
 * may hold a lock of the same name: who works on a registry's changes says so by one (src/jobs/predecessor.ts).
 */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { heldLocks, lockKey } from "#locks/advisory-locks.ts";
import { keepLockConnection, type LockConnection } from "#locks/lock-connection.ts";

/** The first half of the locks' keys; "job" in ASCII. */
const livenessLockClass = 0x6a6f62;
/** Connections of our own that are gone for us, and whose locks PostgreSQL may hold yet. */
const ownPidsMax = 10;

const lockSql = `SELECT pg_advisory_lock_shared(${livenessLockClass}, hashtext($1))`;
const unlockSql = `SELECT pg_advisory_unlock_shared(${livenessLockClass}, hashtext($1))`;

const holderElsewhere = statement(
  "liveness-elsewhere",
  `SELECT coalesce(substring(application_name FROM '^deedhouse-liveness (.+)$'), '(unknown)') AS process
   FROM (${heldLocks(livenessLockClass)} AND objid = ${lockKey("$name")} AND pid <> ALL($own_pids::int4[])) AS held
   LEFT JOIN pg_stat_activity USING (pid) LIMIT 1`,
  { process: "text" },
);

export interface Liveness {
  /**
   * Call it before work of that name begins. Resolves when others can see it; without a connection it resolves at once, and
   * they see it when the connection is back.
   */
  add(name: string): Promise<void>;
  /** Call it when work of that name has ended. */
  remove(name: string): void;
  /** Another process that is at work on what has that name: "process 4711 on host", or nothing. */
  findElsewhere(name: string): Promise<string | undefined>;
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
 * Keeps this process's locks.
 * @param pingMs how often the connection is asked whether it is there
 */
export function startLiveness(
  context: Pick<Context, "database" | "log">,
  databaseUrl: string,
  pingMs?: number,
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

  const kept = { log: context.log, databaseUrl, pingMs, stopped: stopped.signal };
  const connected = keepLockConnection(kept, (connection) => {
    current = connection && { ...connection, held: new Set() };
    if (connection) ownPids = [...ownPids, connection.pid].slice(-ownPidsMax);
    follow();
  });
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
      const [holder] = await context.database.query(holderElsewhere, { name, own_pids: ownPids });
      return holder && `process ${holder.process}`;
    },
    async close() {
      stopped.abort();
      await connected;
    },
  };
}
