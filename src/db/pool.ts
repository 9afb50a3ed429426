/** The connections for transactions: never more than its limit, also counting those whose callers have given up. */
import { Pool, type PoolClient, type PoolConfig } from "pg";
import type { SessionConfig } from "#db/connection.ts";
import { DatabaseUnavailable, translateError } from "#db/errors.ts";
import { SessionClient } from "#db/session.ts";
import type { Log } from "#lib/log.ts";
import { measure, secondsSince, showing } from "#lib/measure/measure.ts";
import { reportDefect } from "#lib/report-defect.ts";

export const noAnswer = () => new DatabaseUnavailable("the database is unavailable: it does not answer");

/** These stay open when they are idle: a new connection takes five round trips. */
const idleConnectionsMin = 2;

const measuredAs = { pool: "transactions" } as const;

class OwnClient extends SessionClient {
  readonly #answerMsMax: number;
  /** It has not answered in time. */
  isSilent = false;

  constructor(config: SessionConfig, answerMsMax: number) {
    super(config);
    this.#answerMsMax = answerMsMax;
  }

  /** The answer to what was sent on this connection. @throws DatabaseUnavailable when it does not come in time */
  inTime<Value>(answer: Promise<Value>): Promise<Value> {
    const { promise, resolve, reject } = Promise.withResolvers<Value>();
    const timer = setTimeout(() => {
      this.isSilent = true;
      reject(noAnswer());
    }, this.#answerMsMax);
    const settled = () => clearTimeout(timer);
    answer.then(settled, settled);
    answer.then(resolve, reject);
    return promise;
  }

  cut(): void {
    this.connection.stream.destroy();
  }
}

export type PooledClient = PoolClient & OwnClient;

/** Connects on first use. */
export class OwnPool {
  readonly #pool: Pool;
  /** The driver's pool keeps its connections to itself while they open. */
  readonly #clients = new Set<OwnClient>();
  readonly #waiting = new Set<(error: unknown) => void>();
  readonly #stopShowing: () => void;
  #isClosing = false;

  constructor({ query_timeout: answerMsMax, ...config }: SessionConfig & PoolConfig, log: Log) {
    const clients = this.#clients;
    class CountedClient extends OwnClient {
      constructor(own: SessionConfig) {
        super(own, answerMsMax);
        clients.add(this);
        this.once("end", () => clients.delete(this));
      }
    }
    const min = Math.min(idleConnectionsMin, config.max!);
    // Its type forgets what it gives to the client, and our fields.
    const ownClient = CountedClient as unknown as NonNullable<PoolConfig["Client"]>;
    this.#pool = new Pool({ ...config, Client: ownClient, pipeline: true, min } as PoolConfig);
    // The pool listens only to the errors of idle connections, and emits them here.
    this.#pool.on("error", (error) => {
      measure("database_reconnects_total", measuredAs);
      log.warn({ err: error }, "an idle database connection broke");
    });
    this.#stopShowing = showConnections(this.#pool);
  }

  /** @throws DatabaseUnavailable, UnfitDatabase */
  connect(): Promise<PooledClient> {
    const { promise, resolve, reject } = Promise.withResolvers<PooledClient>();
    const beganAtMs = performance.now();
    this.#waiting.add(reject);
    this.#pool.connect().then(
      (client) => {
        measure("pool_wait_seconds", measuredAs, secondsSince(beganAtMs));
        // Nobody waits for it any more, and nothing may be executed on it.
        if (this.#waiting.delete(reject)) resolve(client as PooledClient);
        else client.release(true);
      },
      (error: unknown) => {
        this.#waiting.delete(reject);
        reject(translateError(error));
      },
    );
    return promise;
  }

  /**
   * A connection that has not answered in time keeps its place until it answers or ends. Otherwise another one would take the place while
   * PostgreSQL still works for the first: for a commit that waits for a standby, without end.
   * @param isBroken nobody may use it again
   */
  release(client: PooledClient, isBroken: boolean): void {
    if (isBroken) measure("database_reconnects_total", measuredAs);
    if (client.isSilent) {
      const leave = () => client.release(true);
      // Its answer comes after all others.
      client.query("SELECT").then(leave, leave);
      if (this.#isClosing) client.cut();
    } else {
      client.release(isBroken);
    }
  }

  /** Its connections, also those that somebody uses or awaits, fail at once. It must not be used afterwards. */
  drop(): void {
    this.#stopShowing();
    this.#pool.end().catch(reportDefect);
    for (const reject of this.#waiting) reject(noAnswer());
    this.#waiting.clear();
    for (const client of this.#clients) client.cut();
  }

  /** Waits for the queries in progress, but for those that nobody waits for any more. */
  close(): Promise<void> {
    this.#stopShowing();
    this.#isClosing = true;
    for (const client of this.#clients) if (client.isSilent) client.cut();
    return this.#pool.end();
  }
}

/** @returns ends it */
const showConnections = (pool: Pool) =>
  showing("pool_connections", () => [
    [{ ...measuredAs, state: "used" }, pool.totalCount - pool.idleCount],
    [{ ...measuredAs, state: "idle" }, pool.idleCount],
    [{ ...measuredAs, state: "waiting" }, pool.waitingCount],
  ]);
