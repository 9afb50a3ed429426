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
import { after, write } from "#domains/changes/write.ts";
import { holdMaintenance } from "#domains/registry/maintenance.ts";
import { LeaseLost } from "#domains/registry/owner-lease.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { backoffMs } from "#lib/backoff.ts";

/**
 * Takes a row as far as it goes now. Safe to repeat, to be killed anywhere, and to be resumed by another process. Never more
 * than one at a time per row: the registry's owner sees to that.
 * @throws LeaseLost when this process does not own the registry any more
 */
export async function advance<Row extends ChangeRow, Happening extends Outcome>(
  sessions: RegistrySessions,
  machine: Machine<Row, Happening>,
  id: number,
): Promise<void> {
  const { context } = sessions;
  for (;;) {
    let row = await machine.find(context, id);
    if (!row || machine.states.isFinal(stateOf(row))) return;
    if (!context.lease.isHeld()) throw new LeaseLost(context.lease);
    try {
      if (await isPutOff(sessions, machine, row)) return;
      let happening = await machine.step(sessions, row);
      while (happening?.isFree) {
        row = after(machine, row, happening, context.clock.now());
        happening = await machine.step(sessions, row);
      }
      if (!happening) return;
      const { next_step_at: nextStepAt } = await record(
        sessions,
        machine,
        row,
        withDelay(sessions, machine, row, happening),
      );
      if (nextStepAt !== null && nextStepAt > context.clock.now()) return;
    } catch (error) {
      // Something else is wanted of it now, or it was called: what it is now decides.
      if (!(error instanceof ChangeConflict)) throw error;
    }
  }
}

/** Whether it is too early for the row's next step, or the registry is maintained: then nothing counts as a failure. */
async function isPutOff<Row extends ChangeRow, Happening extends Outcome>(
  { context }: RegistrySessions,
  machine: Machine<Row, Happening>,
  row: Row,
): Promise<boolean> {
  if (row.next_step_at !== null && row.next_step_at > context.clock.now()) return true;
  const { maintenance_until: nextStepAt } = row;
  if (nextStepAt === null) return false;
  const held = { ...machine, hold: () => (tx) => holdMaintenance(tx, row.registry_id, nextStepAt) } as typeof machine;
  await write(context, held, row, { nextStepAt } as Happening);
  return true;
}

function withDelay<Row extends ChangeRow, Happening extends Outcome>(
  sessions: RegistrySessions,
  machine: Machine<Row, Happening>,
  row: Row,
  happening: Happening,
): Happening {
  const { event, nextStepAt, countsAsFailure, operatorNote } = happening;
  if (event === undefined || nextStepAt) return happening;
  const to = machine.states.next(stateOf(row), event)?.to ?? "";
  const ownMs = machine.delayMs?.(row, happening, to);
  if (ownMs !== undefined) return { ...happening, nextStepAt: later(sessions, ownMs) };
  if (!countsAsFailure) return happening;
  const { context, profile } = sessions;
  const limits = { firstMs: profile.backoffFirstMs, maxMs: profile.backoffMaxMs };
  const delayMs = operatorNote ? operatorRetryMs : backoffMs(row.backoff_count + 1, limits, context.random);
  return { ...happening, nextStepAt: later(sessions, delayMs) };
}

/**
 * Writes down what a step found out. What came while the step ran, an operator's wish or a call for the next step, changes
 * what that means, but does not undo it: the registry's answer comes only once.
 */
async function record<Row extends ChangeRow, Happening extends Outcome>(
  sessions: RegistrySessions,
  machine: Machine<Row, Happening>,
  row: Row,
  happening: Happening,
): Promise<Row> {
  const { context } = sessions;
  const heeded = machine.heed?.(sessions, row, happening) ?? happening;
  try {
    const written = await write(context, machine, row, heeded);
    await machine.wrote?.(sessions, heeded, written.told);
    return written.row;
  } catch (error) {
    if (!(error instanceof ChangeConflict)) throw error;
    const now = await machine.find(context, row.id);
    if (!now || stateOf(now) !== stateOf(row)) {
      if (now) await machine.tellTooLate?.(context, now, happening);
      throw error;
    }
    // A question can be asked again; what a command was answered cannot.
    if (happening.attempt === undefined && !machine.stands?.(row, now)) throw error;
    const isCalled = now.next_step_at?.getTime() !== row.next_step_at?.getTime();
    const nextStepAt = isCalled ? calledFor(context.clock.now(), now, happening) : happening.nextStepAt;
    return record(sessions, machine, now, { ...happening, nextStepAt });
  }
}

/** When the next step of a row comes that was called while it was at work. */
function calledFor(now: Date, { next_step_at: calledAt }: ChangeRow, { event, nextStepAt }: Outcome): Date | undefined {
  // What may still be executed has its time.
  if (event === "unanswered" || !nextStepAt) return nextStepAt;
  if (calledAt === null || calledAt <= now) return undefined;
  return calledAt < nextStepAt ? calledAt : nextStepAt;
}
