/**
 * A change at a registry, as its machine sees it: a row that advances until it is done, and the commands that it has sent.
 * Orders and renewals are such rows; what only one of them has, the machine passes through.
 */
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import type { Writer } from "#domains/changes/write.ts";
import type { OwnerLease } from "#domains/registry/owner-lease.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import type { RegistryProfile } from "#registry/registries.ts";

/** What writing a change needs. An operator's command has no lease, and needs none. */
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
  /** Of the owner that sent it; null in rows of a version without epochs. */
  epoch: number | null;
}

/** An event of a change's history. */
export interface WrittenEvent {
  event: string;
  status: string;
  phase: string | null;
  note: string | null;
}

/** The columns that all changes have, and what their machine keeps beside them. A step has a copy of its own. */
export interface ChangeRow extends StateColumns {
  id: number;
  /** Each change of the row increments it; a write applies only to the version that was read. */
  version: number;
  registry_id: string;
  domain_name: string;
  confirm_after: Date | null;
  backoff_count: number;
  /** Never null while it lives. */
  next_step_at: Date | null;
  reason: string | null;
  /** When the registry's maintenance ends that is going on. */
  maintenance_until: Date | null;
  attempts: Attempt[];
  /** What has happened since the row was read, and nothing outside depends on yet: the next write brings it along. */
  unwritten: WrittenEvent[];
}

/** A change as a step has it, from the row that was read. */
export type StepCopy<Row> = { -readonly [Name in Exclude<keyof Row, "attempts" | "item">]: Row[Name] } & ChangeRow;

/** How a registry's answer, or its absence, ends an attempt. */
export interface AttemptResult {
  clTrid: string;
  resultCode: number | null;
  svTrid: string | null;
  /** False while the command may have been executed all the same. */
  isClosed: boolean;
}

/** What a step has found out or done, with everything that is written together with it. */
export interface Outcome<Event extends string = string> {
  /** Without one nothing happened: the change looks again at `nextStepAt`. */
  event?: Event | undefined;
  /** Nothing outside depends on it yet, so it is not written by itself. */
  isFree?: true;
  /** When the next step is due; without it the next step follows at once. */
  nextStepAt?: Date | undefined;
  attempt?: AttemptResult | undefined;
  reason?: string | undefined;
  /** When a second look decides. */
  confirmAfter?: Date | undefined;
  /** Counts a failure, for the backoff. */
  countsAsFailure?: boolean | undefined;
  /** The registry has shown what became of all that was sent. */
  closesAttempts?: true;
  /** What a person has to see to. */
  operatorNote?: string | undefined;
}

/** An alarm that is raised, with a note, or resolved. */
export interface AlarmChange {
  kind: "order" | "renewal" | "renewal-credit" | "renewal-dates";
  subject: string;
  note?: string;
}

/** The row is not any more as it was read: read it again. */
export class ChangeConflict extends Error {
  override name = "ChangeConflict";
}

/** A table of changes: how its rows are read and written. */
export interface ChangeTable<Row extends ChangeRow, Happening extends Outcome> {
  states: StateTable<string, string>;
  writer: Writer;
  /** Returns nothing when there is no such row, or nothing to do with it any more. */
  find(context: ChangeContext, id: number): Promise<Row | undefined>;
  /** Its own columns after an event. */
  after(row: Row, happening: Happening, to: string, now: Date): Partial<Row>;
  /** Its own columns, and what the writer's effects need. */
  values(row: Row, happening: Happening, to: string): object;
  alarms(row: Row, happening: Happening, to: string, now: Date): AlarmChange[];
  /** Events after which the count of failures goes on: whether this try fails too is not known yet. */
  keepsBackoff: ReadonlySet<string>;
  /**
   * Holds, until the transaction ends, what the happening is built on, if it needs that. What it returns says whether that is
   * still so.
   */
  hold?(row: Row, happening: Happening): ((tx: Transaction) => Promise<boolean>) | undefined;
}

/** What one kind of row does in its states. */
export interface Machine<Row extends ChangeRow, Happening extends Outcome> extends ChangeTable<Row, Happening> {
  /** One command at the registry at most. Returns nothing when there is nothing to write. */
  step(sessions: RegistrySessions, row: Row): Promise<Happening | undefined>;
  /** How long it waits after this happening, where that is not the backoff's delay. */
  delayMs?(row: Row, happening: Happening, to: string): number | undefined;
  /** What happens in place of this, because of what is wanted of the row by now. */
  heed?(sessions: RegistrySessions, row: Row, happening: Happening): Happening;
  /** Whether what a step found out stands although the row was changed meanwhile; a command's answer always does. */
  stands?(before: Row, now: Row): boolean;
  /** Once it is written. @param told what the writer said */
  wrote?(sessions: RegistrySessions, happening: Happening, told: string): Promise<void>;
  /** A command was answered after the row had ended, or gone on without the answer. */
  tellTooLate?(context: ChangeContext, row: Row, happening: Happening): Promise<void>;
}

/** A state as the columns of its row. */
export interface StateColumns {
  status: string;
  phase: string | null;
  verify_cause: string | null;
}

export interface Transition<State extends string, Event extends string> {
  /** Its name in the documents. */
  row: string;
  from: State;
  event: Event;
  to: State;
}

export interface StateTable<State extends string, Event extends string> {
  transitions: readonly Transition<State, Event>[];
  /** Where an event leads; `undefined` when it leaves the change as it is. */
  next(from: State, event: Event): Transition<State, Event> | undefined;
  /** Whether a change in this state will never change again: the table leads nowhere from it. */
  isFinal(state: State): boolean;
}

export function stateTable<State extends string, Event extends string>(
  rows: readonly [row: string, from: State, event: Event, to: State][],
): StateTable<State, Event> {
  const transitions = rows.map(([row, from, event, to]) => ({ row, from, event, to }));
  const byStateAndEvent = new Map(
    transitions.map((transition) => [`${transition.from}/${transition.event}`, transition]),
  );
  const lively = new Set(transitions.map(({ from }) => from));
  return {
    transitions,
    next: (from, event) => byStateAndEvent.get(`${from}/${event}`),
    isFinal: (state) => !lively.has(state),
  };
}

/** The name of a row's state. */
export function stateOf<State extends string>({ status, phase, verify_cause }: StateColumns): State {
  if (phase === null) return status as State;
  return `${status} (${verify_cause === null ? phase : `${phase}: ${verify_cause}`})` as State;
}

/** The columns of a state. */
export function columnsOf(state: string): StateColumns {
  const [, status, phase, cause] = /^(\w+)(?: \((\w+)(?:: (\w+))?\))?$/.exec(state) ?? [];
  return { status: status!, phase: phase ?? null, verify_cause: cause ?? null };
}

/** How often an order that waits for an operator to put things right tries again. */
export const operatorRetryMs = 15 * 60_000;
/** A renewal that waits for one is looked at again this often. */
export const attentionLookMs = 60 * 60_000;

/** The longest that a step is put off, but for a term's end, a schedule and announced maintenance. */
export function longestWaitMs(profile: RegistryProfile): number {
  const { backoffMaxMs, reconcileIntervalMs, settleMs, takeoverSettleMs } = profile;
  return Math.max(backoffMaxMs, reconcileIntervalMs, settleMs, takeoverSettleMs, operatorRetryMs, attentionLookMs);
}
