/**
 * Switches a name's renewal on or off. That is possible until a command is sent to the registry. Switching and sending both lock
 * the name's row, so of two at the same time one sees the other.
 */
import Type from "typebox";
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { cancelScheduledOrder, isSent } from "#domains/orders/follow-up.ts";
import { rescheduleRenewal } from "#domains/schedule/renewals.ts";
import { renewalStatuses } from "#domains/schedule/states.ts";
import { ApiError } from "#errors.ts";
import { parseBody } from "#use-case/body.ts";
import { parsePathName } from "#use-case/path-name.ts";
import type { UseCase } from "#use-case/use-case.ts";

const lockName = statement(
  "domain-lock-will-renew",
  `SELECT will_renew, renewal_id FROM domains
   WHERE domain_name = $name AND ($reseller_id::int8 IS NULL OR reseller_id = $reseller_id) FOR UPDATE`,
  { will_renew: "bool", renewal_id: "int8?" },
);

const renewalUnderWay = statement(
  "renewal-under-way",
  `SELECT status, ${isSent} AS is_sent FROM renewals AS renewal WHERE id = $id`,
  { status: renewalStatuses, is_sent: "bool" },
);

const updateWillRenew = statement(
  "domain-set-will-renew",
  "UPDATE domains SET will_renew = $will_renew WHERE domain_name = $name",
  {},
);

const insertHistory = statement(
  "domain-history-insert",
  `INSERT INTO domain_history (domain_name, reseller_id, at, event, note)
   SELECT domain_name, reseller_id, $at, $event, $note FROM domains WHERE domain_name = $name`,
  {},
);

/** `under-way`: a command for the current setting was sent to the registry, or may have been. */
export type SwitchResult = "switched" | "same" | "unknown" | "under-way";

/** @param resellerId the name must be in this reseller's portfolio; without it, as for an operator, in any */
export async function switchRenewal(
  context: Pick<Context, "clock">,
  tx: Transaction,
  { name, resellerId, willRenew, note }: { name: string; resellerId?: number; willRenew: boolean; note?: string },
): Promise<SwitchResult> {
  const [found] = await tx.query(lockName, { name, reseller_id: resellerId ?? null });
  if (!found) return "unknown";
  if (found.will_renew === willRenew) return "same";
  const [renewal] = found.renewal_id === null ? [] : await tx.query(renewalUnderWay, { id: found.renewal_id });
  if (renewal?.is_sent) return "under-way";
  const now = context.clock.now();
  await tx.query(updateWillRenew, { name, will_renew: willRenew });
  const event = willRenew ? "will-renew-on" : "will-renew-off";
  await tx.query(insertHistory, { name, at: now, event, note: note ?? null });
  // A renewal that is due already changes its course now.
  if (renewal && renewal.status !== "Scheduled") {
    const reason = `the renewal of the name was switched ${willRenew ? "on" : "off"}`;
    await cancelScheduledOrder(tx, found.renewal_id!, { reason, now });
    await rescheduleRenewal(tx, found.renewal_id!, now);
  }
  return "switched";
}

const requestBody = Type.Object({ will_renew: Type.Boolean({ examples: [false] }) });

/** A renewal in progress is decided within seconds, unless the registry takes longer. */
const underWayRetrySeconds = 60;

/** PUT /domains/<domain_name>/renew: switches the renewal on or off; a repeat answers 204 too. */
export const setWillRenew: UseCase = {
  errors: ["bad_request", "domain_not_valid", "domain_not_found", "domain_renewal_underway"],
  scope: "domains:renew",
  docs: {
    operation: "setWillRenew",
    summary: "Sets whether a name renews at the end of its term.",
    body: requestBody,
    answers: { 204: { description: "It is set; a repeat gets the same answer." } },
  },

  async handle(context, request) {
    const name = parsePathName(request.params.domain_name ?? "");
    const { will_renew: willRenew } = parseBody(requestBody, request.rawBody);
    const { resellerId, keyId } = request.caller;
    const answer = { status: 204 };
    await context.database.transaction(async (tx) => {
      const change = { name, resellerId, willRenew, note: `by key ${keyId}` };
      const result = await switchRenewal(context, tx, change);
      if (result === "unknown") throw new ApiError("domain_not_found");
      if (result === "under-way") {
        throw new ApiError("domain_renewal_underway", { headers: { "retry-after": String(underWayRetrySeconds) } });
      }
      await request.commit(tx, answer);
    });
    return answer;
  },
};
