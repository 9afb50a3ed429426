/**
 * One owner per registry at a time: the process that holds this session-level advisory lock. PostgreSQL drops the lock
 * with the connection, so a killed owner is gone at once.
 */
import { heldLocks, lockKey } from "#jobs/advisory-locks.ts";

/** The first half of the lock's key; "reg" in ASCII. The second half is a hash of the registry's id. */
export const ownerLockClass = 0x726567;

/** SQL: the second keys of the locks that are held, as `key`: one row for each registry that somebody owns. */
export const ownedRegistryKeys = heldLocks(ownerLockClass);

/** SQL: whether somebody owns the registry's sessions. */
export const registryOwnerAlive = (registryId: string) =>
  `EXISTS (SELECT FROM (${ownedRegistryKeys}) AS owned WHERE key = ${lockKey(registryId)})`;
