/** What a renewal does in each of its states; states.ts says what follows. It sends nothing itself: it places orders, and follows them. */
import { OrderConflict } from "#domains/orders/order.ts";
import { isRenewalHeld, onName } from "#domains/orders/turns.ts";
import { later } from "#domains/registry/ask.ts";
import { holdMaintenance } from "#domains/registry/pause.ts";
import { attentionRetryMs, LeaseLost, type RegistrySessions } from "#domains/registry/sessions.ts";
import { waitForEnd } from "#domains/schedule/lapse.ts";
import {
  findRenewal,
  type Renewal,
  type RenewalOutcome,
  scheduledOrder,
  writeRenewal,
} from "#domains/schedule/renewals.ts";
import { type RenewalEvent, renewalState } from "#domains/schedule/states.ts";
import { backoffMs } from "#lib/backoff.ts";
import { progressRows } from "#progress/rows.ts";

/** How often a renewal asks whether an order about its name has ended. */
const turnMs = 60_000;
/** The same for its own order, should it miss the end. */
const orderMs = 60 * 60_000;

/** The renewals of a registry. One whose name has left the portfolio or is in its next term has nothing to do. */
export const dueRenewals = progressRows("renewals", {
  table: "renewals",
  id: { column: "id", type: "int8" },
  owner: "registry_id",
  only: "ended_at IS NULL AND EXISTS (SELECT FROM domains WHERE domains.renewal_id = renewals.id)",
  // One that is scheduled, or waits for the end of its term or of announced maintenance, may wait for any time.
  longestWait: `CASE WHEN status = 'Scheduled' OR phase IS NOT DISTINCT FROM 'wait' OR EXISTS (
      SELECT FROM registries WHERE id = registry_id AND renewals.next_step_at <= maintenance_until)
    THEN NULL ELSE interval '1 day' END`,
});

/**
 * Advances a renewal as far as possible now.
 * @throws LeaseLost when this process no longer owns the registry
 */
export async function advanceRenewal(sessions: RegistrySessions, id: number): Promise<void> {
  const { context } = sessions;
  for (;;) {
    const renewal = await findRenewal(context, id);
    if (!renewal || renewal.next_step_at > context.clock.now()) return;
    if (!context.lease.isHeld()) throw new LeaseLost(context.lease);
    try {
      // A step that waits for an order must not write so after the order has ended: nothing would wake it.
      await onName(sessions, renewal.domain_name, () => stepOnce(sessions, renewal));
    } catch (error) {
      // The renewal, or its name, has changed since it was read: read it again.
      if (!(error instanceof OrderConflict)) throw error;
    }
  }
}

async function stepOnce(sessions: RegistrySessions, renewal: Renewal): Promise<void> {
  const { context } = sessions;
  const { maintenance_until: until, registry_id } = renewal;
  if (until !== null) {
    await writeRenewal(context, renewal, { nextStepAt: until, holds: (tx) => holdMaintenance(tx, registry_id, until) });
    return;
  }
  const outcome = await step(sessions, renewal);
  if (outcome) await writeRenewal(context, renewal, withDelay(sessions, renewal, outcome));
}

function withDelay(sessions: RegistrySessions, renewal: Renewal, outcome: RenewalOutcome): RenewalOutcome {
  const { event, nextStepAt, countsAsFailure } = outcome;
  if (event === undefined || nextStepAt) return outcome;
  if (event === "needs-operator") return { ...outcome, nextStepAt: later(sessions, attentionRetryMs) };
  if (!countsAsFailure) return outcome;
  const { context, profile } = sessions;
  const limits = { firstMs: profile.backoffFirstMs, maxMs: profile.backoffMaxMs };
  return { ...outcome, nextStepAt: later(sessions, backoffMs(renewal.backoff_count + 1, limits, context.random)) };
}

/** @returns nothing when the name has left, and the renewal with it */
async function step(sessions: RegistrySessions, renewal: Renewal): Promise<RenewalOutcome | undefined> {
  const { will_renew: isWanted } = renewal;
  const state = renewalState({ ...renewal, verify_cause: null });
  if (renewal.is_order_live) return followOrder(sessions, renewal);
  // An order that a customer has placed comes first: a term is paid for once, and a name is deleted once.
  if (await isRenewalHeld(sessions, renewal)) return { nextStepAt: later(sessions, turnMs) };
  switch (state) {
    case "Scheduled":
      return isWanted ? placeRenew(sessions, renewal, "due") : { event: "not-wanted" };
    case "Lapsing (wait)":
      return isWanted ? placeRenew(sessions, renewal, "wanted") : waitForEnd(sessions, renewal);
    case "Processing (renew)":
      if (isWanted && hasFailed(renewal)) return orderFailed(renewal);
      break;
    case "Lapsing (delete)":
      if (!isWanted && hasFailed(renewal)) return orderFailed(renewal);
  }
  return isWanted ? placeRenew(sessions, renewal, "wanted") : { event: "not-wanted" };
}

/** What the renewal shows while its order is carried out. */
function followOrder(sessions: RegistrySessions, renewal: Renewal): RenewalOutcome {
  const { order_kind: kind, order_note: note, status } = renewal;
  if (note !== null && status !== "Attention") return { event: "needs-operator", reason: note, isOrders: true };
  if (note === null && status === "Attention") return { event: kind === "delete" ? "deleting" : "renewing" };
  return { nextStepAt: later(sessions, orderMs) };
}

function placeRenew(sessions: RegistrySessions, renewal: Renewal, event: RenewalEvent): RenewalOutcome {
  const { period_years: years, term_ends_at: termEndsAt } = renewal;
  const input = { years, expiration_date: termEndsAt.toISOString() };
  const nextStepAt = later(sessions, orderMs);
  return { event, places: scheduledOrder(sessions, renewal, "renew", input), nextStepAt };
}

/** An operator who settles a renew as not executed wants another one. */
const hasFailed = ({ order_code, order_settled_as }: Renewal) => order_code !== null && order_settled_as !== "failed";

function orderFailed({ order_code, order_status, order_reason }: Renewal): RenewalOutcome {
  return { event: "needs-operator", reason: `its order ${order_code} is ${order_status}: ${order_reason}` };
}
