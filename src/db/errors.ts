import { DatabaseError } from "pg";

/**
 * The database cannot be used right now: unreachable, shutting down, out of connections or too slow. The same call may
 * succeed later. If COMMIT throws it, the transaction may or may not have been committed.
 */
export class DatabaseUnavailable extends Error {
  override readonly name = "DatabaseUnavailable";
}

/** Another transaction has held a row for longer than `lockTimeoutMs`. The connection can still be used. */
export class LockTimeout extends DatabaseUnavailable {}

/** The database answers, but is not one on which we may work; the message says what to do. Later it may be. */
export class UnfitDatabase extends DatabaseUnavailable {}

/** Socket and resolver errors of Node (`error.code`). */
const networkCodes = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOENT", // a server that is down has no Unix socket
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENETDOWN",
]);

/** SQLSTATE classes 08 (connection) and 53 (insufficient resources), PostgreSQL Appendix A. */
const unavailableClasses = new Set(["08", "53"]);

const unavailableStates = new Set([
  "57P01", // admin_shutdown
  "57P02", // crash_shutdown
  "57P03", // cannot_connect_now
  "57P05", // idle_session_timeout
  "25P03", // idle_in_transaction_session_timeout
  "57014", // query_canceled: statement_timeout
]);

/** SQLSTATE lock_not_available: lock_timeout. */
const lockNotAvailable = "55P03";

/** The driver gives these no code (pg 8.23 lib/client.js, pg-pool 3 index.js). */
const driverMessages = [
  "Connection terminated",
  "Query read timeout",
  "timeout expired",
  "timeout exceeded when trying to connect",
  "Client has encountered a connection error",
  "Client was closed",
  "Cannot use a pool after calling end",
];

/** A schema change altered the columns of a statement that this connection had prepared before (SQLSTATE 0A000). */
export function isStalePlan(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === "0A000" && error.message.includes("cached plan");
}

/** The error for callers: a temporary failure becomes `DatabaseUnavailable`, any other stays as it is. */
export function translateError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof DatabaseUnavailable) return error;
  if (error instanceof DatabaseError && error.code === lockNotAvailable) {
    return new LockTimeout("another transaction holds a row for too long", { cause: error });
  }
  return isTemporary(error)
    ? new DatabaseUnavailable(`the database is unavailable: ${describe(error)}`, { cause: error })
    : error;
}

/** Node's error for a failed connection; a host with several addresses gets one error for each. */
type ConnectError = NodeJS.ErrnoException & { address?: string; port?: number; hostname?: string; errors?: Error[] };

/** "connect ECONNREFUSED 127.0.0.1:5432" does not say which service is missing. */
function describe(error: ConnectError): string {
  const { code, syscall, hostname } = error;
  if (syscall === "getaddrinfo") return `the host name ${hostname} of PostgreSQL cannot be found (${code})`;
  const attempts = (error.errors ?? [error]) as ConnectError[];
  if (attempts.some((attempt) => attempt.syscall !== "connect")) return error.message;
  const places = attempts.map(({ address, port }) => (port === undefined ? address : `${address}:${port}`));
  return `PostgreSQL does not answer at ${places.join(" or ")} (${code})`;
}

function isTemporary(error: Error): boolean {
  if (error instanceof DatabaseError) {
    const state = error.code ?? "";
    return unavailableStates.has(state) || unavailableClasses.has(state.slice(0, 2)) || isStalePlan(error);
  }
  const code = (error as NodeJS.ErrnoException).code ?? "";
  return networkCodes.has(code) || driverMessages.some((message) => error.message.startsWith(message));
}

/** Whether the connection on which this was thrown cannot be used any more. */
export const isConnectionLost = (error: unknown): boolean =>
  error instanceof DatabaseUnavailable && !(error instanceof LockTimeout);

/** Whether a unique constraint (the named one, one with a name of this form, or any) refused the row. */
export function isUniqueViolation(error: unknown, constraint?: string | RegExp): boolean {
  if (!(error instanceof DatabaseError) || error.code !== "23505") return false;
  if (constraint instanceof RegExp) return constraint.test(error.constraint ?? "");
  return constraint === undefined || error.constraint === constraint;
}

/** SQLSTATE classes 22 (data exception), 23 (integrity constraint violation) and 54 (program limit exceeded). */
const refusedClasses = new Set(["22", "23", "54"]);

/** The SQLSTATE with which the database refused the values themselves, now and at any later time; undefined for other errors. */
export function refusedValueState(error: unknown): string | undefined {
  const state = error instanceof DatabaseError ? (error.code ?? "") : "";
  return refusedClasses.has(state.slice(0, 2)) ? state : undefined;
}
