import { gracesInForce, startDeletion } from "../lifecycle.ts";
import { activeEffect, type CommandHandler } from "../registry.ts";
import { requireOwnDomain, requireStatusAllows } from "./domain-data.ts";

/**
 * RFC 5731 §3.2.2. A name in its add grace period is free at once: 1000. Later 1001: it goes to redemption, and a message
 * tells when it is gone (RFC 3915 §3).
 */
export const deleteDomain: CommandHandler = ({ registry, registrar, element, clTRID, svTRID }) => {
  const domain = requireOwnDomain(registry, registrar, element);
  if (domain.statuses.includes("pendingCreate") && activeEffect(registry, domain.name)?.deletable) {
    registry.store.domains.delete(domain.name);
    return { code: 1000 };
  }
  requireStatusAllows(domain, "Delete");
  if (gracesInForce(domain, registry.now()).some(({ status }) => status === "addPeriod")) {
    registry.store.domains.delete(domain.name);
    return { code: 1000 };
  }
  return { code: startDeletion(registry, domain, { clTRID, svTRID }) ? 1001 : 1000 };
};
