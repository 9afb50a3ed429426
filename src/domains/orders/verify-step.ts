/** Rows 15 to 19: `<info>` decides what a lost answer hid. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { readEarlierAttempts } from "#domains/orders/attempts.ts";
import { askInfo, isOrdersOwn, notYetRepeatable, registeredOf, stillUnknown } from "#domains/orders/name-info.ts";
import { countAbsences, type Order, type OrderHappening } from "#domains/orders/orders.ts";
import { lateFrameMs } from "#domains/registry/owner-lease.ts";
import { drainPollQueue } from "#domains/registry/poll.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";

/** Creates that one order may send; after that an operator decides. */
const createAttemptsMax = 5;

// Orders that finished say nothing: what they brought is there, or has ended since.
const inPortfolio = statement(
  "name-in-portfolio",
  "SELECT EXISTS (SELECT FROM domains WHERE domain_name = $1) AS is_held",
  { is_held: "bool" },
);

export async function verifyCreate(sessions: RegistrySessions, order: Order): Promise<OrderHappening> {
  const { context, profile } = sessions;
  const name = await askInfo(sessions, order);
  if (name.is === "unknown") return stillUnknown(context, order, name.reason);
  if (name.is === "absent") return absent(sessions, order);
  if (name.is === "held-by-other") return { event: "held-by-other", reason: "the name is held by another registrar" };
  const { info } = name;
  // First: a registry that shows no authInfo leaves only a date to go by, which another's name may have too.
  if (await isInPortfolio(context, order)) {
    return { event: "held-by-own-other", reason: "the name was registered by another order" };
  }
  if (!(await isOrdersOwn(context, order, info))) return unexplained();
  if (order.verify_cause === "lost" && order.confirm_after === null) {
    // RFC 5734 §3: a server that loses the connection may still undo what it did. A second look decides.
    const confirmAfter = new Date(context.clock.now().getTime() + profile.settleMs);
    return { event: "seen-once", confirmAfter, nextStepAt: confirmAfter };
  }
  if (info.statuses.includes("pendingCreate")) {
    return { event: "ours-pending", nextStepAt: new Date(context.clock.now().getTime() + profile.reconcileIntervalMs) };
  }
  const registered = registeredOf(info);
  return registered ? { event: "ours", registered } : stillUnknown(context, order, "info brought no dates");
}

/** Rows 17 and 18. */
async function absent(sessions: RegistrySessions, order: Order): Promise<OrderHappening> {
  const { context } = sessions;
  if (order.verify_cause === "exists") {
    return {
      event: "absent",
      reason: "the registry refuses the name as existing, yet does not hold it: it is reserved",
    };
  }
  const lateMs = lateFrameMs(context.lease, sessions.profile.takeoverSettleMs);
  if (lateMs > 0 && (await readEarlierAttempts(context, order.id, "domain:create")).open > 0) {
    return notYetRepeatable(context, order, lateMs);
  }
  // It may have been pending and denied. Then a message says so, and the order is not Processing any more after this.
  const isHeardOut = await drainPollQueue(sessions).catch(() => false);
  if (!isHeardOut) return stillUnknown(context, order, "the registry's messages could not be read");
  const creates = (await countAbsences(context, order.id)) + 1;
  if (creates < createAttemptsMax) return { event: "absent" };
  const operatorNote = `${creates} creates were lost without a trace at the registry`;
  return { event: "unexplained", operatorNote, countsAsFailure: true };
}

/** Row 16a: held by us, but not through this order. It is never created again. */
function unexplained(): OrderHappening {
  const operatorNote = "the registry holds the name for us, but no order explains it";
  return { event: "unexplained", operatorNote, countsAsFailure: true };
}

/** Whether the name is in a portfolio already: an order that lives has not brought it there. */
export async function isInPortfolio(context: Pick<Context, "database">, order: Order): Promise<boolean> {
  const [other] = await context.database.query(inPortfolio, [order.domain_name]);
  return other?.is_held ?? false;
}
