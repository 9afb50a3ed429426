/**
 * The kind `restore`: a deleted name comes back to its last owner. RFC 3915 §3.1: a request takes it out of its redemption period,
 * then a report says why. Each is an attempt of its own. A registry that wants no report shows that the name is restored.
 */
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { atAgreedPrice } from "#domains/kinds/agreed-price.ts";
import { reportOf } from "#domains/kinds/restore-report.ts";
import { findUnderWay, renewalUnderWay } from "#domains/kinds/underway.ts";
import { type OrderKind, type Plan, whileHeld } from "#domains/orders/kind.ts";
import { type Order, ofCommand } from "#domains/orders/order.ts";
import { type NewOrder, placeAnswers, placeOrder } from "#domains/orders/place.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { ApiError } from "#errors.ts";
import type { Money } from "#registry/epp/commands/domain/fee.ts";
import type { DomainInfo } from "#registry/epp/commands/domain/info.ts";
import { domainRestoreReport, domainRestoreRequest } from "#registry/epp/commands/domain/restore.ts";
import type { UseCase } from "#use-case/use-case.ts";

/** As JSON in the order's row. */
interface Ordered {
  deleted_at: string;
}

export const restoreOrderKind: OrderKind = {
  name: "restore",
  isUrgent: true,
  isPaid: true,
  pendingStatus: "pendingUpdate",
  plan: whileHeld(planRestore),
};

function planRestore(sessions: RegistrySessions, order: Order, info: DomainInfo): Plan {
  const { domain_name: name, attempts } = order;
  const { statuses, rgpStatuses, crDate, exDate } = info;
  if (rgpStatuses.includes("pendingRestore")) {
    const [request] = ofCommand(attempts, "domain:restore-request");
    const restoredAt = request?.committed_at ?? sessions.context.clock.now();
    const deletedAt = new Date((order.input as Ordered).deleted_at);
    return { is: "send", command: domainRestoreReport(name, reportOf(info, deletedAt, restoredAt)) };
  }
  if (rgpStatuses.includes("redemptionPeriod")) {
    const request = (fee?: Money) => domainRestoreRequest(name, fee);
    return { is: "send", command: atAgreedPrice(sessions, order, { command: "restore" }, request) };
  }
  if (statuses.includes("pendingDelete")) {
    return { is: "refused", as: "failed", reason: "the registry does not restore the name any more" };
  }
  if (!crDate || !exDate) return { is: "unknown", reason: "info brought no dates" };
  return { is: "done", end: { returned: { registeredAt: crDate, expiresAt: exDate } } };
}

// The newest departure says who owned the name last.
const lastDeparture = statement(
  "departure-lock",
  `SELECT domain_name, registry_id, reseller_id, ended_at, restorable_until FROM domains_ended AS departure
   WHERE domain_name = $name AND NOT EXISTS (
     SELECT FROM domains_ended AS later WHERE later.domain_name = $name AND later.id > departure.id)
   FOR UPDATE`,
  {
    domain_name: "text",
    registry_id: "text",
    reseller_id: "int8",
    ended_at: "timestamptz",
    restorable_until: "timestamptz?",
  },
);

type Departed = NonNullable<(typeof lastDeparture)["row"]>;

const holderOf = statement("domain-holder", "SELECT reseller_id FROM domains WHERE domain_name = $name", {
  reseller_id: "int8",
});

const noRestores =
  "The registry of this name restores no deleted names by an order, so this name cannot be restored here.";

/** @throws ApiError when the caller was not the last owner, it is too late, or the registry restores nothing */
async function lockDeparture(tx: Transaction, name: string, resellerId: number, context: Context): Promise<Departed> {
  const [[departure], [holder]] = await Promise.all([tx.query(lastDeparture, { name }), tx.query(holderOf, { name })]);
  if ((holder ?? departure)?.reseller_id !== resellerId) throw new ApiError("domain_not_found");
  if (holder)
    throw new ApiError("domain_not_restorable", { text: "This name is in your portfolio: it was not deleted." });
  const { restorable_until: until } = departure!;
  if (until === null || until <= context.clock.now()) {
    const profile = context.registries.find(({ id }) => id === departure!.registry_id);
    throw new ApiError("domain_not_restorable", profile?.graceDays.redemption === 0 ? { text: noRestores } : {});
  }
  return departure!;
}

const renewalOpen =
  "A renewal of this name was ordered before it was deleted, and is not decided yet. Nothing was ordered; order the restore again after the number of seconds in retry-after.";

/** POST /domains/<domain_name>/restores: 202 and an order. */
export const restoreDomain: UseCase = {
  errors: [
    "domain_not_found",
    "domain_not_restorable",
    "domain_not_valid",
    "domain_renewal_underway",
    "order_limit_reached",
  ],
  scope: "domains:register",
  docs: {
    operation: "restoreDomain",
    summary: "Orders that a deleted name comes back.",
    description: "Only its last owner can restore it, until its `restorable_until`. The request has no body.",
    isPaidOrder: true,
    answers: placeAnswers,
  },

  handle(context, request) {
    const input: Ordered = { deleted_at: "" };
    const wanted: NewOrder<Departed> = {
      kind: restoreOrderKind,
      prefix: "CHG",
      input,
      check: (_tx, { ended_at: deletedAt }) => {
        input.deleted_at = deletedAt.toISOString();
      },
      async findSame(tx, { domain_name: name }) {
        const underWay = await findUnderWay(tx, name);
        const restore = underWay.find(({ kind }) => kind === "restore");
        if (!restore && underWay.length > 0) throw renewalUnderWay(renewalOpen);
        return restore?.code;
      },
    };
    return placeOrder(context, request, wanted, (tx, name) =>
      lockDeparture(tx, name, request.caller.resellerId, context),
    );
  },
};
