/**
 * What carries every change at a registry: it takes a row as far as it goes now. In each state one command goes to the registry at
 * most, and then something has happened to the row; its table says what follows.
 *
 * The rule that everything here serves: a command's bytes are written only after its attempt row is committed, and while an
 * attempt is unanswered nothing is sent but questions. So whatever crashes, the next step knows what may have happened, and
 * asks the registry instead of guessing.
 */
import {
  ChangeConflict,
  type ChangeRow,
  type Machine,
  type Outcome,
  operatorRetryMs,
  stateOf,
} from "#domains/changes/change.ts";
import { later } from "#domains/changes/proof.ts";
import { applyEvent, write } from "#domains/changes/write.ts";
import { holdMaintenance } from "#domains/registry/maintenance.ts";
import { LeaseLost } from "#domains/registry/owner-lease.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { backoffMs } from "#lib/backoff.ts";

/**
 * Takes a row as far as it goes now. Safe to repeat, to be killed anywhere, and to be resumed by another process. Never more
 * than one at a time per row: the registry's owner sees to that.
 * @throws LeaseLost when this process does not own the registry any more
 */
export async function advance<Row extends ChangeRow, O extends Outcome>(
  sessions: RegistrySessions,
  machine: Machine<Row, O>,
  id: number,
): Promise<void> {
  const { context } = sessions;
  for (;;) {
    let row = await machine.find(context, id);
    if (!row || machine.states.isFinal(stateOf(row))) return;
    if (!context.lease.isHeld()) throw new LeaseLost(context.lease);
    try {
      if (await mustWait(sessions, machine, row)) return;
      let outcome = await machine.step(sessions, row);
      while (outcome?.isFree) {
        row = applyEvent(machine, row, outcome, context.clock.now());
        outcome = await machine.step(sessions, row);
      }
      if (!outcome) return;
      const { next_step_at: nextStepAt } = await record(
        sessions,
        machine,
        row,
        withDelay(sessions, machine, row, outcome),
      );
      if (nextStepAt !== null && nextStepAt > context.clock.now()) return;
    } catch (error) {
      // Something else is wanted of it now, or it was called: what it is now decides.
      if (!(error instanceof ChangeConflict)) throw error;
    }
  }
}

/** Whether it is too early for the row's next step, or the registry is maintained: then nothing counts as a failure. */
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
 * Writes down what a step found out. What came while the step ran, an operator's wish or a call for the next step, changes
 * what that means, but does not undo it: the registry's answer comes only once.
 */
async function record<Row extends ChangeRow, O extends Outcome>(
  sessions: RegistrySessions,
  machine: Machine<Row, O>,
  row: Row,
  outcome: O,
): Promise<Row> {
  const { context } = sessions;
  const heeded = machine.heed?.(sessions, row, outcome) ?? outcome;
  try {
    const written = await write(context, machine, row, heeded);
    await machine.wrote?.(sessions, heeded, written.told);
    return written.row;
  } catch (error) {
    if (!(error instanceof ChangeConflict)) throw error;
    const now = await machine.find(context, row.id);
    if (!now || stateOf(now) !== stateOf(row)) {
      if (now) await machine.tellTooLate?.(context, now, outcome);
      throw error;
    }
    // A question can be asked again; what a command was answered cannot.
    if (outcome.attempt === undefined && !machine.stands?.(row, now)) throw error;
    const isCalled = now.next_step_at?.getTime() !== row.next_step_at?.getTime();
    const nextStepAt = isCalled ? nextStepWhenCalled(context.clock.now(), now, outcome) : outcome.nextStepAt;
    return record(sessions, machine, now, { ...outcome, nextStepAt });
  }
}

/** When the next step of a row comes that was called while it was at work. */
function nextStepWhenCalled(
  now: Date,
  { next_step_at: calledAt }: ChangeRow,
  { event, nextStepAt }: Outcome,
): Date | undefined {
  // What may still be executed has its time.
  if (event === "unanswered" || !nextStepAt) return nextStepAt;
  if (calledAt === null || calledAt <= now) return undefined;
  return calledAt < nextStepAt ? calledAt : nextStepAt;
}
