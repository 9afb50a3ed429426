/**
 * Whether a command was carried out. Nothing is believed before the settle time is over, and after a lost answer nothing on the
 * strength of one lookup.
 */
import { countedAttempts, ofEarlierOwners, unansweredAttempts } from "#domains/orders/attempts.ts";
import type { OrderKind, Plan } from "#domains/orders/kind.ts";
import { isRefused, lookAndPlan, lookupFailed, outcomeOf, purposesOf, refusalOf } from "#domains/orders/lookup.ts";
import type { Order, Outcome } from "#domains/orders/order.ts";
import { askInfo, later } from "#domains/registry/ask.ts";
import { lateFrameMs } from "#domains/registry/owner-lease.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";

/** If the registry has not shown for this long what it reported as done, an operator must ask it. */
const contradictionMs = 24 * 60 * 60_000;

const lookUp = async (sessions: RegistrySessions, order: Order, kind: OrderKind): Promise<Plan> => {
  const name = await askInfo(sessions, order.domain_name, purposesOf(order, kind).lookup);
  return lookAndPlan(sessions, order, kind, name);
};

const isPending = ({ shown }: Order, { pendingStatus }: OrderKind) =>
  pendingStatus !== undefined && shown?.statuses.includes(pendingStatus) === true;

/** The step of `Processing (verify: answered)`: the registry reported success, which `<info>` must confirm. */
export async function verifyAnswered(sessions: RegistrySessions, order: Order, kind: OrderKind): Promise<Outcome> {
  const plan = await lookUp(sessions, order, kind);
  const { shown } = order;
  // An order that waits for an operator does not hold up the others about the name.
  if (plan.is === "held") return { event: "next", shown };
  if (plan.is === "refused") return outcomeOf(sessions, kind, order, { ...plan, as: "failed" });
  if (plan.is !== "send" && plan.is !== "prepare") return outcomeOf(sessions, kind, order, plan);
  const sent = order.attempts.at(-1);
  if (plan.is === "prepare" || plan.isNext || plan.command.name !== sent?.command) return { event: "next" };
  const isLong = sent.committed_at < later(sessions, -contradictionMs);
  const operatorNote = "the registry reported the change as done, but does not show it";
  return { event: "not-seen", countsAsFailure: true, ...(isLong && { operatorNote }) };
}

/** The step of `Processing (verify: lost)`: the command may have been executed, or still be on its way. */
export async function verifyLost(sessions: RegistrySessions, order: Order, kind: OrderKind): Promise<Outcome> {
  const plan = await lookUp(sessions, order, kind);
  switch (plan.is) {
    case "done":
    case "deleted": {
      if (order.confirm_after !== null) return outcomeOf(sessions, kind, order, plan);
      // RFC 5734 §3: a server that loses the connection may still undo what it did. A second lookup decides.
      const confirmAfter = later(sessions, sessions.profile.settleMs);
      return { event: "seen-once", confirmAfter, nextStepAt: confirmAfter };
    }
    case "refused":
      return outcomeOf(sessions, kind, order, { ...plan, as: "failed" });
    case "held":
      return whenNotExecuted(sessions, order, kind, async () => ({ event: "not-seen", shown: order.shown }));
    case "send":
    case "prepare":
      if (isPending(order, kind)) return outcomeOf(sessions, kind, order, { is: "pending" });
      return whenNotExecuted(sessions, order, kind, async () => {
        if (plan.is === "prepare") await plan.giveUp();
        return (await kind.notExecuted?.(sessions, order)) ?? { event: "not-seen", countsAsFailure: true };
      });
    default:
      return outcomeOf(sessions, kind, order, plan);
  }
}

/** A command that is not executed may still be on its way, if an earlier owner has sent it. */
async function whenNotExecuted(
  sessions: RegistrySessions,
  order: Order,
  kind: OrderKind,
  outcome: () => Promise<Outcome>,
): Promise<Outcome> {
  const { context, profile } = sessions;
  const attempts = countedAttempts(order, kind);
  const lateMs = lateFrameMs(context.lease, profile.takeoverSettleMs);
  if (lateMs > 0 && ofEarlierOwners(unansweredAttempts(attempts), context).length > 0) {
    const reason = "the worker before this one may have sent a command that is still on its way";
    return { ...lookupFailed(order, reason), countsAsFailure: false, nextStepAt: later(sessions, lateMs) };
  }
  return { reason: whyNotExecuted(attempts.at(-1)), ...(await outcome()) };
}

/** Says what became of the last command, so that nobody reads the reason of a lookup that failed meanwhile. */
function whyNotExecuted(sent: Order["attempts"][number] | undefined): string | undefined {
  if (!sent) return undefined;
  const answer = sent.result_code === null ? "was not answered" : `was answered ${sent.result_code}`;
  return `${sent.command} ${answer}, and the registry shows that it was not executed`;
}

/** The step of `Pending`: whether the registry has carried out what it was asked to. */
export async function lookAtPending(sessions: RegistrySessions, order: Order, kind: OrderKind): Promise<Outcome> {
  const plan = await lookUp(sessions, order, kind);
  const { shown } = order;
  const nextStepAt = later(sessions, sessions.profile.reconcileIntervalMs);
  if (plan.is === "pending" || isPending(order, kind)) return { nextStepAt, shown };
  if (plan.is === "held") return { event: "not-seen", reason: plan.reason, shown };
  if (plan.is === "refused") return outcomeOf(sessions, kind, order, { ...plan, as: "failed" });
  if (plan.is !== "send" && plan.is !== "prepare") return outcomeOf(sessions, kind, order, plan);
  // The command is a delete, as the operator wants: the registry may allow it, or refuse it with 2304 (RFC 5731 §2.3).
  if (order.cancel_requested_at !== null) return { event: "not-seen", reason: "the operator wants it cancelled" };
  // A registry may be late to show that a change is pending.
  const settledBefore = later(sessions, -sessions.profile.settleMs);
  const isNew = order.attempts.some(({ answered_at: at }) => at !== null && at > settledBefore);
  if (isNew) return { nextStepAt: later(sessions, sessions.profile.settleMs), shown };
  const reason = "the registry did not approve the change";
  if (order.renewal_id !== null) return { event: "not-seen", countsAsFailure: true, reason, shown };
  const ended = refusalOf(kind, order, { event: "failed", reason, shown });
  return isRefused(ended) ? ended : { ...ended, event: "not-seen" };
}
