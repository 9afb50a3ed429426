/**
 * Where nonces are kept is a decision of all api processes of a database: one with a journal knows no other's nonces. So a process with a
 * journal holds a lock alone, and those that keep them in the database share it. A process without the lock answers no signed request.
 */

import type { NonceMode } from "#config-nonces.ts";
import { sleep } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import { reportDefect } from "#lib/report-defect.ts";
import { keepLockConnection, type LockConnection } from "#locks/lock-connection.ts";

/** "non" in ASCII. */
const modeLockClass = 0x6e6f6e;
const tryAgainMs = 500;

const lockSql: Record<NonceMode, string> = {
  journal: `SELECT pg_try_advisory_lock(${modeLockClass}, 0) AS is_held`,
  database: `SELECT pg_try_advisory_lock_shared(${modeLockClass}, 0) AS is_held`,
};

const othersServe: Record<NonceMode, string> = {
  journal:
    "another api serves this database, and an api with a journal of nonces must be the only one: stop the other, or set DEEDHOUSE_NONCES=database for all",
  database:
    "an api with a journal of nonces serves this database: stop it, or set DEEDHOUSE_NONCES=database for it too",
};

export interface ModeLock {
  /** Why no signed request may be answered now. */
  refusal(): string | undefined;
  /** Resolves when the lock is held, or known to be held by another. */
  firstTry: Promise<void>;
  close(): Promise<void>;
}

export interface ModeLockOptions {
  mode: NonceMode;
  databaseUrl: string;
  log: Log;
  /** Prepares the nonces each time the lock has been taken: until it has resolved, nothing is answered. */
  onTaken(): Promise<void>;
  /** Whenever `refusal` may say something else. */
  onChange?: (() => void) | undefined;
}

/** Takes the lock, again on each new connection, and tries until it has it. */
export function keepModeLock({ mode, databaseUrl, log, onTaken, onChange }: ModeLockOptions): ModeLock {
  const stopped = new AbortController();
  const first = Promise.withResolvers<void>();
  let current: LockConnection | undefined;
  let refusal: string | undefined = "waiting for the database";

  async function take(connection: LockConnection): Promise<void> {
    let isHeld = false;
    while (current === connection && !stopped.signal.aborted) {
      try {
        isHeld ||= (await connection.query<{ is_held: boolean }>(lockSql[mode])).rows[0]!.is_held;
        if (isHeld) await onTaken();
        if (current !== connection) return;
        const next = isHeld ? undefined : othersServe[mode];
        if (next !== undefined && next !== refusal) log.warn({ mode }, next);
        refusal = next;
        onChange?.();
        first.resolve();
        if (isHeld) return;
      } catch (error) {
        log.warn({ err: error }, "cannot prepare the nonces");
      }
      await sleep(tryAgainMs, stopped.signal);
    }
  }

  const kept = keepLockConnection({ log, databaseUrl, pingMs: undefined, stopped: stopped.signal }, (connection) => {
    current = connection;
    refusal = "waiting for the database";
    onChange?.();
    if (connection) take(connection).catch(reportDefect);
  });
  return {
    refusal: () => refusal,
    firstTry: first.promise,
    async close() {
      stopped.abort();
      await kept;
    },
  };
}
