/**
 * SQL: the timeline on which this primary writes, in hexadecimal digits. A promotion and a recovery to a point in time begin a new one.
 * The control file shows it only after the first checkpoint, the name of a log file at once.
 */
export const timelineNow = "substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)";
