/**
 * A connection that holds locks for a process, which end with it. By default PostgreSQL would wait two hours to hear of a
 * machine that has vanished, and we of a firewall that has forgotten the connection: each asks the other every few
 * seconds instead (PostgreSQL 20.3.2, "TCP Settings"; they do nothing on a Unix socket, which cannot be lost).
 */
import { Client } from "pg";
import { sleep, waitAtMost } from "#lib/clock.ts";

const askMsDefault = 5_000;
const connectMsMax = 10_000;
/** Questions without an answer before PostgreSQL takes the client for gone, and gives its locks away. */
const unansweredMax = 4;

const askSeconds = askMsDefault / 1_000;
const askOften = `SET tcp_keepalives_idle = ${askSeconds}; SET tcp_keepalives_interval = ${askSeconds};
  SET tcp_keepalives_count = ${unansweredMax}`;

/** Not connected yet. */
export function createLockClient(databaseUrl: string, applicationName: string): Client {
  return new Client({
    connectionString: databaseUrl,
    application_name: applicationName,
    connectionTimeoutMillis: connectMsMax,
    keepAlive: true,
    keepAliveInitialDelayMillis: askMsDefault,
  });
}

/** @throws the driver's error */
export async function connectForLocks(client: Client): Promise<void> {
  await client.connect();
  await client.query(askOften);
}

/**
 * Asks over and over until `ended`, or until there is no answer in time. Then the locks may be somebody else's soon: it
 * ends well before PostgreSQL gives them away.
 */
export async function askUntilLost(client: Client, ended: AbortSignal, askMs = askMsDefault): Promise<void> {
  let isAnswered = true;
  while (isAnswered && !ended.aborted) {
    await sleep(askMs, ended);
    isAnswered = false;
    const answer = client.query("SELECT 1").then(
      () => {
        isAnswered = true;
      },
      () => {},
    );
    await waitAtMost(askMs, answer, ended);
  }
}
