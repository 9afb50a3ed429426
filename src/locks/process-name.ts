/** How a process that works is known, to PostgreSQL by its connection for locks, and to operators. */
import { hostname } from "node:os";

/** Of its name PostgreSQL keeps 63 bytes. */
export const lockConnectionName = `deedhouse-liveness ${process.pid} on ${hostname()}`.slice(0, 63);

/** For operators: "process 4711 on host". */
export const processName = lockConnectionName.replace("deedhouse-liveness", "process");

/** SQL: the processes that have such a connection, as `process`; named as `processName` is. */
export const connectedProcesses = `SELECT 'process ' || substring(application_name FROM '^deedhouse-liveness (.+)$') AS process
  FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'deedhouse-liveness %'`;
