/** SQL for session-level advisory locks with two keys: a class of ours and the hash of a name. A lock ends with its connection. */

/** SQL: a lock's second key, as pg_locks shows it. `name` is SQL of type text. */
export const lockKey = <Sql extends string>(name: Sql) => `(hashtext(${name}::text)::int8 & 4294967295)::oid` as const;

/** SQL: the locks of the class that are held in this database, as `key` and `pid`. `AND` with columns of pg_locks may follow. */
export const heldLocks = (lockClass: number) => `
  SELECT objid AS key, pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = ${lockClass}
    AND objsubid = 2 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
