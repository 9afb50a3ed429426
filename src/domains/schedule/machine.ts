/** What a renewal does in each of its states; states.ts says what follows. */
import { attentionLookMs, type Machine } from "#domains/orders/change.ts";
import { scheduledOrder } from "#domains/orders/scheduled-order.ts";
import { isRenewalHeld } from "#domains/orders/turns.ts";
import { later } from "#domains/registry/ask.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { waitForEnd } from "#domains/schedule/lapse.ts";
import { type Renewal, type RenewalOutcome, renewalTable } from "#domains/schedule/renewals.ts";
import { type RenewalEvent, renewalState } from "#domains/schedule/states.ts";

export const renewalMachine: Machine<Renewal, RenewalOutcome> = {
  ...renewalTable,
  isInTurns: true,
  step,
  delayMs: (_renewal, _outcome, to) => (to === "Attention" ? attentionLookMs : undefined),
};

/** How often a renewal looks whether an order about its name has ended. */
const turnLookMs = 60_000;
/** The same for its own order, should it miss the end. */
const orderLookMs = 60 * 60_000;

async function step(sessions: RegistrySessions, renewal: Renewal): Promise<RenewalOutcome | undefined> {
  const { will_renew: isWanted } = renewal;
  const state = renewalState(renewal);
  if (renewal.is_order_live) return followOrder(sessions, renewal);
  // An order by hand comes first: a term is paid for once, and a name is deleted once.
  if (await isRenewalHeld(sessions, renewal)) return { nextStepAt: later(sessions, turnLookMs) };
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
  return { nextStepAt: later(sessions, orderLookMs) };
}

function placeRenew(sessions: RegistrySessions, renewal: Renewal, event: RenewalEvent): RenewalOutcome {
  const { period_years: years, term_ends_at: termEndsAt } = renewal;
  const input = { years, expiration_date: termEndsAt.toISOString() };
  const nextStepAt = later(sessions, orderLookMs);
  return { event, places: scheduledOrder(sessions, renewal, "renew", input), nextStepAt };
}

/** An operator who settles a renew as not executed wants another one. */
const hasFailed = ({ order_code, order_settled_as }: Renewal) => order_code !== null && order_settled_as !== "failed";

function orderFailed({ order_code, order_status, order_reason }: Renewal): RenewalOutcome {
  return { event: "needs-operator", reason: `its order ${order_code} is ${order_status}: ${order_reason}` };
}
