/**
 * A connection that holds a process's locks, which end with it. With the default settings PostgreSQL takes two hours to notice
 * that a client's host has vanished, and so does this process to notice that a firewall has dropped the connection. So each
 * side probes the other every few seconds (PostgreSQL 20.3.2, "TCP Settings"; they have no effect on a Unix socket, which
 * cannot be lost).
 */
import { Client, type QueryResultRow } from "pg";
import { sleep, waitAtMost } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import { createSerialQueue } from "#lib/queues/serial-queue.ts";
import { lockConnectionName } from "#locks/process-name.ts";

const pingMsDefault = 5_000;
const connectMsMax = 10_000;
const reconnectMs = 500;
/** How long an orderly close may take. */
const endMsMax = 1_000;
/** After this many probes without an answer PostgreSQL drops the client and releases its locks. */
const unansweredMax = 4;

const pingSeconds = pingMsDefault / 1_000;
const keepAliveOften = `SET tcp_keepalives_idle = ${pingSeconds}; SET tcp_keepalives_interval = ${pingSeconds};
  SET tcp_keepalives_count = ${unansweredMax}`;

/** Not connected yet. */
export function createLockClient(databaseUrl: string, applicationName: string): Client {
  return new Client({
    connectionString: databaseUrl,
    application_name: applicationName,
    connectionTimeoutMillis: connectMsMax,
    keepAlive: true,
    keepAliveInitialDelayMillis: pingMsDefault,
  });
}

/** @throws the driver's error, and another one when the connection is ended meanwhile */
export async function connectForLocks(client: Client): Promise<void> {
  // The driver never settles the connect of a client that is ended before it is connected (pg 8.23 lib/client.js).
  const { promise: ended, reject } = Promise.withResolvers<never>();
  client.once("end", () => reject(new Error("the connection was ended while it was opened")));
  await Promise.race([client.connect(), ended]);
  await client.query(keepAliveOften);
}

/**
 * Pings until `ended`, or until an answer does not come in time. After that another process may get the locks; this returns
 * well before PostgreSQL releases them.
 */
export async function pingUntilLost(
  client: Pick<LockConnection, "query">,
  ended: AbortSignal,
  pingMs = pingMsDefault,
): Promise<void> {
  let isAnswered = true;
  while (isAnswered && !ended.aborted) {
    await sleep(pingMs, ended);
    isAnswered = false;
    const answer = client.query("SELECT 1").then(
      () => {
        isAnswered = true;
      },
      () => {},
    );
    await waitAtMost(pingMs, answer, ended);
  }
}

export interface LockConnection {
  /** Runs one query at a time, in order. @throws the driver's error */
  query<Row extends QueryResultRow>(text: string, values?: unknown[]): Promise<{ rows: Row[] }>;
  /** Of the PostgreSQL process that serves it. */
  pid: number;
}

export interface KeptConnection {
  log: Log;
  databaseUrl: string;
  /** The interval between checks of the connection. */
  pingMs: number | undefined;
  stopped: AbortSignal;
}

/**
 * Keeps one connection open until `stopped`: connects again when it breaks or stops answering.
 * @param onChange gets each new connection, and `undefined` when it is lost
 */
export async function keepLockConnection(
  { log, databaseUrl, pingMs, stopped }: KeptConnection,
  onChange: (connection: LockConnection | undefined) => void,
): Promise<void> {
  while (!stopped.aborted) {
    const client = createLockClient(databaseUrl, lockConnectionName);
    const broke = new Promise<void>((resolve) => {
      client.on("error", () => resolve());
      client.once("end", () => resolve());
    });
    try {
      await connectForLocks(client);
      const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
      const query = queryInTurn(client);
      onChange({ query, pid: rows[0]!.pid });
      await Promise.race([broke, pingUntilLost({ query }, stopped, pingMs)]);
      if (!stopped.aborted) log.warn("lost the connection that holds this process's locks");
    } catch (error) {
      log.warn({ err: error }, "cannot open the connection for this process's locks");
    }
    onChange(undefined);
    const ended = client.end().catch(() => {});
    await waitAtMost(endMsMax, ended);
    // Queries still waiting on a connection that no longer answers fail now.
    client.connection.stream.destroy();
    await sleep(reconnectMs, stopped);
  }
}

function queryInTurn(client: Client): LockConnection["query"] {
  const queue = createSerialQueue();
  return (text, values) => queue(() => client.query(text, values));
}
