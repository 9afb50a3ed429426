/**
 * Announces what a process works on: one shared advisory lock for each name, on one connection, which ends with the process.
 * Several processes may hold the lock of the same name. src/jobs/predecessor.ts uses it for a registry's changes.
 */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { createSerialQueue } from "#lib/queues/serial-queue.ts";
import { reportDefect } from "#lib/report-defect.ts";
import { heldLocks, lockKey } from "#locks/advisory-locks.ts";
import { keepLockConnection, type LockConnection } from "#locks/lock-connection.ts";

/** The first half of the locks' keys; "job" in ASCII. */
const livenessLockClass = 0x6a6f62;
/** Remembers this process's earlier connections: PostgreSQL may still hold their locks after we have lost them. */
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
   * Call it before the work begins. Resolves when other processes can see the name; without a connection it resolves at once,
   * and they see it when the connection is back.
   */
  add(name: string): Promise<void>;
  /** Call it when the work has ended. */
  remove(name: string): void;
  /** Another process that works under this name, as "process 4711 on host". */
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
 * Holds this process's locks, and takes them again on a new connection when one is lost.
 * @param pingMs the interval between checks of the connection
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
  const updates = createSerialQueue();

  /** Makes the connection hold exactly the locks of `names`. */
  const update = () =>
    updates(async () => {
      if (current) await holdOnly(current, names).catch(() => {});
    });

  const kept = { log: context.log, databaseUrl, pingMs, stopped: stopped.signal };
  const connected = keepLockConnection(kept, (connection) => {
    current = connection && { ...connection, held: new Set() };
    if (connection) ownPids = [...ownPids, connection.pid].slice(-ownPidsMax);
    update().catch(reportDefect);
  });
  return {
    add(name) {
      names.add(name);
      return update();
    },
    remove(name) {
      names.delete(name);
      update().catch(reportDefect);
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
