/** Advances the changes of one registry for its owner: each row as soon as it is due, one step at a time. */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import { DatabaseUnavailable } from "#db/errors.ts";
import { advance } from "#domains/orders/advance.ts";
import { machineName } from "#domains/orders/due.ts";
import { dueScheduledChanges, dueUrgentChanges, dueValueChanges } from "#domains/orders/due-changes.ts";
import { orderMachine } from "#domains/orders/machine.ts";
import { dueOrders, findOrder } from "#domains/orders/orders.ts";
import { changeMachine } from "#domains/orders/step.ts";
import { LeaseLost } from "#domains/registry/owner-lease.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { renewalMachine } from "#domains/schedule/machine.ts";
import { dueRenewals } from "#domains/schedule/renewals.ts";
import { startMachine } from "#progress/engine.ts";

/**
 * While one order's command is on its way, other orders read and write the database in batches. There are enough of them that
 * a session never waits for the database (bench/README.md).
 */
const rowsPerSession = 12;
/** For registrations, and again for the orders of the schedule: all fit into the line for sessions (src/registry/epp/pool/waiting-line.ts). */
const rowsMax = 400;
/** Renewals place orders, and ask about names that are not renewed. */
const renewalRowsMax = 100;
/** For urgent orders about registered names: most of their commands follow a look, on the same session or another. */
const urgentRowsPerSession = 2;
const urgentRowsMax = 100;
/** After more consecutive failures, other than those of the database, retries alone will not help. */
const failuresToleratedMax = 1;

/** @param ended fires when the lease is lost; after that no step begins */
export function startChanges(sessions: RegistrySessions, ended: AbortSignal): { stop(): Promise<void> } {
  const { context, profile } = sessions;
  const limits = {
    rowsMax: Math.min(profile.sessionsMax * rowsPerSession, rowsMax),
    exclusion: { until: ended },
  };
  const orders = startMachine(context, {
    name: machineName("order", profile.id),
    rows: dueOrders(context, profile),
    ...limits,
    step: orderStep(sessions),
  });
  const renewals = startMachine(context, {
    name: machineName("renewal", profile.id),
    rows: dueRenewals(context, profile),
    ...limits,
    rowsMax: Math.min(limits.rowsMax, renewalRowsMax),
    step: (id) => advance(sessions, renewalMachine, id),
  });
  const changes = {
    name: machineName("change", profile.id),
    ...limits,
    step: (id: number) => advance(sessions, changeMachine, id),
  };
  const urgent = startMachine(context, {
    ...changes,
    rows: dueUrgentChanges(context, profile),
    rowsMax: Math.min(profile.sessionsMax * urgentRowsPerSession, urgentRowsMax),
  });
  // Each holds a session most of the time.
  const setting = startMachine(context, {
    ...changes,
    rows: dueValueChanges(context, profile),
    rowsMax: Math.max(1, Math.floor(profile.sessionsMax / 2)),
  });
  const scheduled = startMachine(context, { ...changes, rows: dueScheduledChanges(context, profile) });
  return {
    async stop() {
      await Promise.all([orders.stop(), renewals.stop(), urgent.stop(), setting.stop(), scheduled.stop()]);
    },
  };
}

/** @returns the step of an order. It throws when the step must be retried, and raises an alarm when retries do not help */
function orderStep(sessions: RegistrySessions): (id: number) => Promise<void> {
  const { context } = sessions;
  const failures = new Map<number, number>();
  const alarmOf = async (id: number) => {
    const order = await findOrder(context, id);
    return { kind: "order-step", subject: order?.order_code ?? String(id) } as const;
  };
  return async (id) => {
    try {
      await advance(sessions, orderMachine, id);
      if (failures.delete(id)) await resolveAlarm(context, await alarmOf(id));
    } catch (error) {
      // Not the step's fault: the next owner, or a retry, continues the order.
      if (error instanceof LeaseLost || error instanceof DatabaseUnavailable) throw error;
      const count = (failures.get(id) ?? 0) + 1;
      failures.set(id, count);
      if (count > failuresToleratedMax) {
        const note = "its step keeps failing because of an error in the gateway: the worker's log has it";
        await raiseAlarm(context, { ...(await alarmOf(id)), note });
      }
      throw error;
    }
  };
}
