/**
 * Locks on the rows that a process works on: session-level advisory locks on one connection. They end with the connection, so
 * the rows of a killed process are free at once, and no transaction stays open during a step.
 */
import type { Log } from "#lib/log.ts";
import { keepLockConnection, type LockConnection } from "#locks/lock-connection.ts";

// Two rows may have the same hash: then one of two processes waits.
const takeSql = `SELECT name, pg_try_advisory_lock($1::int4, hashtext(name)) AS is_held
  FROM unnest($2::text[]) AS name`;
const releaseSql = "SELECT pg_advisory_unlock($1::int4, hashtext($2))";

export interface HeldLocks {
  names: ReadonlySet<string>;
  /** Fires when the connection is lost: from then on another process may hold the locks. */
  lost: AbortSignal;
  /** Never throws. */
  release(name: string): Promise<void>;
}

export interface RowLocks {
  /**
   * Takes the locks that are free. The caller must not hold any of them: PostgreSQL lets the holder of a lock take it again.
   * @param lockClass the first half of the locks' keys
   * @returns undefined while there is no connection
   * @throws the driver's error
   */
  take(lockClass: number, names: readonly string[]): Promise<HeldLocks | undefined>;
  /** Calls `handle` after each connect. @returns a function that stops these calls */
  onConnect(handle: () => void): () => void;
  close(): Promise<void>;
}

export interface RowLocksOptions {
  log: Log;
  databaseUrl: string;
  /** The interval between checks of the connection. */
  pingMs?: number;
}

/** Connects at once, and again whenever it loses the connection. */
export function startRowLocks({ log, databaseUrl, pingMs }: RowLocksOptions): RowLocks {
  const handlers = new Set<() => void>();
  const stopped = new AbortController();
  let current: (LockConnection & { lost: AbortController }) | undefined;

  const running = keepLockConnection({ log, databaseUrl, pingMs, stopped: stopped.signal }, (connection) => {
    current?.lost.abort();
    current = connection && { ...connection, lost: new AbortController() };
    if (connection) for (const handle of handlers) handle();
  });

  return {
    async take(lockClass, names) {
      if (!current) return undefined;
      const { query, lost } = current;
      const { rows } = await query<{ name: string; is_held: boolean }>(takeSql, [lockClass, names]);
      return {
        names: new Set(rows.filter(({ is_held }) => is_held).map(({ name }) => name)),
        lost: lost.signal,
        async release(name) {
          // A lost connection has released all of its locks.
          if (!lost.signal.aborted) await query(releaseSql, [lockClass, name]).catch(() => {});
        },
      };
    },
    onConnect(handle) {
      handlers.add(handle);
      return () => handlers.delete(handle);
    },
    async close() {
      stopped.abort();
      await running;
    },
  };
}
