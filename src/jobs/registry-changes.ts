/** Advances the orders and renewals of one registry for its session holder: each row as soon as it is due, one step at a time. */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import { DatabaseUnavailable } from "#db/errors.ts";
import { orderKinds } from "#domains/kinds/all.ts";
import { dueRegistrations, dueScheduled, dueUrgent, dueValues } from "#domains/orders/due.ts";
import { findOrder } from "#domains/orders/order.ts";
import { advance } from "#domains/orders/steps/advance.ts";
import { LeaseLost, machineName, type RegistrySessions } from "#domains/registry/sessions.ts";
import { advanceRenewal, dueRenewals } from "#domains/schedule/step.ts";
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
/** For urgent orders about registered names: most of their commands follow an `<info>`, on the same session or another. */
const urgentRowsPerSession = 2;
const urgentRowsMax = 100;
/** After more consecutive failures, other than those of the database, retries alone will not help. */
const failuresToleratedMax = 1;

/** @param ended fires when the lease is lost; after that no step begins */
export function startChanges(sessions: RegistrySessions, ended: AbortSignal): { stop(): Promise<void> } {
  const { context, profile } = sessions;
  const { id, sessionsMax } = profile;
  const exclusion = { until: ended };
  const step = orderStep(sessions);
  const many = Math.min(sessionsMax * rowsPerSession, rowsMax);
  const machines = [
    startMachine(context, {
      name: machineName("registration", id),
      rows: dueRegistrations(context, profile),
      rowsMax: many,
      exclusion,
      step,
    }),
    startMachine(context, {
      name: machineName("urgent", id),
      rows: dueUrgent(context, profile),
      rowsMax: Math.min(sessionsMax * urgentRowsPerSession, urgentRowsMax),
      exclusion,
      step,
    }),
    startMachine(context, {
      name: machineName("value", id),
      rows: dueValues(context, profile),
      // Each holds a session most of the time.
      rowsMax: Math.max(1, Math.floor(sessionsMax / 2)),
      exclusion,
      step,
    }),
    startMachine(context, {
      name: machineName("schedule", id),
      rows: dueScheduled(context, profile),
      rowsMax: many,
      exclusion,
      step,
    }),
    startMachine(context, {
      name: machineName("renewal", id),
      rows: dueRenewals(context, id),
      rowsMax: Math.min(many, renewalRowsMax),
      exclusion,
      step: (renewalId) => advanceRenewal(sessions, renewalId),
    }),
  ];
  return {
    async stop() {
      await Promise.all(machines.map((machine) => machine.stop()));
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
      await advance(sessions, orderKinds, id);
      if (failures.delete(id)) await resolveAlarm(context, await alarmOf(id));
    } catch (error) {
      // Not the step's fault: the next session holder, or a retry, continues the order.
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
