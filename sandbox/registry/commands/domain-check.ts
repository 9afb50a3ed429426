import { isServed, parseDomainName } from "../domain-name.ts";
import { effectOf } from "../labels.ts";
import { domainUri, launchUri } from "../namespaces.ts";
import type { CommandHandler, Registry } from "../registry.ts";
import { childrenOf, optionalTag, tag, tokenOf, type XmlElement } from "../xml.ts";
import { claimsData, findTokenFault, launchCheckOf } from "./allocation.ts";
import { findDomain } from "./domain-data.ts";
import { feeCheckData, findFee } from "./fees.ts";

/** RFC 5731 §3.1.1. A name that could never be registered is unavailable with a reason, not an error. */
export const checkDomains: CommandHandler = ({ registry, session, element, extensions }) => {
  const feeCheck = findFee(extensions);
  const names = childrenOf(element, "name").map(tokenOf);
  if (launchCheckOf(registry, extensions) === "claims") return { code: 1000, extension: [claimsData(registry, names)] };
  const showsClaims = registry.settings.checkShowsClaims && session.services.has(launchUri);
  return {
    code: 1000,
    resData: tag(
      "domain:chkData",
      { "xmlns:domain": domainUri },
      names.map((asked) => {
        const reason = findReason(registry, asked, extensions);
        const name = tag("domain:name", { avail: reason === undefined ? "1" : "0" }, asked);
        return tag("domain:cd", {}, name, optionalTag("domain:reason", reason));
      }),
    ),
    extension: [
      ...(feeCheck ? [feeCheckData(registry.settings, feeCheck, names)] : []),
      ...(showsClaims ? [claimsData(registry, names)] : []),
    ],
  };
};

/** Why the name can't be registered, in 32 characters at most (eppcom:reasonBaseType). */
function findReason(registry: Registry, text: string, extensions: readonly XmlElement[]): string | undefined {
  const name = parseDomainName(text);
  if (name === undefined) return "Invalid domain name";
  if (!isServed(name, registry.suffixes)) return "Suffix not served";
  if (findDomain(registry, name)) return "In use";
  const { checkReason, isPremium } = effectOf(name, registry.settings);
  // A client that does not ask for the fee will not offer it, and would be refused (RFC 8748 §4).
  return findTokenFault(registry, extensions, name) ?? (isPremium && findFee(extensions) ? undefined : checkReason);
}
