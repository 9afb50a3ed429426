/**
 * A registration that an operator wants to cancel, although its create may have been executed. A name that the registry holds for us is
 * deleted while that is free (the add grace period, RFC 3915 §3.1), and kept after that. Meanwhile it is in no portfolio.
 */
import { type FoundName, registeredOf } from "#domains/kinds/registration.ts";
import type { Answer, Plan } from "#domains/orders/kind.ts";
import { type Order, type Outcome, ofCommand } from "#domains/orders/order.ts";
import { later, type NameInfo } from "#domains/registry/ask.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { addDays } from "#domains/registry/terms.ts";
import { isSuccess } from "#registry/epp/codes.ts";
import { domainDelete } from "#registry/epp/commands/domain/delete.ts";
import type { DomainInfo } from "#registry/epp/commands/domain/info.ts";

const deleteName = "domain:delete";
/** How many deletes one order may send; after that an operator decides. */
const deletesMax = 5;

const foundOf = ({ found }: Order) => found as FoundName;

export const reserved: Plan = {
  is: "refused",
  as: "rejected",
  reason: "the registry refuses the name as existing, yet does not hold it: it is reserved",
};

/** Whether the next plan is to delete the name: the operator cancels the order, and what its create has done is known. */
export function isUnwanted({ cancel_requested_at, attempts, phase }: Order): boolean {
  const last = attempts.findLast(({ command }) => command.startsWith("domain:"));
  return cancel_requested_at !== null && (phase !== "verify" || last?.command === deleteName);
}

export function planUnwanted(sessions: RegistrySessions, order: Order, name: NameInfo): Plan {
  const deletes = ofCommand(order.attempts, deleteName);
  // One that the registry refused, or certainly did not execute, explains nothing.
  const mayBeDeleted = deletes.some(
    ({ answered_at, result_code }) => answered_at === null || isSuccess(result_code ?? 0),
  );
  switch (name.is) {
    case "unknown":
      return name;
    case "held-by-other":
      if (mayBeDeleted) return { is: "deleted" };
      return { is: "refused", as: "failed", reason: "the name is held by another registrar" };
    case "absent":
      if (order.status === "Pending" && !mayBeDeleted) {
        return { is: "refused", as: "failed", reason: "the registry did not approve the registration" };
      }
      // The registry refused the create: there was nothing to cancel.
      return foundOf(order).exists && deletes.length === 0 ? reserved : { is: "deleted" };
    case "held-by-us":
      return planHeld(sessions, order, name.info);
  }
}

function planHeld(sessions: RegistrySessions, order: Order, info: DomainInfo): Plan {
  const { context, profile } = sessions;
  const { statuses } = info;
  const { delete_refused: refused } = foundOf(order);
  if (statuses.includes("pendingDelete")) {
    return {
      is: "wait",
      until: later(sessions, profile.reconcileIntervalMs),
      reason: "the registry is deleting the name",
    };
  }
  const isPending = statuses.includes("pendingCreate");
  // The registry has refused the delete: now its decision about the create counts.
  if (isPending && refused) return { is: "pending" };
  const registered = registeredOf(profile, order, info);
  if (!isPending) {
    if (!registered) return { is: "unknown", reason: "info brought no dates" };
    const end = { registered, isKept: true } as const;
    if (refused && !refused.isPending) return { is: "done", end, reason: refused.reason };
    if (context.clock.now() >= addDays(registered.registeredAt, profile.graceDays.add)) {
      return { is: "done", end, reason: "the cancellation came after the add grace period" };
    }
  }
  const sent = ofCommand(order.attempts, deleteName).length;
  if (sent < deletesMax) return { is: "send", command: domainDelete(order.domain_name) };
  const note = `${sent} deletes were sent, and the name is still held`;
  return { is: "unknown", reason: note, operatorNote: note };
}

/** What follows from the registry's answer to the delete. */
export function answeredDelete(
  order: Order,
  { meaning, attempt, response, reason: said }: Answer,
): Outcome | undefined {
  const reason = `delete: ${said}`;
  if (response.code === 1000 || response.code === 2303) return { event: "deleted", attempt };
  if (meaning === "answered" || meaning === "not-executed") return undefined;
  const isPending = order.shown?.statuses.includes("pendingCreate") ?? false;
  order.found = { ...foundOf(order), delete_refused: { reason, isPending } } satisfies FoundName;
  return { event: "disputed", attempt, reason };
}
