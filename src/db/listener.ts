/**
 * One connection per process for LISTEN, kept alive by a heartbeat. The heartbeat makes a cache that relies on
 * notifications safe: PostgreSQL signals the listeners of a transaction before it acknowledges the COMMIT, and a
 * session sends its pending notifications before it answers the next query. So the answer to a heartbeat comes after
 * every notification of a transaction that was acknowledged before the heartbeat was sent.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Client, escapeIdentifier } from "pg";
import { connectionConfig } from "#db/connection.ts";
import type { OpenDatabase } from "#db/database.ts";
import type { Demands } from "#db/facts.ts";
import { SessionClient } from "#db/session.ts";
import { type Clock, sleep, waitAtMost } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import { measure } from "#lib/measure/measure.ts";

export interface ListenerOptions {
  url: string;
  clock: Clock;
  log: Log;
  /** The time between two heartbeats. Default 400 ms. */
  heartbeatMs?: number;
  /** Hears whether PostgreSQL answers: `suspend` when it neither answers nor resets, `resume` after the next answer. */
  database?: Pick<OpenDatabase, "suspend" | "resume"> | undefined;
  /** What the database must be like; while it is not, there is no connection. */
  demands?: Demands;
}

/** A function that adds something returns the function that removes it. */
export interface Listener {
  /** Calls `handle` with the payload of each notification on the channel. */
  on(channel: string, handle: (payload: string) => void): () => void;
  /** Resolves when PostgreSQL listens on every channel added so far: from then on no notification is missed. */
  listening(): Promise<void>;
  /**
   * Calls `handle` whenever notifications may have been missed: after each connect, including the first, and after a
   * channel was added to an open connection. It runs before `aliveAsOf` covers the connection.
   */
  onReconnect(handle: () => void): () => void;
  /**
   * The `clock.monotonicMs()` up to which all notifications have been delivered: the time when the last answered
   * heartbeat was sent. Undefined while there is no connection.
   *
   * A read that began before a notification may end after it: a cache must check that none came while it read.
   */
  aliveAsOf(): number | undefined;
  close(): Promise<void>;
}

/** A heartbeat that takes longer means that the connection is lost. */
const heartbeatBudgetMs = 1_000;
/** PostgreSQL cannot be reached if it says nothing for so long: no request waits longer than this and a heartbeat's pause. */
const silentMsMax = 2_000;
const reconnectDelayMs = 100;
const reconnectDelayMsMax = 500;

class Silence extends Error {
  override readonly name = "Silence";
}

/** @throws Silence when PostgreSQL does not answer, and the error of `answer` */
async function inTime<Value>(answer: Promise<Value>): Promise<Value> {
  let isHere = false;
  const settled = () => {
    isHere = true;
  };
  await waitAtMost(silentMsMax, answer.then(settled, settled));
  // A process that was busy itself learns only now that the time is over, and may have the answer, too.
  if (!isHere) await nextTurn();
  if (!isHere) throw new Silence(`PostgreSQL has not answered for ${silentMsMax / 1_000} s`);
  return answer;
}

const configOf = (url: string, demands: Demands | undefined) =>
  connectionConfig(url, "deedhouse-listener", { statementTimeoutMs: heartbeatBudgetMs, demands });

/** The handlers of each channel, and whether the current connection listens to all channels. */
class Channels {
  readonly #handlers = new Map<string, Set<(payload: string) => void>>();
  #notListening: PromiseWithResolvers<void> | undefined = Promise.withResolvers();

  /** @returns whether nothing listens to the channel yet */
  add(channel: string, handle: (payload: string) => void): boolean {
    const handlers = this.#handlers.get(channel);
    handlers?.add(handle);
    if (handlers) return false;
    this.#handlers.set(channel, new Set([handle]));
    this.disconnected();
    return true;
  }

  remove(channel: string, handle: (payload: string) => void): void {
    this.#handlers.get(channel)?.delete(handle);
  }

  /** A handler that fails takes nothing from the others, and does not end the process. */
  deliver(channel: string, payload: string, log: Log): void {
    for (const handle of this.#handlers.get(channel) ?? []) {
      try {
        handle(payload);
      } catch (error) {
        log.error({ err: error, channel }, "a notification could not be read");
      }
    }
  }

  /** @param listening the channels of this connection @returns whether some channel was not listened to before */
  async listenTo(client: Client, listening: Set<string>): Promise<boolean> {
    const missing = () => [...this.#handlers.keys()].filter((channel) => !listening.has(channel));
    const added = missing();
    for (const channel of added) {
      await client.query(`LISTEN ${escapeIdentifier(channel)}`);
      listening.add(channel);
    }
    if (missing().length === 0) {
      this.#notListening?.resolve();
      this.#notListening = undefined;
    }
    return added.length > 0;
  }

  disconnected(): void {
    this.#notListening ??= Promise.withResolvers();
  }

  listening(): Promise<void> {
    return this.#notListening?.promise ?? Promise.resolve();
  }
}

/** Late events of this connection must not be taken for the next one's. */
function abandon(client: Client): void {
  client.removeAllListeners();
  client.on("error", () => {});
  client.connection.stream.destroy();
}

function reportBroken(log: Log, error: unknown): void {
  measure("database_reconnects_total", { pool: "notifications" });
  log.warn({ err: error }, "the database connection for notifications broke");
}

/** Connects at once, and stays connected until it is closed. */
export function createListener({ url, clock, log, heartbeatMs = 400, database, demands }: ListenerOptions): Listener {
  const channels = new Channels();
  const reconnectHandlers = new Set<() => void>();
  let closed = false;
  let aliveAt: number | undefined;
  /** Ends the current pause between two heartbeats, or the next one. */
  let pause = new AbortController();

  async function keepConnected(): Promise<void> {
    for (let failures = 0; !closed; failures++) {
      try {
        await connectAndListen(() => {
          failures = 0;
        });
      } catch (error) {
        if (!closed) reportBroken(log, error);
        if (error instanceof Silence) database?.suspend();
      }
      aliveAt = undefined;
      channels.disconnected();
      pause = new AbortController();
      if (!closed) await sleep(Math.min(reconnectDelayMs * 2 ** failures, reconnectDelayMsMax), pause.signal);
    }
  }

  async function connectAndListen(established: () => void): Promise<void> {
    const client = new SessionClient(configOf(url, demands));
    const listening = new Set<string>();
    const broke = () => {
      aliveAt = undefined;
      pause.abort();
    };
    client.on("error", broke);
    client.on("end", broke);
    client.on("notification", ({ channel, payload }) => channels.deliver(channel, payload ?? "", log));
    try {
      await inTime(client.connect());
      let mayHaveMissed = true;
      while (!closed) {
        pause = new AbortController();
        if (await inTime(channels.listenTo(client, listening))) mayHaveMissed = true;
        if (mayHaveMissed) for (const handle of reconnectHandlers) handle();
        mayHaveMissed = false;
        const sentAt = clock.monotonicMs();
        await inTime(client.query("SELECT 1"));
        aliveAt = sentAt;
        database?.resume();
        established();
        await sleep(heartbeatMs, pause.signal);
      }
    } finally {
      abandon(client);
    }
  }

  const done = keepConnected();

  return {
    on(channel, handle) {
      if (channels.add(channel, handle)) pause.abort();
      return () => channels.remove(channel, handle);
    },
    listening: () => channels.listening(),
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
