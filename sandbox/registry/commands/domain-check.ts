import { isServed, parseDomainName } from "../domain-name.ts";
import { effectOf } from "../labels.ts";
import { domainUri } from "../namespaces.ts";
import type { CommandHandler, Registry } from "../registry.ts";
import { childrenOf, optionalTag, tag, tokenOf } from "../xml.ts";
import { findDomain } from "./domain-data.ts";

/** RFC 5731 §3.1.1. A name that could never be registered is unavailable with a reason, not an error. */
export const checkDomains: CommandHandler = ({ registry, element }) => ({
  code: 1000,
  resData: tag(
    "domain:chkData",
    { "xmlns:domain": domainUri },
    childrenOf(element, "name").map((asked) => {
      const reason = findReason(registry, tokenOf(asked));
      const name = tag("domain:name", { avail: reason === undefined ? "1" : "0" }, tokenOf(asked));
      return tag("domain:cd", {}, name, optionalTag("domain:reason", reason));
    }),
  ),
});

/** Why the name can't be registered, in at most 32 characters (eppcom:reasonBaseType). */
function findReason(registry: Registry, text: string): string | undefined {
  const name = parseDomainName(text);
  if (name === undefined) return "Invalid domain name";
  if (!isServed(name, registry.suffixes)) return "Suffix not served";
  return findDomain(registry, name) ? "In use" : effectOf(name, registry.settings).checkReason;
}
