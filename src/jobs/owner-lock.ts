/**
 * One owner per registry at a time: the process that holds this session-level advisory lock. PostgreSQL drops the lock
 * with the connection, so a killed owner is gone at once.
 */

/** The first half of the lock's key; "reg" in ASCII. The second half is a hash of the registry's id. */
export const ownerLockClass = 0x726567;

/** SQL: whether somebody owns the registry's sessions. `registryId` is a placeholder of type text. */
export const registryOwnerAlive = (registryId: string) => `
  EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = ${ownerLockClass}
    AND objid = (hashtext(${registryId}::text)::int8 & 4294967295)::oid AND objsubid = 2
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`;
