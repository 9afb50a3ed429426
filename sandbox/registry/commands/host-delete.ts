import type { CommandHandler } from "../registry.ts";
import { Refusal } from "../result-codes.ts";
import { isHostLinked, requireOwnHost } from "./host-data.ts";

/** RFC 5732 §3.2.2: 2305 while a domain delegates to the host. */
export const deleteHost: CommandHandler = ({ registry, registrar, element }) => {
  const host = requireOwnHost(registry, registrar, element);
  if (host.statuses.includes("clientDeleteProhibited")) throw new Refusal(2304, "clientDeleteProhibited");
  if (isHostLinked(registry, host.name)) throw new Refusal(2305, "a domain delegates to the host");
  registry.store.hosts.delete(host.name);
  return { code: 1000 };
};
