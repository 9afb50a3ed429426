/** The names of a worker's process: for PostgreSQL, by its connection for locks, and for operators. */
import { hostname } from "node:os";

/** PostgreSQL keeps 63 bytes of a name. */
export const lockConnectionName = `deedhouse-liveness ${process.pid} on ${hostname()}`.slice(0, 63);

/** For operators: "process 4711 on host". */
export const processName = lockConnectionName.replace("deedhouse-liveness", "process");

/** SQL: the processes that have such a connection, as `process`, in the form of `processName`. */
export const connectedProcesses = `SELECT 'process ' || substring(application_name FROM '^deedhouse-liveness (.+)$') AS process
  FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'deedhouse-liveness %'`;
