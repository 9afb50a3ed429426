import { requireDomainName } from "../domain-name.ts";
import { hostUri } from "../namespaces.ts";
import type { CommandHandler } from "../registry.ts";
import { Refusal } from "../result-codes.ts";
import { childToken, optionalTag, tag } from "../xml.ts";
import { isHostLinked } from "./host-data.ts";

/** RFC 5732 §3.1.2. Hosts are in the DNS, so every registrar sees them. */
export const infoHost: CommandHandler = ({ registry, element }) => {
  const host = registry.store.hosts.find(requireDomainName(childToken(element, "name")));
  if (!host) throw new Refusal(2303, "there is no such host");
  const own = host.statuses.length > 0 ? host.statuses : ["ok"];
  const statuses = isHostLinked(registry, host.name) ? [...own, "linked"] : own;
  return {
    code: 1000,
    resData: tag(
      "host:infData",
      { "xmlns:host": hostUri },
      tag("host:name", {}, host.name),
      tag("host:roid", {}, host.roid),
      statuses.map((status) => tag("host:status", { s: status })),
      host.addresses.map(({ version, address }) => tag("host:addr", { ip: version }, address)),
      tag("host:clID", {}, host.clID),
      tag("host:crID", {}, host.crID),
      tag("host:crDate", {}, host.crDate),
      optionalTag("host:upID", host.upID),
      optionalTag("host:upDate", host.upDate),
      optionalTag("host:trDate", host.trDate),
    ),
  };
};
