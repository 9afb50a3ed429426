import { requireDomainName } from "../domain-name.ts";
import { hostUri } from "../namespaces.ts";
import type { CommandHandler } from "../registry.ts";
import { Refusal } from "../result-codes.ts";
import { childToken, tag } from "../xml.ts";
import { nextRoid } from "./domain-data.ts";
import { addressesOf, requireFittingAddresses, requireSuperordinate } from "./host-data.ts";

/** RFC 5732 §3.2.1. */
export const createHost: CommandHandler = ({ registry, registrar, element }) => {
  const name = requireDomainName(childToken(element, "name"));
  const addresses = addressesOf(element, "addr");
  if (registry.store.hosts.find(name)) throw new Refusal(2302, "a host of this name exists");
  requireFittingAddresses(addresses, requireSuperordinate(registry, registrar, name));
  const crDate = registry.now().toISOString();
  const roid = nextRoid(registry, "H");
  registry.store.hosts.put({ name, roid, statuses: [], addresses, clID: registrar, crID: registrar, crDate });
  return {
    code: 1000,
    resData: tag("host:creData", { "xmlns:host": hostUri }, tag("host:name", {}, name), tag("host:crDate", {}, crDate)),
  };
};
