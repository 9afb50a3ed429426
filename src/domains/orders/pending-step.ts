/** Row 21: what became of a pending create whose message never came, at a registry that may have no message queue. */
import { askInfo, registeredOf } from "#domains/orders/name-info.ts";
import { type Order, type OrderHappening, postpone } from "#domains/orders/orders.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";

/** What became of a pending create: `undefined` while it still is pending, or nobody can say. */
export async function lookAtPending(sessions: RegistrySessions, order: Order): Promise<OrderHappening | undefined> {
  const name = await askInfo(sessions, order);
  if (name.is === "unknown") return undefined;
  if (name.is === "absent") return { event: "absent", reason: "the registry did not approve the registration" };
  if (name.is === "held-by-other") return { event: "held-by-other", reason: "the name is held by another registrar" };
  if (name.info.statuses.includes("pendingCreate")) return undefined;
  const registered = registeredOf(name.info);
  return registered && { event: "ours", registered };
}

export async function reconcilePending(sessions: RegistrySessions, order: Order): Promise<OrderHappening | undefined> {
  const happening = await lookAtPending(sessions, order);
  if (happening) return happening;
  const { context, profile } = sessions;
  await context.database.transaction((tx) => postpone(context, tx, order, profile.reconcileIntervalMs));
  return undefined;
}
