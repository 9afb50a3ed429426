/**
 * One owner per registry at a time: the process that holds this session-level advisory lock. PostgreSQL drops the lock
 * with the connection, so a killed owner is gone at once.
 */

/** The first half of the lock's key; "reg" in ASCII. The second half is a hash of the registry's id. */
export const ownerLockClass = 0x726567;

/** SQL: the second keys of the locks that are held, as `key`: one row for each registry that somebody owns. */
export const ownedRegistryKeys = `
  SELECT objid AS key FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = ${ownerLockClass}
    AND objsubid = 2 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

/** SQL: a registry's second key. `registryId` is a placeholder or column of type text. */
export const registryKey = (registryId: string) => `(hashtext(${registryId}::text)::int8 & 4294967295)::oid`;

/** SQL: whether somebody owns the registry's sessions. */
export const registryOwnerAlive = (registryId: string) =>
  `EXISTS (SELECT FROM (${ownedRegistryKeys}) AS owned WHERE key = ${registryKey(registryId)})`;
