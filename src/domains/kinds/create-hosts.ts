/** Makes the host objects that a create refers to. None of them has addresses, so making one again is safe. */
import { nextHostStep } from "#domains/name-servers/host-objects.ts";
import { ownSuperordinates, type WantedHost } from "#domains/name-servers/wanted.ts";
import type { Plan } from "#domains/orders/kind.ts";
import type { Order } from "#domains/orders/order.ts";
import { recordPreparation } from "#domains/orders/preparation.ts";
import { meaningOf } from "#domains/orders/result-codes.ts";
import { describeAnswer, send } from "#domains/orders/send.ts";
import { askOnce } from "#domains/registry/ask.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import type { EppCommand } from "#registry/epp/command.ts";

type Instead = Extract<Plan, { is: "refused" | "unknown" }>;

/** Makes sure that the registry holds the hosts. @returns why the order has to wait or end; undefined once all are there */
export async function ensureHosts(
  sessions: RegistrySessions,
  order: Order,
  hosts: readonly WantedHost[],
): Promise<Instead | undefined> {
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
        return { is: "unknown", reason: step.reason };
      case "refused":
        return refused(step.reason, step.as === "failed");
      case "send": {
        const instead = await make(sessions, order, step.command);
        if (instead) return instead;
      }
    }
  }
}

const refused = (reason: string, needsOperator: boolean): Instead => {
  return { is: "refused", as: "rejected", reason, ...(needsOperator && { operatorNote: reason }) };
};

/** @returns why the order has to wait or end; undefined when the host is there */
async function make(
  sessions: RegistrySessions,
  order: Order,
  command: EppCommand<unknown>,
): Promise<Instead | undefined> {
  const sent = await send(sessions, order, command);
  switch (sent.is) {
    case "answered": {
      const { response } = sent;
      await recordPreparation(sessions.context, sent);
      const meaning = meaningOf(response.code, "create", sessions.profile);
      const reason = `host: ${describeAnswer(response)}`;
      if (meaning === "answered" || meaning === "disputed") return undefined;
      if (meaning === "rejected" || meaning === "failed") return refused(reason, meaning === "failed");
      return { is: "unknown", reason };
    }
    case "invalid":
      return refused(`the host could not be sent: ${sent.reason}`, true);
    default:
      // Whether it was executed does not matter: the next lookup shows it.
      return { is: "unknown", reason: sent.reason };
  }
}
