/**
 * One connection per process for LISTEN, kept alive by a heartbeat, which makes a cache that lives on notifications
 * safe: PostgreSQL signals the listeners of a transaction before it acknowledges the COMMIT, and a session sends the
 * notifications it was signalled before it answers the next query. So the answer to a heartbeat comes after every
 * notification of a transaction that was acknowledged before the heartbeat was sent.
 */
import { Client, escapeIdentifier } from "pg";
import { connectionConfig } from "#db/connection.ts";
import { type Clock, sleep } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";

export interface ListenerOptions {
  url: string;
  clock: Clock;
  log: Log;
  /** Between two heartbeats. Default 400 ms. */
  heartbeatMs?: number;
}

/** The functions that add something return the one that takes it away again. */
export interface Listener {
  /** Calls `handle` with the payload of each notification on the channel. */
  on(channel: string, handle: (payload: string) => void): () => void;
  /**
   * Calls `handle` whenever notifications may have been missed: after each connect, the first one too, and after a
   * channel was added to a connection that stood already. It is called before `aliveAsOf` vouches for the connection.
   */
  onReconnect(handle: () => void): () => void;
  /**
   * The `clock.monotonicMs()` up to which all notifications have been delivered: when the last answered heartbeat was
   * sent. Undefined while there is no connection.
   *
   * A read that began before a notification may end after it: whoever caches the result must check that none came
   * meanwhile.
   */
  aliveAsOf(): number | undefined;
  close(): Promise<void>;
}

/** A heartbeat that takes longer means that the connection is gone. */
const heartbeatBudgetMs = 1_000;
const reconnectDelayMs = 100;
const reconnectDelayMsMax = 2_000;

/** Connects at once and for as long as it is not closed. */
export function createListener({ url, clock, log, heartbeatMs = 400 }: ListenerOptions): Listener {
  const handlers = new Map<string, Set<(payload: string) => void>>();
  const reconnectHandlers = new Set<() => void>();
  let closed = false;
  let aliveAt: number | undefined;
  /** Ends the pause between two heartbeats, or the next one. */
  let pause = new AbortController();

  async function keepConnected(): Promise<void> {
    for (let failures = 0; !closed; failures++) {
      try {
        await connectAndListen(() => {
          failures = 0;
        });
      } catch (error) {
        if (!closed) log.warn({ err: error }, "the database connection for notifications broke");
      }
      aliveAt = undefined;
      pause = new AbortController();
      if (!closed) await sleep(Math.min(reconnectDelayMs * 2 ** failures, reconnectDelayMsMax), pause.signal);
    }
  }

  async function connectAndListen(established: () => void): Promise<void> {
    const client = new Client(connectionConfig(url, "deedhouse-listener", { statementTimeoutMs: heartbeatBudgetMs }));
    const listening = new Set<string>();
    const broke = () => {
      aliveAt = undefined;
      pause.abort();
    };
    client.on("error", broke);
    client.on("end", broke);
    client.on("notification", ({ channel, payload }) => {
      for (const handle of handlers.get(channel) ?? []) handle(payload ?? "");
    });
    try {
      await client.connect();
      let mayHaveMissed = true;
      while (!closed) {
        pause = new AbortController();
        if (await listenTo(client, listening)) mayHaveMissed = true;
        if (mayHaveMissed) for (const handle of reconnectHandlers) handle();
        mayHaveMissed = false;
        const sentAt = clock.monotonicMs();
        await client.query("SELECT 1");
        aliveAt = sentAt;
        established();
        await sleep(heartbeatMs, pause.signal);
      }
    } finally {
      // What this connection still says must not be taken for the next one's.
      client.removeAllListeners();
      client.on("error", () => {});
      client.connection.stream.destroy();
    }
  }

  /** Returns whether this connection did not listen to everything before. */
  async function listenTo(client: Client, listening: Set<string>): Promise<boolean> {
    const missing = [...handlers.keys()].filter((channel) => !listening.has(channel));
    for (const channel of missing) {
      await client.query(`LISTEN ${escapeIdentifier(channel)}`);
      listening.add(channel);
    }
    return missing.length > 0;
  }

  const done = keepConnected();

  return {
    on(channel, handle) {
      let channelHandlers = handlers.get(channel);
      if (!channelHandlers) {
        channelHandlers = new Set();
        handlers.set(channel, channelHandlers);
        pause.abort();
      }
      channelHandlers.add(handle);
      return () => channelHandlers.delete(handle);
    },
    onReconnect(handle) {
      reconnectHandlers.add(handle);
      return () => reconnectHandlers.delete(handle);
    },
    aliveAsOf: () => aliveAt,
    async close() {
      closed = true;
      pause.abort();
      await done;
    },
  };
}
