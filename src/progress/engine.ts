/**
 * Runs the steps of a machine's rows, one at a time for each row, as soon as the row is due by the context's clock. The row is
 * the whole job: it says when it has work to do, so nothing is enqueued, and the rows of a killed process are still due.
 *
 * A step runs outside any transaction, so that the row can change meanwhile. One process at a time works on a row: it holds the
 * row's lock, or all rows of the machine are assigned to it. A process that has lost a lock without noticing is stopped by the
 * row's version, which every write compares.
 */
import type { Context } from "#context.ts";
import { DatabaseUnavailable } from "#db/errors.ts";
import { type BackoffSettings, backoffMs } from "#lib/backoff.ts";
import { sleep, systemClock } from "#lib/clock.ts";
import { measure } from "#lib/measure/measure.ts";
import { inSpan, type OpenSpan } from "#lib/measure/tracing.ts";
import type { RowLocks } from "#locks/row-locks.ts";
import type { RowId, RowSource, WaitingRow } from "#progress/rows.ts";

/** Its payload is the name of a machine that has a due row. */
export const rowDueChannel = "row_due";

/** How often due rows are read without a notification: the context's clock may jump, and a notification may be lost. */
const pollMs = 1_000;
const pollMsMin = 5;
/** How often times that are too far in the future are corrected. */
const pullInMs = 60_000;
const stepBackoff: BackoffSettings = { firstMs: 1_000, maxMs: 5 * 60_000 };
/** How many rows' last steps are remembered. */
const rememberedMax = 1_000;

export interface Machine<Id extends RowId> {
  /** Its name in notifications and logs. */
  name: string;
  rows: RowSource<Id>;
  /** How many rows' steps run at once. */
  rowsMax: number;
  /**
   * What keeps other processes from the rows. `lockClass`: a lock for each row; this is the first half of its key. `until`:
   * this process owns all rows of the machine until the signal fires.
   */
  exclusion: { locks: RowLocks; lockClass: number } | { until: AbortSignal };
  /**
   * One step of a row. It reads the row and writes with the version that it read. A step that leaves its row due and unchanged
   * counts as failed.
   * @param signal fires when another process may work on the row
   */
  step(id: Id, signal: AbortSignal): Promise<void>;
}

export interface StepInProgress {
  machine: string;
  row: RowId;
  since: Date;
}

export interface RunningMachine {
  /** The oldest first. */
  stepsInProgress(): StepInProgress[];
  /** Begins no more steps, and waits for those in progress. Never throws. */
  stop(): Promise<void>;
}

type EngineContext = Pick<Context, "clock" | "random" | "log" | "listener">;

interface RowInProgress {
  since: Date;
  ended: Promise<void>;
}

export function startMachine<Id extends RowId>(context: EngineContext, machine: Machine<Id>): RunningMachine {
  const engine = new Engine(context, machine);
  return { stepsInProgress: () => engine.stepsInProgress(), stop: () => engine.stop() };
}

class Engine<Id extends RowId> {
  readonly #context: EngineContext;
  readonly #machine: Machine<Id>;
  readonly #stopped = new AbortController();
  readonly #stopListening: (() => unknown)[];
  readonly #running: Promise<void>;
  readonly #inProgress = new Map<Id, RowInProgress>();
  /** Rows on which another process works: not tried again until then, by this process's clock. */
  readonly #restingUntilMs = new Map<Id, number>();
  /** The version that a row had at its last successful step. */
  readonly #stepped = new Map<Id, number>();
  /** Consecutive failures. */
  readonly #failures = new Map<Id, number>();
  #isWoken = false;
  #pause = new AbortController();
  #polledAt = new Date(0);
  #pulledInAtMs = Number.NEGATIVE_INFINITY;

  constructor(context: EngineContext, machine: Machine<Id>) {
    this.#context = context;
    this.#machine = machine;
    const wake = () => this.#wake();
    const { exclusion, name } = machine;
    this.#stopListening = [
      context.listener.on(rowDueChannel, (payload) => payload === name && wake()),
      context.listener.onReconnect(wake),
      ...("locks" in exclusion ? [exclusion.locks.onConnect(wake)] : []),
    ];
    this.#running = this.#run();
  }

  stepsInProgress(): StepInProgress[] {
    return [...this.#inProgress].map(([row, { since }]) => ({ machine: this.#machine.name, row, since }));
  }

  async stop(): Promise<void> {
    for (const stopListening of this.#stopListening) stopListening();
    this.#stopped.abort();
    this.#wake();
    await this.#running;
    await Promise.all([...this.#inProgress.values()].map(({ ended }) => ended));
  }

  /** Reads the due rows soon: there may be a new one, or room for one. */
  #wake(): void {
    this.#isWoken = true;
    this.#pause.abort();
  }

  async #run(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      this.#isWoken = false;
      this.#pause = new AbortController();
      let waitMs = pollMs;
      try {
        await this.#pullIn();
        waitMs = await this.#beginAll();
      } catch (error) {
        this.#context.log.warn({ err: error, machine: this.#machine.name }, "the due rows cannot be read");
        // A notification must not end this wait.
        await sleep(pollMs, this.#stopped.signal);
      }
      if (!this.#isWoken) await sleep(waitMs, this.#pause.signal);
    }
  }

  async #pullIn(): Promise<void> {
    const now = this.#context.clock.now();
    const nowMs = systemClock.monotonicMs();
    if (now < this.#polledAt) this.#pulledInAtMs = Number.NEGATIVE_INFINITY;
    this.#polledAt = now;
    if (nowMs - this.#pulledInAtMs < pullInMs) return;
    await this.#machine.rows.pullIn(now);
    this.#pulledInAtMs = nowMs;
  }

  /** Begins steps of due rows, up to `rowsMax`. @returns how long to wait until a row may be due */
  async #beginAll(): Promise<number> {
    const { rows, rowsMax } = this.#machine;
    while (!this.#isOver()) {
      const free = rowsMax - this.#inProgress.size;
      // The next step that ends wakes this.
      if (free <= 0) return pollMs;
      const except = [...this.#inProgress.keys(), ...this.#resting()];
      const waiting = await rows.first(free, except);
      if (this.#isOver()) break;
      const now = this.#context.clock.now().getTime();
      const due = waiting.filter(({ next_step_at: at }) => at.getTime() <= now);
      const next = waiting[due.length];
      const begun = due.length === 0 ? 0 : await this.#begin(due);
      // The next connection wakes this.
      if (begun === undefined) return pollMs;
      if (begun < due.length || due.length === free) continue;
      return next ? Math.min(pollMs, Math.max(pollMsMin, next.next_step_at.getTime() - now)) : pollMs;
    }
    return pollMs;
  }

  #isOver(): boolean {
    const { exclusion } = this.#machine;
    return this.#stopped.signal.aborted || ("until" in exclusion && exclusion.until.aborted);
  }

  /** @returns how many steps were begun; undefined when there is no connection for locks */
  async #begin(due: readonly WaitingRow<Id>[]): Promise<number | undefined> {
    const { exclusion, rows } = this.#machine;
    if ("until" in exclusion) {
      for (const row of due) this.#beginRow(row, exclusion.until, async () => {});
      return due.length;
    }
    const held = await exclusion.locks.take(
      exclusion.lockClass,
      due.map(({ id }) => String(id)),
    );
    if (!held) return undefined;
    const mine = due.filter(({ id }) => held.names.has(String(id))).map(({ id }) => id);
    for (const { id } of due) {
      if (!mine.includes(id)) this.#restingUntilMs.set(id, systemClock.monotonicMs() + pollMs);
    }
    if (mine.length === 0) return 0;
    const free = new Set(mine);
    try {
      // The previous holder of a lock may just have done the step.
      const now = this.#context.clock.now().getTime();
      for (const row of await rows.find(mine)) {
        if (row.next_step_at.getTime() > now || this.#isOver()) continue;
        free.delete(row.id);
        this.#beginRow(row, held.lost, () => held.release(String(row.id)));
      }
    } finally {
      await Promise.all([...free].map((id) => held.release(String(id))));
    }
    return mine.length - free.size;
  }

  #beginRow(row: WaitingRow<Id>, lost: AbortSignal, release: () => Promise<void>): void {
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const ended = begun.then(async () => {
      const machine = this.#machine.name;
      const span = {
        name: `step ${machine}`,
        parent: row.traceparent ?? null,
        attributes: { "deedhouse.machine": machine },
      };
      await inSpan(span, (own) => this.#runStep(row, lost, own));
      await release();
      this.#inProgress.delete(row.id);
      this.#wake();
    });
    this.#inProgress.set(row.id, { since: this.#context.clock.now(), ended });
    begin();
  }

  /** Never throws. */
  async #runStep(row: WaitingRow<Id>, lost: AbortSignal, span: OpenSpan | undefined): Promise<void> {
    const { id, version } = row;
    const beganAtMs = systemClock.monotonicMs();
    let outcome: "done" | "failed" | "lost" = "done";
    try {
      if (this.#stepped.get(id) === version) throw new Error("its last step left the row due and unchanged");
      await this.#machine.step(id, lost);
      this.#failures.delete(id);
      remember(this.#stepped, id, version);
    } catch (error) {
      const about = { err: error, machine: this.#machine.name, row: id };
      outcome = lost.aborted ? "lost" : "failed";
      if (outcome === "failed") span?.fail((error as Error).name);
      if (lost.aborted) this.#context.log.info(about, "a step ended after its lock was lost");
      else await this.#backOff(row, about);
    } finally {
      const machine = this.#machine.name;
      span?.add({ "deedhouse.outcome": outcome });
      measure("steps_total", { machine, outcome });
      measure("step_duration_seconds", { machine }, (systemClock.monotonicMs() - beganAtMs) / 1_000);
    }
  }

  /**
   * A row that was changed during its first failed step is retried at once: the change may be the cause of the failure. After
   * further failures it backs off in any case, because the step itself may have changed the row before it failed.
   */
  async #backOff({ id, version }: WaitingRow<Id>, about: { err: unknown }): Promise<void> {
    const { clock, log, random } = this.#context;
    const failures = (this.#failures.get(id) ?? 0) + 1;
    remember(this.#failures, id, failures);
    this.#stepped.delete(id);
    const delayMs = backoffMs(failures, stepBackoff, random);
    const level = about.err instanceof DatabaseUnavailable ? "warn" : "error";
    log[level]({ ...about, failures, delayMs }, "a step failed and will be retried");
    try {
      const until = new Date(clock.now().getTime() + delayMs);
      await this.#machine.rows.postpone(id, failures > 1 ? null : version, until);
    } catch (error) {
      log.warn({ ...about, err: error }, "a row could not be postponed");
      this.#restingUntilMs.set(id, systemClock.monotonicMs() + delayMs);
    }
  }

  #resting(): Id[] {
    const nowMs = systemClock.monotonicMs();
    for (const [id, untilMs] of this.#restingUntilMs) if (untilMs <= nowMs) this.#restingUntilMs.delete(id);
    return [...this.#restingUntilMs.keys()];
  }
}

/** Sets an entry, and drops the oldest ones beyond the limit. */
function remember<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= rememberedMax) return;
    map.delete(oldest);
  }
}
