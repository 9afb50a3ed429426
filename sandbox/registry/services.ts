import { contactUri, domainUri, extensionNames, hostUri, lowBalanceUri } from "./namespaces.ts";
import type { Settings } from "./settings.ts";

/** The object services of the greeting: a thin registry has no contacts, and name servers may be attributes. */
export function objectUrisOf({ dataModel, hostModel, lowBalanceUnits }: Settings): string[] {
  return [
    domainUri,
    ...(dataModel === "thick" ? [contactUri] : []),
    ...(hostModel === "objects" ? [hostUri] : []),
    ...(lowBalanceUnits > 0 ? [lowBalanceUri] : []),
  ];
}

/** The extensions of the greeting's `<svcExtension>`. */
export function extensionUrisOf({ extensions }: Settings): string[] {
  return Object.entries(extensionNames).flatMap(([uri, name]) => (extensions.includes(name) ? [uri] : []));
}
