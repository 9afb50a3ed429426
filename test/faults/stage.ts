/** What a batch of the matrix plays on: a gateway, its sandbox registry, a crew of workers, and an operator. */
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

export interface StageOptions {
  /** How long the workers wait for a create's answer; all other times follow from it. */
  transformTimeoutMs: number;
  /** How long an order may take; what has not ended by then is lost. Long: the machine may do other things too. */
  patienceMs: number;
  /** Workers that wait behind the owner. */
  waiting: number;
  /** Of the workers' Node, to give them a fault of their own. */
  nodeArguments?: string[];
}

export interface Stage {
  gateway: TestGateway;
  crew: Crew;
  /** Asks the database on a connection of the matrix's own. */
  query<Row extends QueryResultRow>(sql: string, values?: unknown[]): Promise<Row[]>;
  /** The names of all batches that were played on it. */
  namesPlayed: Set<string>;
  patienceMs: number;
  /** A frame that is held for longer is taken for lost by the worker. */
  frameHeldMsMax: number;
  /** Calls once, with the n-th frame that the registry gets from now on, before it is answered. Returns how to forget it. */
  onFrame(nth: number, work: () => void): () => void;
}

const operatorPauseMs = 100;
/** An operator comes back after so long where no test can wait for it. */
const skippedHours = 25;

/** Everything on it is gone when the scope ends: what was started last goes first. */
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
      // Between the two infos of row 15: they come after two and four times the timeout, and some time later after a kill.
      undoDelayMs: 3.9 * transformTimeoutMs,
    },
    profile: {
      sessionsMax,
      transformTimeoutMs,
      // An answer that comes byte by byte takes its time on a busy machine.
      queryTimeoutMs: 10_000,
      pollIntervalMs: 50,
      // Later than the message that decides, so that most hear it.
      reconcileIntervalMs: 8_000,
      backoffFirstMs: 50,
      backoffMaxMs: 300,
      // Faults are the rule here: a circuit that opened for each would only make everybody wait.
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

/** At the POST every name is free: what the registry thinks of it is for the order to find. The question never leaves. */
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

/** Lets a day pass for an order that waits for credit, and ends each pause of creates. */
async function keepOperating({ context }: TestGateway, query: Stage["query"], ended: AbortSignal): Promise<void> {
  const letDayPass = `UPDATE registration_orders
    SET next_step_at = now(), waiting_since = waiting_since - interval '${skippedHours} hours'
    WHERE phase = 'waiting' AND next_step_at > now() + interval '1 minute'`;
  while (!ended.aborted) {
    // On a busy machine the database may be late: an operator tries again. The day first: who resumes creates wakes the
    // orders, and one that is woken each time within a moment of its pause would try again for ever and grow no older.
    await query(letDayPass).catch(() => {});
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
