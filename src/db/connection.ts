import pg, { type ClientBase, type ClientConfig } from "pg";
import { type Demands, leastDemands } from "#db/facts.ts";
import { type SqlValue, type SqlValues, type Statement, valuesInOrder } from "#db/statement.ts";
import { measure, secondsSince } from "#lib/measure/measure.ts";
import { inStatement } from "#lib/measure/tracing.ts";

/** The limits of every connection. */
export interface ConnectionLimits {
  /** For connecting, and for waiting for a free connection of the pool. Default 3,000 ms. */
  connectionTimeoutMs?: number;
  /** PostgreSQL cancels a statement that runs longer. Default 10,000 ms. */
  statementTimeoutMs?: number;
  /** PostgreSQL cancels a statement that waits longer for a lock. Default: no limit but the statement's. */
  lockTimeoutMs?: number;
  /** PostgreSQL ends a session that is idle in a transaction for longer. Default 10,000 ms. */
  idleInTransactionTimeoutMs?: number;
}

/**
 * PostgreSQL's own statement timeout fires first. After this additional time the connection counts as dead (a firewall that
 * forgot it, a server that vanished) and the caller stops waiting.
 */
const answerGraceMs = 2_000;

/** A connection's settings, and what it demands of the database. */
export interface ConnectionOptions extends ConnectionLimits {
  /** Default: `leastDemands`. */
  demands?: Demands | undefined;
  /** Sessions that only read. */
  isReadOnly?: boolean;
  /** Sessions that write nothing which must last: their commits wait neither for the disk nor for a standby. */
  isForgetful?: boolean;
}

/** What a session gets by a statement, because a pooler refuses or drops settings in the startup message. */
export interface SessionConfig extends ClientConfig {
  session: { settings: Readonly<Record<string, string>>; demands: Demands };
  query_timeout: number;
}

/**
 * PostgreSQL plans a prepared statement while a table is small and a sequential scan is cheapest, and keeps the plan
 * while the table grows, for a minute or more, until the table is analyzed. Every lookup of ours has an index, so
 * sequential scans remain only where there is no other way. And only a plain index scan marks index entries of deleted
 * rows, which the job queue makes by the thousand, as dead; a bitmap scan visits all of them until the next vacuum
 * (docs/decisions/0005-plans-stay-on-indexes.md).
 *
 * Before version 18, `enable_seqscan=off` adds 10,000,000,000 to the cost of a plan that has no other way, even of one that reads a table
 * of a single row. PostgreSQL then compiles that plan to machine code (`jit`), each time: up to 2.5 s for a statement of 12 ms.
 */
export const plannerSettings = { enable_seqscan: "off", enable_bitmapscan: "off", jit: "off" };

const int8Oid = 20;
const timestamptzOid = 1184;

/** The configuration of a `SessionClient`: our limits and type parsers, for this connection only. */
export function connectionConfig(url: string, applicationName: string, options: ConnectionOptions = {}): SessionConfig {
  const statementTimeoutMs = options.statementTimeoutMs ?? 10_000;
  const settings = {
    ...plannerSettings,
    statement_timeout: String(statementTimeoutMs),
    idle_in_transaction_session_timeout: String(options.idleInTransactionTimeoutMs ?? 10_000),
    ...(options.lockTimeoutMs !== undefined && { lock_timeout: String(options.lockTimeoutMs) }),
    ...(options.isReadOnly && { default_transaction_read_only: "on" }),
    ...(options.isForgetful && { synchronous_commit: "off" }),
  };
  return {
    connectionString: url,
    // A pooler knows this one, and hands it on.
    application_name: applicationName,
    session: { settings, demands: options.demands ?? leastDemands },
    connectionTimeoutMillis: options.connectionTimeoutMs ?? 3_000,
    query_timeout: statementTimeoutMs + answerGraceMs,
    keepAlive: true,
    types: { getTypeParser },
  };
}

/**
 * Runs a statement on a connection, which prepares it once under its name. The driver gets an instance of its `Query` class: it
 * copies any other object property by property, which costs 3 µs of a read.
 * @throws the driver's error
 */
export function runStatement<Row>(client: ClientBase, statement: Statement<Row>, values: SqlValues): Promise<Row[]> {
  return inStatement(statement.name, () => send(client, statement, values));
}

function send<Row>(client: ClientBase, statement: Statement<Row>, values: SqlValues): Promise<Row[]> {
  const beganAtMs = performance.now();
  const { promise, resolve, reject } = Promise.withResolvers<Row[]>();
  const labels = { statement: statement.name };
  const query = new pg.Query(statement.text, valuesInOrder(statement, values) as SqlValue[], (error, result) => {
    measure("statement_seconds_total", labels, secondsSince(beganAtMs));
    if (error) measure("statement_errors_total", labels);
    return error ? reject(error) : resolve(result.rows as Row[]);
  });
  client.query(Object.assign(query, { name: statement.name }));
  return promise;
}

const getTypeParser: typeof pg.types.getTypeParser = (oid: number, format?: "text" | "binary") => {
  if (oid === int8Oid && format !== "binary") return parseInt8;
  if (oid === timestamptzOid && format !== "binary") return parseTimestamp;
  return pg.types.getTypeParser(oid, format as "text");
};

/** @throws when a double cannot hold the value exactly */
function parseInt8(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`the int8 ${text} is not a safe integer`);
  return value;
}

const parseDate = pg.types.getTypeParser(timestamptzOid);

/** @throws on infinity, which no Date can hold */
function parseTimestamp(text: string): Date {
  const value: unknown = parseDate(text);
  if (!(value instanceof Date)) throw new RangeError(`the timestamptz ${text} is not a date`);
  return value;
}
