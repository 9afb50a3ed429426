/** The alarms that an outcome raises or resolves. */
import type { Order, Outcome } from "#domains/orders/order.ts";
import { isFinal } from "#domains/orders/states.ts";

/** An alarm that is raised, with a note, or resolved. */
interface AlarmChange {
  kind: "order" | "renewal" | "renewal-credit" | "renewal-dates" | "renewal-held";
  subject: string;
  note?: string;
}

export function alarmsOf(before: Order, { status }: Order, outcome: Outcome): AlarmChange[] {
  const { domain_name: subject } = before;
  const { end } = outcome;
  const changes = before.renewal_id === null ? alarmsAsOrder(before, outcome) : alarmsOfSchedule(before, outcome);
  // This alarm stays open until an operator resolves it.
  if (end?.alarm !== undefined) changes.push({ kind: "renewal-dates", subject, note: end.alarm });
  // The name's renewal has waited for it.
  if (before.status === "Pending" && before.kind !== "create" && isFinal(status)) {
    changes.push({ kind: "renewal-held", subject });
  }
  // An alarm about the renewal that has ended with this order.
  if (end?.renewedUntil || end?.departure) changes.push({ kind: "renewal", subject });
  return changes;
}

/** The alarm stays open until an outcome needs no operator. */
function alarmsAsOrder({ order_code, operator_note }: Order, { operatorNote: note }: Outcome): AlarmChange[] {
  const alarm = { kind: "order", subject: order_code } as const;
  if (note !== undefined) return [{ ...alarm, note }];
  return operator_note === null ? [] : [alarm];
}

/** About the name, until its term is over one way or the other; and about the registry, while it refuses renewals. */
function alarmsOfSchedule(order: Order, { event, reason, operatorNote: note }: Outcome): AlarmChange[] {
  const { domain_name, registry_id, kind } = order;
  const changes: AlarmChange[] = note === undefined ? [] : [{ kind: "renewal", subject: domain_name, note }];
  const credit = { kind: "renewal-credit", subject: registry_id } as const;
  if (event === "out-of-credit") {
    changes.push({ ...credit, note: `renewals wait for credit at ${registry_id}: ${reason}` });
  }
  // A delete is free, so an accepted one says nothing about the credit.
  if (event === "answered" && kind === "renew") changes.push(credit);
  return changes;
}
