import { activeEffect, type CommandHandler } from "../registry.ts";
import { requireOwnDomain, requireStatusAllows } from "./domain-data.ts";

/** RFC 5731 §3.2.2. The name is free at once: this registry keeps no grace period. */
export const deleteDomain: CommandHandler = ({ registry, registrar, element }) => {
  const domain = requireOwnDomain(registry, registrar, element);
  if (domain.statuses.includes("pendingCreate") && activeEffect(registry, domain.name)?.deletable) {
    registry.store.domains.delete(domain.name);
    return { code: 1000 };
  }
  requireStatusAllows(domain, "Delete");
  registry.store.domains.delete(domain.name);
  return { code: 1000 };
};
