/** The environment of a batch: a gateway, its sandbox registry, a crew of workers, and an operator. */
import { Pool, type QueryResultRow } from "pg";
import { askCheck, checkAnswerChannel } from "#domains/registry/availability.ts";
import { resumeCreatesPausedFor } from "#domains/registry/pause.ts";
import { sleep } from "#lib/clock.ts";
import type { JournalEntry } from "../../sandbox/registry/journal.ts";
import type { Scope } from "../harness/database.ts";
import type { TestGateway } from "../harness/gateway.ts";
import { startWithWorkers } from "../orders/worker-process.ts";
import { type Crew, startCrew } from "./crew.ts";
import { sessionsMax } from "./kill-points.ts";
import { changes, type OrderTable, registrations } from "./order-tables.ts";

export interface StageOptions {
  /** How long the workers wait for a create's answer; all other times follow from it. */
  transformTimeoutMs: number;
  /** How long an order may take before it counts as lost: long, because the machine may be busy. */
  patienceMs: number;
  /** The number of workers that wait to succeed the owner. */
  waiting: number;
  /** Arguments of the workers' Node, for a mutation. */
  nodeArguments?: string[];
}

export interface Stage {
  gateway: TestGateway;
  crew: Crew;
  /** Queries the database on a separate connection. */
  query<Row extends QueryResultRow>(sql: string, values?: unknown[]): Promise<Row[]>;
  /** The names of all its batches. */
  namesPlayed: Set<string>;
  patienceMs: number;
  /** The worker treats a frame that is held for longer as lost. */
  frameHeldMsMax: number;
  /** Calls `work` once, at the n-th frame that the registry receives, before its answer. @returns a function that cancels this */
  onFrame(nth: number, work: () => void): () => void;
}

const operatorPauseMs = 100;
/** The time that passes where a test cannot wait for an operator. */
const skippedHours = 25;

/** Stops everything when the scope ends, the last started first. */
export async function startStage(scope: Scope, options: StageOptions): Promise<Stage> {
  const { transformTimeoutMs, patienceMs, waiting, nodeArguments = [] } = options;
  const closers: (() => unknown)[] = [];
  const closed: Scope = { after: (close) => void closers.push(close) };
  scope.after(async () => {
    for (let close = closers.pop(); close; close = closers.pop()) await close();
  });
  const workers = await startWithWorkers(closed, {
    nodeArguments,
    sandbox: {
      sessionsMax: 10 * sessionsMax,
      journalFramesMax: 1_000_000,
      pendingDelayMs: 300,
      lateMs: transformTimeoutMs + 300,
      // Between the two infos after a lost answer (seen-once), which follow after two and four times the timeout, and later after a kill.
      undoDelayMs: 3.9 * transformTimeoutMs,
    },
    profile: {
      sessionsMax,
      transformTimeoutMs,
      // An answer that arrives byte by byte takes long on a busy machine.
      queryTimeoutMs: 10_000,
      pollIntervalMs: 50,
      // Later than the message with the decision, so that most orders receive it.
      reconcileIntervalMs: 8_000,
      backoffFirstMs: 50,
      backoffMaxMs: 300,
      // Faults are the rule here: an open circuit would only delay all orders.
      circuit: { faultsMax: 1_000_000, probeDelayMsMin: 100, probeDelayMsMax: 400, refusedDelayMs: 200 },
    },
  });
  const { gateway } = workers;
  const pool = new Pool({ connectionString: gateway.databaseUrl, max: 3 });
  pool.on("error", () => {});
  closers.push(() => pool.end());
  const query: Stage["query"] = async (sql, values) => (await pool.query(sql, values)).rows;
  sayAvailable(gateway, query);
  const ended = new AbortController();
  const operator = keepOperating(gateway, query, ended.signal);
  closers.push(async () => {
    ended.abort();
    await operator;
  });
  const crew = await startCrew(workers, query, waiting);
  closers.push(crew.close);
  return {
    gateway,
    crew,
    query,
    namesPlayed: new Set(),
    patienceMs,
    frameHeldMsMax: transformTimeoutMs / 2,
    onFrame: (nth, work) => watchFrames(gateway, nth, work),
  };
}

/** Answers every check of a POST with "available", without asking the registry: the order must find out. */
function sayAvailable({ context: { database } }: TestGateway, query: Stage["query"]): void {
  const batched = database.batched.bind(database);
  database.batched = async (statement, item) => {
    if ((statement as unknown) !== askCheck) return batched(statement, item);
    const { id } = item as { id: string };
    const answer = JSON.stringify([{ id, availability: "available" }]);
    await query("SELECT pg_notify($1, $2)", [checkAnswerChannel, answer]);
    return [];
  };
}

/** Lets a day pass for orders that wait for credit, and ends each pause of creates. */
async function keepOperating({ context }: TestGateway, query: Stage["query"], ended: AbortSignal): Promise<void> {
  const letDayPass = ({ isOne, isWithoutCredit }: OrderTable) => `UPDATE orders AS o
    SET next_step_at = now(), waiting_since = waiting_since - interval '${skippedHours} hours'
    WHERE ${isOne} AND ${isWithoutCredit} AND next_step_at > now() + interval '1 minute'`;
  while (!ended.aborted) {
    // On a busy machine the database may be late, and an operator retries. The day passes first: resuming creates wakes the orders,
    // and one that is woken during each pause would retry forever and never grow older.
    for (const table of [registrations, changes]) await query(letDayPass(table)).catch(() => {});
    for (const { id } of context.registries) await resumeCreatesPausedFor(context, id, "any").catch(() => {});
    await sleep(operatorPauseMs, ended);
  }
}

function watchFrames({ registry }: TestGateway, nth: number, work: () => void): () => void {
  const { journal } = registry.store;
  const record = journal.record;
  const forget = () => {
    journal.record = record;
  };
  let left = nth;
  journal.record = (entry: JournalEntry) => {
    record.call(journal, entry);
    if (entry.direction !== "in") return;
    left -= 1;
    if (left > 0) return;
    forget();
    work();
  };
  return forget;
}
