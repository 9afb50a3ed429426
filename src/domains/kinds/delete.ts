/**
 * The kind `delete`: a name that its reseller gives up, or that the schedule deletes because its registry has renewed it although
 * that is switched off. It leaves the portfolio in the statement that ends the order. Inside its add grace period a deleted name costs
 * nothing and is free at once; later it can be restored for some time (RFC 3915 §3).
 */

import Type from "typebox";
import { restorableUntil } from "#domains/compare/looks.ts";
import { planHosts } from "#domains/kinds/delete-hosts.ts";
import { dropPutBack, foundOf, planPutBack, planToStay, refusedDelete } from "#domains/kinds/put-back.ts";
import { whileInPortfolio } from "#domains/kinds/scheduled.ts";
import { findUnderWay } from "#domains/kinds/underway.ts";
import { type OrderKind, type Plan, refusedByStatus } from "#domains/orders/kind.ts";
import { type Order, type OrderEnd, ofCommand } from "#domains/orders/order.ts";
import { placeAnswers, placeChange, placeErrors } from "#domains/orders/place.ts";
import type { Ask, NameInfo } from "#domains/registry/ask.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { addDays } from "#domains/registry/terms.ts";
import { ApiError, invalidField } from "#errors.ts";
import { isServerFault, isSuccess } from "#registry/epp/codes.ts";
import { domainDelete } from "#registry/epp/commands/domain/delete.ts";
import type { DomainInfo } from "#registry/epp/commands/domain/info.ts";
import { domainName } from "#use-case/docs.ts";
import { parsePathName } from "#use-case/path-name.ts";
import type { UseCase } from "#use-case/use-case.ts";

const deleteName = "domain:delete";
/** RFC 5731 §2.3. With these statuses a delete is refused; nobody but their owner removes them. */
const forbidding = ["clientDeleteProhibited", "serverDeleteProhibited"];

/** As JSON in the row of an order that the schedule has placed. */
interface Ordered {
  /** Until then the registry refunds what it has renewed by itself. */
  refunded_until?: string;
}

/** What the last look before the command showed. */
interface Sent {
  /** It is in its add grace period. */
  is_free?: boolean;
}

export const deleteOrderKind: OrderKind = {
  name: "delete",
  isUrgent: true,
  pendingStatus: "pendingDelete",
  // A name that is gone after its delete was sent has left by it.
  plan: (sessions, order, name, ask) =>
    (isSent(order) ? planDelete : whileInPortfolio(planDelete))(sessions, order, name, ask),
  refused: refusedDelete,
};

/** Whether one of its deletes was not refused for certain: a name that is gone, or somebody else's, may have left by it. */
const isSent = ({ attempts }: Order) =>
  ofCommand(attempts, deleteName).some(
    ({ result_code: code }) => code === null || isSuccess(code) || isServerFault(code),
  );

async function planDelete(sessions: RegistrySessions, order: Order, name: NameInfo, ask: Ask): Promise<Plan> {
  if (name.is === "absent" || name.is === "held-by-other") dropPutBack(order);
  switch (name.is) {
    case "unknown":
      return name;
    case "absent":
      return { is: "done", end: endOf(sessions, order) };
    case "held-by-other":
      // Unless it has left otherwise: another registrar has asked for it meanwhile.
      if (isSent(order) && order.is_in_portfolio) return { is: "done", end: endOf(sessions, order) };
      return { is: "refused", as: "failed", reason: "another registrar holds the name now" };
    case "held-by-us":
      return planHeld(sessions, order, name.info, ask);
  }
}

async function planHeld(sessions: RegistrySessions, order: Order, info: DomainInfo, ask: Ask): Promise<Plan> {
  const { statuses, rgpStatuses } = info;
  if (rgpStatuses.includes("pendingRestore")) {
    dropPutBack(order);
    return { is: "refused", as: "failed", reason: "the registry is restoring the name" };
  }
  if (statuses.includes("pendingDelete") || rgpStatuses.includes("redemptionPeriod")) {
    return { is: "done", end: endOf(sessions, order, info) };
  }
  if (foundOf(order).stays) return planPutBack(sessions, order, info, ask);
  const stay = (reason: string) => planToStay(sessions, order, info, ask, { reason, isOperators: false });
  const refused = refusedByStatus(info, forbidding, "does not delete");
  if (refused) return stay(refused.reason);
  const { refunded_until: refundedUntil } = order.input as Ordered;
  if (refundedUntil !== undefined && sessions.context.clock.now() > new Date(refundedUntil)) {
    return stay("the registry renewed the name, and the grace period for a delete is over");
  }
  const first = sessions.profile.hostModel === "objects" ? await planHosts(sessions, order, info, ask) : undefined;
  if (first) return first;
  const sent: Sent = { is_free: isInAddGrace(sessions, info) };
  return { is: "send", command: domainDelete(order.domain_name), found: sent };
}

/** The registry's word counts; without one, our profile's days. */
function isInAddGrace({ context, profile }: RegistrySessions, { rgpStatuses, crDate }: DomainInfo): boolean {
  if (rgpStatuses.length > 0) return rgpStatuses.includes("addPeriod");
  return crDate !== undefined && context.clock.now() < addDays(crDate, profile.graceDays.add);
}

/** @param info of a name that the registry is deleting */
function endOf(sessions: RegistrySessions, order: Order, info?: DomainInfo): OrderEnd {
  const { is_free: isFree } = order.found as Sent;
  // The registry counts from its delete, which came after our command.
  const sent = ofCommand(order.attempts, deleteName).at(0);
  const deletedAt = sent?.committed_at ?? info?.upDate ?? sessions.context.clock.now();
  const until = info && restorableUntil(sessions, info, { deletedAt, isFree: isFree ?? false });
  if (until) {
    const next = `It can be restored until ${until.toISOString()}: POST /domains/${order.domain_name}/restores.`;
    return { departure: { reason: "deleted", restorableUntil: until }, next };
  }
  const next = "It was deleted in its add grace period, so its registration costs nothing.";
  return { departure: { reason: "deleted" }, ...(isFree && { next }) };
}

/** DELETE /domains/<domain_name>?confirm=<domain_name>: 202 and an order. */
export const deleteDomain: UseCase = {
  errors: placeErrors,
  scope: "domains:delete",
  docs: {
    operation: "deleteDomain",
    summary: "Orders the deletion of a name.",
    description: "The order's `next` says whether and until when the name can be restored.",
    query: Type.Object({ confirm: Type.String({ ...domainName, description: "The name again." }) }),
    answers: placeAnswers,
  },

  handle(context, request) {
    const name = parsePathName(request.params.domain_name ?? "");
    checkConfirmed(request.query, name);
    return placeChange(context, request, {
      kind: deleteOrderKind,
      prefix: "CHG",
      input: {},

      async findSame(tx) {
        const underWay = await findUnderWay(tx, name);
        return underWay.find(({ kind, is_scheduled }) => kind === "delete" && !is_scheduled)?.code;
      },
    });
  },
};

/** @throws ApiError `bad_request` */
function checkConfirmed(query: URLSearchParams, name: string): void {
  const [text, ...others] = query.getAll("confirm");
  const isName = () => {
    try {
      return parsePathName(text ?? "") === name;
    } catch (error) {
      if (error instanceof ApiError) return false;
      throw error;
    }
  };
  if (text !== undefined && others.length === 0 && isName()) return;
  throw invalidField("confirm", `Repeat the name, because a delete cannot be taken back: ?confirm=${name}`);
}
