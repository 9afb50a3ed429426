import { gracesInForce } from "../graces.ts";
import { hostsBelow, removeName } from "../hosts-below.ts";
import { startDeletion } from "../lifecycle.ts";
import { activeEffect, type CommandHandler } from "../registry.ts";
import { Refusal } from "../result-codes.ts";
import { requireOwnDomain, requireStatusAllows } from "./domain-data.ts";

/**
 * RFC 5731 §3.2.2: 2305 while hosts below the name exist. In its add grace period the name is free at once: 1000. Later it
 * enters redemption: 1001 (1000 at a registry that shows this by a proprietary extension), and a message reports its removal
 * (RFC 3915 §3).
 */
export const deleteDomain: CommandHandler = ({ registry, registrar, element, clTRID, svTRID }) => {
  const domain = requireOwnDomain(registry, registrar, element);
  if (domain.statuses.includes("pendingCreate") && activeEffect(registry, domain.name)?.deletable) {
    removeName(registry, domain.name);
    return { code: 1000 };
  }
  requireStatusAllows(domain, "Delete");
  if (hostsBelow(registry.store, domain.name).length > 0) throw new Refusal(2305, "there are hosts below the name");
  if (gracesInForce(domain, registry.now()).some(({ status }) => status === "addPeriod")) {
    removeName(registry, domain.name);
    return { code: 1000 };
  }
  const isKept = startDeletion(registry, domain, { clTRID, svTRID });
  const showsItself = registry.settings.family === "eurid" || registry.settings.family === "dnsbe";
  return { code: isKept && !showsItself ? 1001 : 1000 };
};
