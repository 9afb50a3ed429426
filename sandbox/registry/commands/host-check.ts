import { parseDomainName } from "../domain-name.ts";
import { hostUri } from "../namespaces.ts";
import type { CommandHandler } from "../registry.ts";
import { childrenOf, optionalTag, tag, tokenOf } from "../xml.ts";

/** RFC 5732 §3.1.1. */
export const checkHosts: CommandHandler = ({ registry, element }) => ({
  code: 1000,
  resData: tag(
    "host:chkData",
    { "xmlns:host": hostUri },
    childrenOf(element, "name")
      .map(tokenOf)
      .map((asked) => {
        const name = parseDomainName(asked);
        const isUsed = name !== undefined && registry.store.hosts.find(name) !== undefined;
        const reason = isUsed ? "In use" : name === undefined ? "Invalid host name" : undefined;
        const avail = reason === undefined ? "1" : "0";
        return tag("host:cd", {}, tag("host:name", { avail }, asked), optionalTag("host:reason", reason));
      }),
  ),
});
