/**
 * The connections of the job queue, which asks them without a limit of its own: an answer that never came (a firewall that
 * forgot the connections, a machine that vanished) would be awaited for as long as TCP does, some fifteen minutes, and so would
 * the end of a registry's owner, who has to end before this process can own the registry again.
 */
import type { Socket } from "node:net";
import { Pool, type PoolClient } from "pg";
import { connectionConfig } from "#db/connection.ts";
import type { Log } from "#lib/log.ts";

const connectMsMax = 10_000;

export interface JobPoolOptions {
  databaseUrl: string;
  connectionsMax: number;
  log: Log;
  /** PostgreSQL cancels a statement that runs longer. Default 10,000 ms. */
  statementTimeoutMs?: number;
}

/** Connects when first used. */
export function createJobPool({ databaseUrl, connectionsMax, log, statementTimeoutMs }: JobPoolOptions): Pool {
  const limits = { connectionTimeoutMs: connectMsMax, ...(statementTimeoutMs !== undefined && { statementTimeoutMs }) };
  // The queue reads its rows with the driver's own types.
  const {
    query_timeout: answerMsMax = 0,
    types: _types,
    ...config
  } = connectionConfig(databaseUrl, "deedhouse-jobs", limits);
  const pool = new Pool({
    ...config,
    max: connectionsMax,
    // Only what the queue itself writes: that a job was taken or done. If PostgreSQL crashes at once it is done again,
    // and finds its row as it left it. Who enqueues a job does it in a transaction of the database's own pool.
    options: `${config.options} -c synchronous_commit=off`,
  });
  pool.on("error", (error) => log.warn({ err: error }, "an idle job connection broke"));
  pool.on("connect", (client) => {
    client.on("error", () => {});
    endWhenSilent(client, answerMsMax);
  });
  return pool;
}

/**
 * The driver's own limit (query_timeout) leaves a connection that does not answer in the pool, where the next one waits for it
 * too. One that listens, or that nobody uses, may be silent for as long as it likes.
 */
function endWhenSilent(client: PoolClient, answerMsMax: number): void {
  const socket = client.connection.stream as Socket;
  socket.setTimeout(answerMsMax);
  // Each time, not once: an idle connection is silent too.
  socket.on("timeout", () => {
    // Not in the driver's types: false while a statement is under way.
    const { readyForQuery } = client as PoolClient & { readyForQuery?: boolean };
    if (readyForQuery === false) socket.destroy(new Error(`the database has not answered for ${answerMsMax} ms`));
  });
}
