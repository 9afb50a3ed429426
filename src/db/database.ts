import type { PoolClient } from "pg";
import { Batcher, type ItemRow } from "#db/batch.ts";
import { type ConnectionOptions, connectionConfig, runStatement } from "#db/connection.ts";
import { isConnectionLost, translateError, UnfitDatabase } from "#db/errors.ts";
import { createNotifier, type Notifier } from "#db/notifier.ts";
import { createPipelinedConnection, writeTogether } from "#db/pipeline.ts";
import { noAnswer, OwnPool, type PooledClient } from "#db/pool.ts";
import type { SqlValues, Statement } from "#db/statement.ts";
import type { Log } from "#lib/log.ts";
import { inStatement } from "#lib/measure/tracing.ts";

export interface DatabaseOptions extends Omit<ConnectionOptions, "isReadOnly"> {
  /** postgres://user:password@host:port/database */
  url: string;
  /** Connections of the pool: this many queries and transactions run at once, further ones wait. */
  transactionsMax: number;
  /** Connections for point reads. Default 2. */
  pipelinedConnections?: number;
  /** The name in pg_stat_activity, e.g. "deedhouse-api". */
  applicationName: string;
  log: Log;
}

/** An open transaction. It ends with the function that received it. */
export interface Transaction {
  /** Statements that do not wait for each other are sent together, and executed in the order of their calls. */
  query<Row, Values extends SqlValues>(statement: Statement<Row, Values>, values: NoInfer<Values>): Promise<Row[]>;
  /**
   * Sends a statement together with the COMMIT, once `work` has resolved. If PostgreSQL refuses it, nothing is committed,
   * and the transaction throws its error.
   */
  atCommit<Row, Values extends SqlValues>(statement: Statement<Row, Values>, values: NoInfer<Values>): void;
  /** The driver's client, for a library that brings its SQL. */
  readonly raw: PoolClient;
}

/**
 * The notifications that statements ask for (`notify_after_commit` in db/functions) follow their commit (src/db/notifier.ts).
 *
 * Every method throws `DatabaseUnavailable` when the database cannot be used right now, and the driver's
 * `DatabaseError` when PostgreSQL refuses the statement.
 */
export interface Database {
  /** A read of a few rows by key, on a pipelined read-only connection: fast, and never behind a slow query. */
  point<Row, Values extends SqlValues>(statement: Statement<Row, Values>, values: NoInfer<Values>): Promise<Row[]>;
  /** A single statement of any kind, in its own transaction. */
  query<Row, Values extends SqlValues>(statement: Statement<Row, Values>, values: NoInfer<Values>): Promise<Row[]>;
  /**
   * A batched statement, in its own transaction. It takes items as `$items::jsonb`, an array of objects with their
   * position as `item`, and returns in each row's `item` whose row it is. Calls at the same time are executed together.
   */
  batched<Row extends ItemRow>(statement: Statement<Row>, item: object): Promise<Row[]>;
  /**
   * Runs `work` in one READ COMMITTED transaction: commits when it resolves, rolls back when it throws. Never retries, because
   * `work` may have done more than SQL.
   */
  transaction<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result>;
  /**
   * From now on every call fails with this reason, until it is undefined: for what is found out after the connections have been
   * opened, such as a clock that has moved.
   */
  refuse(reason: string | undefined): void;
  refusal(): string | undefined;
  /** Waits for the queries in progress, then disconnects. */
  close(): Promise<void>;
}

/** For the process that opened it, which hears from its listener whether PostgreSQL answers. */
export interface OpenDatabase extends Database {
  /**
   * PostgreSQL neither answers nor resets: drops every connection, so that nobody waits for one any longer, and refuses each call
   * until `resume`. What was sent may still be executed.
   */
  suspend(): void;
  resume(): void;
  /** Drops every connection: what waits on one fails, and the next call opens others. */
  renew(): void;
}

/** Connects on first use, so it does not throw when the database is down. */
export function createDatabase(options: DatabaseOptions): OpenDatabase {
  const { url, applicationName, log } = options;
  const config = connectionConfig(url, applicationName, options);
  const readingConfig = connectionConfig(url, applicationName, { ...options, isReadOnly: true });
  const openPool = () => new OwnPool({ ...config, max: options.transactionsMax }, log);
  let pool = openPool();
  let isSuspended = false;
  const pipelines = Array.from({ length: options.pipelinedConnections ?? 2 }, () =>
    createPipelinedConnection(readingConfig, "reads", log),
  );
  const notifier = createNotifier(connectionConfig(url, applicationName, { ...options, isForgetful: true }), log);
  let pointReads = 0;
  let refusal: string | undefined;

  /** @throws DatabaseUnavailable, UnfitDatabase */
  function requireUsable(): void {
    if (isSuspended) throw noAnswer();
    if (refusal !== undefined) throw new UnfitDatabase(refusal);
  }

  async function withClient<Result>(work: (client: PooledClient) => Promise<Result>): Promise<Result> {
    requireUsable();
    return runWith(pool, notifier, work);
  }

  function renew(): void {
    pool.drop();
    pool = openPool();
    for (const pipeline of [...pipelines, notifier]) pipeline.drop();
  }

  return {
    async point(statement, values) {
      requireUsable();
      return pipelines[pointReads++ % pipelines.length]!.query(statement, values);
    },

    query: (statement, values) => withClient((client) => run(client, statement, values)),

    batched: createBatched((statement, items) => withClient((client) => run(client, statement, { items }))),

    transaction: (work) => withClient((client) => inTransaction(client, work)),

    suspend() {
      if (isSuspended) return;
      isSuspended = true;
      log.warn({}, "the database does not answer: requests are refused until it does");
      renew();
    },

    resume() {
      if (isSuspended) log.info({}, "the database answers again");
      isSuspended = false;
    },

    renew,

    refuse(reason) {
      refusal = reason;
    },

    refusal: () => refusal,

    async close() {
      await Promise.all([pool.close(), ...pipelines.map((pipeline) => pipeline.close())]);
      // The last transactions have ended.
      await notifier.close();
    },
  };
}

/** Runs what ends with a commit, or changes nothing. */
async function runWith<Result>(pool: OwnPool, notifier: Notifier, work: (client: PooledClient) => Promise<Result>) {
  const client = await pool.connect();
  try {
    const result = await work(client);
    notifier.send(client.takeAsked());
    pool.release(client, false);
    return result;
  } catch (error) {
    // Nothing has changed; or it is unknown whether it has, and who waits reads it a little later.
    client.takeAsked();
    // A connection that broke or timed out must not go to the next caller.
    pool.release(client, isConnectionLost(error));
    throw error;
  }
}

/** Each statement has a batch of its own. */
function createBatched(
  runBatch: (statement: Statement<ItemRow>, items: string) => Promise<ItemRow[]>,
): Database["batched"] {
  const batchers = new Map<Statement<unknown>, Batcher>();
  return <Row extends ItemRow>(statement: Statement<Row>, item: object) => {
    let batcher = batchers.get(statement);
    if (!batcher) {
      batcher = new Batcher((items) => runBatch(statement as Statement<ItemRow>, items));
      batchers.set(statement, batcher);
    }
    const batch = batcher;
    return inStatement(statement.name, () => batch.add(item)) as Promise<ItemRow[]> as Promise<Row[]>;
  };
}

function run<Row>(client: PooledClient, statement: Statement<Row>, values: SqlValues): Promise<Row[]> {
  return client.inTime(runStatement(client, statement, values)).catch(rethrowTranslated);
}

async function inTransaction<Result>(
  client: PooledClient,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  let open = true;
  let ended: Promise<{ command: string }> | undefined;
  const last: (() => Promise<unknown>)[] = [];
  const say = (words: string) => client.inTime(client.query(words)).catch(rethrowTranslated);
  const send = <Row>(statement: Statement<Row>, values: SqlValues) => {
    writeTogether(client.connection.stream);
    return run(client, statement, values);
  };
  const check = ({ name }: Statement<unknown>) => {
    if (!open) throw new Error(`"${name}" was called after its transaction had ended`);
  };
  const tx: Transaction = {
    query(statement, values) {
      check(statement);
      return send(statement, values);
    },
    atCommit(statement, values) {
      check(statement);
      last.push(() => send(statement, values));
    },
    raw: client,
  };
  try {
    writeTogether(client.connection.stream);
    // Its answer comes with the first statement's. It fails only if the connection does, and then so do they.
    const begun = say("BEGIN ISOLATION LEVEL READ COMMITTED");
    const [result] = await Promise.all([work(tx), begun]);
    open = false;
    const sent = last.map((each) => each());
    ended = say("COMMIT");
    // The first error of these is the reason of all later ones.
    const [commit] = await Promise.all([ended, ...sent]);
    // PostgreSQL answers COMMIT with ROLLBACK when a statement has failed before.
    if (commit.command !== "COMMIT") throw new Error("the transaction was rolled back: a statement in it had failed");
    return result;
  } catch (error) {
    open = false;
    if (!isConnectionLost(error)) await (ended ?? say("ROLLBACK"));
    throw error;
  }
}

function rethrowTranslated(error: unknown): never {
  throw translateError(error);
}
