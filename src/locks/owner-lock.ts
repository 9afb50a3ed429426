/**
 * One session holder per registry at a time: the process that holds this session-level advisory lock and, with it, the
 * registry's lease (registry-lease.ts). PostgreSQL releases the lock with the connection, so a killed holder loses it at once.
 * A holder that hangs loses it because its lease expires.
 */
import { heldLocks, lockKey } from "#locks/advisory-locks.ts";

/** The first half of the lock's key; "reg" in ASCII. The second half is a hash of the registry's id. */
const ownerLockClass = 0x726567;

/** SQL: the connection that holds the registry's lock, as `pid`; no row when the lock is free. */
export const ownerLock = (registryId: string) => `${heldLocks(ownerLockClass)} AND objid = ${lockKey(registryId)}`;

/**
 * Who waits asks again: a statement that waits for a lock keeps its snapshot meanwhile, so that no vacuum removes a row that dies and
 * no CREATE INDEX CONCURRENTLY ends.
 */
export const tryOwnerLock = `SELECT pg_try_advisory_lock(${ownerLockClass}, hashtext($1)) AS is_owner, pg_backend_pid() AS pid`;

/** SQL: whether a process owns the registry's sessions: by a lease that has not expired. */
export const registryOwnerAlive = (registryId: string) =>
  `EXISTS (SELECT FROM registry_leases AS lease WHERE lease.registry_id = ${registryId} AND lease.expires_at > now())`;

/** SQL: whether a process owned the registry's sessions so recently that its successor may be about to begin. */
export const registryOwnerExpected = (registryId: string) =>
  `EXISTS (SELECT FROM registry_leases AS lease
     WHERE lease.registry_id = ${registryId} AND lease.expires_at > now() - interval '10 seconds')`;
