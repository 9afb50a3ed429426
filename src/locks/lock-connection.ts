/**
 * A connection that holds locks for a process, which end with it. By default PostgreSQL would wait two hours to hear of a
 * machine that has vanished, and we of a firewall that has forgotten the connection: each asks the other every few
 * seconds instead (PostgreSQL 20.3.2, "TCP Settings"; they do nothing on a Unix socket, which cannot be lost).
 */
import { Client, type QueryResultRow } from "pg";
import { sleep, waitAtMost } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import { lockConnectionName } from "#locks/process-name.ts";

const pingMsDefault = 5_000;
const connectMsMax = 10_000;
const reconnectMs = 500;
/** For an orderly end. */
const endMsMax = 1_000;
/** Questions without an answer before PostgreSQL takes the client for gone, and gives its locks away. */
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

/** @throws the driver's error */
export async function connectForLocks(client: Client): Promise<void> {
  await client.connect();
  await client.query(keepAliveOften);
}

/**
 * Asks over and over until `ended`, or until there is no answer in time. Then the locks may be somebody else's soon: it
 * ends well before PostgreSQL gives them away.
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
  /** One question at a time, in their order. @throws the driver's error */
  query<Row extends QueryResultRow>(text: string, values?: unknown[]): Promise<{ rows: Row[] }>;
  /** Of PostgreSQL's process that serves it. */
  pid: number;
}

export interface KeptConnection {
  log: Log;
  databaseUrl: string;
  /** How often it is asked whether it is there. */
  pingMs: number | undefined;
  stopped: AbortSignal;
}

/**
 * Keeps one connection until it is stopped: connects again when it breaks or falls silent.
 * @param onChange gets each connection, and nothing when that is lost
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
      const query = inTurn(client);
      onChange({ query, pid: rows[0]!.pid });
      await Promise.race([broke, pingUntilLost({ query }, stopped, pingMs)]);
      if (!stopped.aborted) log.warn("the connection that holds this process's locks is lost");
    } catch (error) {
      log.warn({ err: error }, "there is no connection for this process's locks");
    }
    onChange(undefined);
    const ended = client.end().catch(() => {});
    await waitAtMost(endMsMax, ended);
    // What was still asked of a connection that answers no more fails now.
    client.connection.stream.destroy();
    await sleep(reconnectMs, stopped);
  }
}

function inTurn(client: Client): LockConnection["query"] {
  let last: Promise<unknown> = Promise.resolve();
  return (text, values) => {
    const asked = last.then(() => client.query(text, values));
    last = asked.catch(() => {});
    return asked;
  };
}
