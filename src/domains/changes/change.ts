/**
 * A change at a registry: a row that advances until it is done, and the commands that it has sent. Orders and renewals are such
 * rows; columns that only one of them has are passed through.
 */
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import type { StateColumns } from "#domains/changes/states.ts";
import type { Writer } from "#domains/changes/write.ts";
import type { OwnerLease } from "#domains/registry/owner-lease.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import type { StateTable } from "#progress/state-table.ts";
import type { RegistryProfile } from "#registry/registries.ts";

/** What writing a change needs. An operator's command has no lease. */
export interface ChangeContext extends Pick<Context, "database" | "clock" | "log"> {
  lease?: OwnerLease;
}

/** A command of a change. Its row is committed before its first byte is written. */
export interface Attempt {
  command: string;
  committed_at: Date;
  /** Null while the command may still be executed. */
  answered_at: Date | null;
  result_code: number | null;
  /** The epoch of the owner that sent it. */
  epoch: number;
}

/** An event of a change's history. */
export interface WrittenEvent {
  event: string;
  status: string;
  phase: string | null;
  note: string | null;
}

/** The columns that all changes have, and what their machine keeps beside them. Each step has its own copy. */
export interface ChangeRow extends StateColumns {
  id: number;
  /** Each change of the row increments it; a write applies only to the version that was read. */
  version: number;
  registry_id: string;
  domain_name: string;
  confirm_after: Date | null;
  backoff_count: number;
  /** Null once it has ended. */
  next_step_at: Date | null;
  reason: string | null;
  /** The end of the registry's maintenance, during maintenance. */
  maintenance_until: Date | null;
  attempts: Attempt[];
  /** Events that the next write includes: nothing outside depends on them yet. */
  unwritten: WrittenEvent[];
}

/** A step's copy of a change, from the row that was read. */
export type StepCopy<Row> = { -readonly [Name in Exclude<keyof Row, "attempts" | "item">]: Row[Name] } & ChangeRow;

/** How a registry's answer, or its absence, ends an attempt. */
export interface AttemptResult {
  clTrid: string;
  resultCode: number | null;
  svTrid: string | null;
  /** False while the command may have been executed nevertheless. */
  isClosed: boolean;
}

/** The outcome of a step, with everything that is written with it. */
export interface Outcome<Event extends string = string> {
  /** Without one the row only waits until `nextStepAt`. */
  event?: Event | undefined;
  /** Nothing outside depends on it yet: it is written with the next outcome. */
  isFree?: true;
  /** When the next step is due; by default at once. */
  nextStepAt?: Date | undefined;
  attempt?: AttemptResult | undefined;
  reason?: string | undefined;
  /** The time of the second look, which decides. */
  confirmAfter?: Date | undefined;
  /** Counts a failure, for the backoff. */
  countsAsFailure?: boolean | undefined;
  /** The registry has shown the effect of all commands. */
  closesAttempts?: true;
  /** Raises an alarm with this note. */
  operatorNote?: string | undefined;
}

/** An alarm that is raised, with a note, or resolved. */
export interface AlarmChange {
  kind: "order" | "renewal" | "renewal-credit" | "renewal-dates" | "renewal-held";
  subject: string;
  note?: string;
}

/** The row has changed since it was read: read it again. */
export class ChangeConflict extends Error {
  override name = "ChangeConflict";
}

/** A table of changes, and how to read and write its rows. */
export interface ChangeTable<Row extends ChangeRow, O extends Outcome> {
  states: StateTable<string, string>;
  writer: Writer;
  /** Returns nothing when there is no such row, or nothing left to do. */
  find(context: ChangeContext, id: number): Promise<Row | undefined>;
  /** Its own columns after an event. */
  after(row: Row, outcome: O, to: string, now: Date): Partial<Row>;
  /** The values that the writer's guard and effects need. */
  values(row: Row, outcome: O, to: string): object;
  alarms(row: Row, outcome: O, to: string, now: Date): AlarmChange[];
  /** Events that do not reset the count of failures: this attempt may still fail too. */
  keepsBackoff: ReadonlySet<string>;
  /** Locks what the outcome depends on until the transaction ends; returns whether it still holds. */
  hold?(row: Row, outcome: O): ((tx: Transaction) => Promise<boolean>) | undefined;
}

/** What one kind of row does in its states. */
export interface Machine<Row extends ChangeRow, O extends Outcome> extends ChangeTable<Row, O> {
  /** No two of its steps about one name run at the same time, their writes included. */
  isInTurns?: true;
  /** Sends at most one command. Returns nothing when there is nothing to write. */
  step(sessions: RegistrySessions, row: Row): Promise<O | undefined>;
  /** Since when every try of the row has failed, and the note of its open alarm. Absent: nobody is called. */
  failing?(row: Row, outcome: O): { since: Date | null; note: string | null } | undefined;
  /** How long it waits after this outcome, where that is not the backoff's delay. */
  delayMs?(row: Row, outcome: O, to: string): number | undefined;
  /** Adapts an outcome to an operator's request on the row. */
  adapt?(sessions: RegistrySessions, row: Row, outcome: O): O;
  /** Whether an outcome is still valid although the row has changed meanwhile; the answer to a command always is. */
  isStillValid?(before: Row, now: Row): boolean;
  /** Called after the write. @param signal of the writer */
  written?(sessions: RegistrySessions, outcome: O, signal: string): Promise<void>;
  /** A command was answered after the row had ended, or continued without the answer. */
  reportLateAnswer?(context: ChangeContext, row: Row, outcome: O): Promise<void>;
}

/** An operator is called about a row of which every try has failed for this long. */
export const failingMsMax = 24 * 60 * 60_000;
/** How often an order retries that waits for an operator. */
export const operatorRetryMs = 15 * 60_000;
/** How often a renewal retries that waits for an operator. */
export const attentionLookMs = 60 * 60_000;

/** The longest that a step waits, except for a term's end, a schedule and announced maintenance. */
export function longestWaitMs(profile: RegistryProfile): number {
  const { backoffMaxMs, reconcileIntervalMs, settleMs, takeoverSettleMs } = profile;
  return Math.max(backoffMaxMs, reconcileIntervalMs, settleMs, takeoverSettleMs, operatorRetryMs, attentionLookMs);
}
