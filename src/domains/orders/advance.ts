/**
 * The loop that advances every change at a registry. In each state at most one command goes to the registry; its outcome is an
 * event, and the table of states says what follows.
 *
 * Everything here serves one rule: a command's bytes are written only after its attempt row is committed, and while an attempt
 * is unanswered only queries are sent. So after any crash the next step knows what may have been executed, and asks the
 * registry instead of guessing.
 */
import {
  ChangeConflict,
  type ChangeRow,
  failingMsMax,
  type Machine,
  type Outcome,
  operatorRetryMs,
} from "#domains/orders/change.ts";
import { stateOf } from "#domains/orders/state-table.ts";
import { onName } from "#domains/orders/turns.ts";
import { applyEvent, write } from "#domains/orders/write.ts";
import { later } from "#domains/registry/ask.ts";
import { holdMaintenance } from "#domains/registry/maintenance.ts";
import { LeaseLost } from "#domains/registry/owner-lease.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { backoffMs } from "#lib/backoff.ts";

/**
 * Advances a row as far as possible now. It may be repeated, killed anywhere, and resumed by another process. The registry's
 * owner runs at most one per row at a time.
 * @throws LeaseLost when this process no longer owns the registry
 */
export async function advance<Row extends ChangeRow, O extends Outcome>(
  sessions: RegistrySessions,
  machine: Machine<Row, O>,
  id: number,
): Promise<void> {
  const { context } = sessions;
  for (;;) {
    const row = await machine.find(context, id);
    if (!row || machine.states.isFinal(stateOf(row))) return;
    if (!context.lease.isHeld()) throw new LeaseLost(context.lease);
    try {
      if (await mustWait(sessions, machine, row)) return;
      const work = () => stepOnce(sessions, machine, row);
      // A step that waits for another one must not write so after the other has ended: nothing would wake it.
      const written = await (machine.isInTurns ? onName(sessions, row.domain_name, work) : work());
      if (!written || (written.next_step_at !== null && written.next_step_at > context.clock.now())) return;
    } catch (error) {
      // The row has changed since it was read: read it again.
      if (!(error instanceof ChangeConflict)) throw error;
    }
  }
}

/** @returns the row as it was written; undefined when there was nothing to write */
async function stepOnce<Row extends ChangeRow, O extends Outcome>(
  sessions: RegistrySessions,
  machine: Machine<Row, O>,
  read: Row,
): Promise<Row | undefined> {
  const wasAway = isAway(sessions);
  let row = read;
  let outcome = await machine.step(sessions, row);
  while (outcome?.isFree) {
    row = applyEvent(machine, row, outcome, sessions.context.clock.now());
    outcome = await machine.step(sessions, row);
  }
  if (!outcome) return undefined;
  const told = withAlarm(sessions, machine, row, outcome, wasAway);
  return record(sessions, machine, row, withDelay(sessions, machine, row, told));
}

/** Whether the row is not due yet, or the registry is in maintenance, which does not count as a failure. */
async function mustWait<Row extends ChangeRow, O extends Outcome>(
  { context }: RegistrySessions,
  machine: Machine<Row, O>,
  row: Row,
): Promise<boolean> {
  if (row.next_step_at !== null && row.next_step_at > context.clock.now()) return true;
  const { maintenance_until: nextStepAt } = row;
  if (nextStepAt === null) return false;
  const held = { ...machine, hold: () => (tx) => holdMaintenance(tx, row.registry_id, nextStepAt) } as typeof machine;
  await write(context, held, row, { nextStepAt } as O);
  return true;
}

const isAway = ({ pool }: RegistrySessions) => pool.circuit().state !== "closed";

/**
 * Calls an operator once retries have not helped for a day. Nothing ends because of that: the next try may succeed, and resolves
 * the alarm. While the registry is away, the alarm about the registry says enough.
 * @param wasAway whether it was when the step began: it may be back by now, and the step's reason still be that it was away
 */
function withAlarm<Row extends ChangeRow, O extends Outcome>(
  sessions: RegistrySessions,
  machine: Machine<Row, O>,
  row: Row,
  outcome: O,
  wasAway: boolean,
): O {
  const { event, operatorNote, countsAsFailure, reason } = outcome;
  const failing = machine.failing?.(row, outcome);
  if (!failing || event === undefined || operatorNote !== undefined) return outcome;
  const { since, note } = failing;
  const isLong = since !== null && since <= later(sessions, -failingMsMax);
  if (!countsAsFailure || !isLong || wasAway || isAway(sessions)) {
    // What was wrong still is, as far as anybody knows.
    const isStillWrong = countsAsFailure || event === "unanswered";
    return note !== null && isStillWrong ? { ...outcome, operatorNote: note } : outcome;
  }
  const last = reason ?? row.reason ?? event;
  const advice = "ask the registry, then settle or cancel the order";
  return { ...outcome, operatorNote: `for a day every try has failed, the last one because: ${last}; ${advice}` };
}

function withDelay<Row extends ChangeRow, O extends Outcome>(
  sessions: RegistrySessions,
  machine: Machine<Row, O>,
  row: Row,
  outcome: O,
): O {
  const { event, nextStepAt, countsAsFailure, operatorNote } = outcome;
  if (event === undefined || nextStepAt) return outcome;
  const to = machine.states.next(stateOf(row), event)?.to ?? "";
  const ownMs = machine.delayMs?.(row, outcome, to);
  if (ownMs !== undefined) return { ...outcome, nextStepAt: later(sessions, ownMs) };
  if (!countsAsFailure) return outcome;
  const { context, profile } = sessions;
  const limits = { firstMs: profile.backoffFirstMs, maxMs: profile.backoffMaxMs };
  const delayMs = operatorNote ? operatorRetryMs : backoffMs(row.backoff_count + 1, limits, context.random);
  return { ...outcome, nextStepAt: later(sessions, delayMs) };
}

/**
 * Writes a step's outcome. An operator's request that was written while the step ran changes what the outcome means, but does
 * not discard it: the registry's answer comes only once.
 */
async function record<Row extends ChangeRow, O extends Outcome>(
  sessions: RegistrySessions,
  machine: Machine<Row, O>,
  row: Row,
  outcome: O,
): Promise<Row> {
  const { context } = sessions;
  const adapted = machine.adapt?.(sessions, row, outcome) ?? outcome;
  try {
    const written = await write(context, machine, row, adapted);
    await machine.written?.(sessions, adapted, written.signal);
    return written.row;
  } catch (error) {
    if (!(error instanceof ChangeConflict)) throw error;
    const now = await machine.find(context, row.id);
    if (!now || stateOf(now) !== stateOf(row)) {
      if (now) await machine.reportLateAnswer?.(context, now, outcome);
      throw error;
    }
    // A query can be repeated; the answer to a command cannot.
    if (outcome.attempt === undefined && !machine.isStillValid?.(row, now)) throw error;
    const isCalled = now.next_step_at?.getTime() !== row.next_step_at?.getTime();
    const nextStepAt = isCalled ? calledStepAt(context.clock.now(), now, outcome) : outcome.nextStepAt;
    return record(sessions, machine, now, { ...outcome, nextStepAt });
  }
}

/** When the next step is due, if a request for it was written while a step ran. */
function calledStepAt(
  now: Date,
  { next_step_at: calledAt }: ChangeRow,
  { event, nextStepAt }: Outcome,
): Date | undefined {
  // A command that may still be executed keeps its settle time.
  if (event === "unanswered" || !nextStepAt) return nextStepAt;
  if (calledAt === null || calledAt <= now) return undefined;
  return calledAt < nextStepAt ? calledAt : nextStepAt;
}
