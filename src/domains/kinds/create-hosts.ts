/** Makes the host objects that a create refers to. None of them has addresses, so making one again is safe. */

import { nextHostStep } from "#domains/name-servers/host-objects.ts";
import { ownSuperordinates, type WantedHost } from "#domains/name-servers/wanted.ts";
import { type Order, type OrderOutcome, orderTable } from "#domains/orders/orders.ts";
import { recordPreparation } from "#domains/orders/preparation.ts";
import { eventOfCreate } from "#domains/orders/result-codes.ts";
import { describeAnswer, send } from "#domains/orders/send.ts";
import { askOnce } from "#domains/registry/ask.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import type { EppCommand } from "#registry/epp/command.ts";

/** Makes sure that the registry holds the hosts. @returns why the order has to wait or end; undefined once all are there */
export async function ensureHosts(
  sessions: RegistrySessions,
  order: Order,
  hosts: readonly WantedHost[],
): Promise<OrderOutcome | undefined> {
  const { context, profile: registry } = sessions;
  if (hosts.length === 0 || registry.hostModel === "attributes") return undefined;
  const { domain_name: domainName, reseller_id: resellerId, attempts } = order;
  const own = await ownSuperordinates(context.database, { resellerId, domainName, registry }, hosts);
  const wanted = { domainName, registry, hosts, delegated: new Set<string>(), own, attempts };
  for (;;) {
    const step = await nextHostStep(askOnce(sessions, "transform"), wanted);
    switch (step.is) {
      case "ready":
        return undefined;
      case "unknown":
        return notMade(step.reason);
      case "refused":
        return refused(step.reason, step.as === "failed");
      case "send": {
        const outcome = await make(sessions, order, step.command);
        if (outcome) return outcome;
      }
    }
  }
}

const notMade = (reason: string): OrderOutcome => ({ event: "not-executed", countsAsFailure: true, reason });

const refused = (reason: string, needsOperator: boolean): OrderOutcome => {
  return { event: "rejected", reason, ...(needsOperator && { operatorNote: reason }) };
};

/** @returns why the order has to wait or end; undefined when the host is there */
async function make(
  sessions: RegistrySessions,
  order: Order,
  command: EppCommand<unknown>,
): Promise<OrderOutcome | undefined> {
  const sent = await send(sessions, command, { table: orderTable, row: order });
  switch (sent.is) {
    case "answered": {
      const { response } = sent;
      await recordPreparation(sessions.context, sent);
      const event = eventOfCreate(response.code, sessions.profile.resultCodes);
      const reason = `host: ${describeAnswer(response)}`;
      if (event === "created" || event === "exists") return undefined;
      if (event === "rejected" || event === "operator-needed") return refused(reason, event === "operator-needed");
      return notMade(reason);
    }
    case "unreachable":
      return { event: "unreachable", countsAsFailure: true };
    case "invalid":
      return refused(`the host could not be sent: ${sent.reason}`, true);
    default:
      // Whether it was executed does not matter: the next look shows it.
      return notMade(sent.reason);
  }
}
