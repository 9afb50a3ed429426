/** What a profile says about name servers, and what is wrong with it. */
import Type from "typebox";
import { hostNamespace } from "#registry/epp/namespaces.ts";

export const nameServersAtCreateDefault = { min: 0, max: 13 };

/**
 * A-labels, two at least: directly below a top-level domain, any stranger could register the name of a host. Room is left for a
 * label.
 */
export const sacrificialSuffix = Type.String({
  pattern: "^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$",
  maxLength: 200,
});

interface NameServersOfProfile {
  suffixes: readonly string[];
  hostModel?: string;
  withoutServices?: readonly string[];
  nameserversAtCreate?: { min: number; max: number };
  defaultNameServers?: readonly string[];
  sacrificialSuffix?: string;
}

/** Describes the first mistake that a schema cannot detect. */
export function nameServersFault(entry: NameServersOfProfile): string | undefined {
  const { nameserversAtCreate, defaultNameServers: names = [] } = entry;
  const { min, max } = nameserversAtCreate ?? nameServersAtCreateDefault;
  if (min > max) return "nameserversAtCreate.min is more than nameserversAtCreate.max";
  if (names.length > 0 && (names.length < min || names.length > max)) {
    return "defaultNameServers has fewer or more names than nameserversAtCreate allows";
  }
  if (new Set(names).size < names.length) return "defaultNameServers names a host twice";
  return sacrificialFault(entry);
}

function sacrificialFault(entry: NameServersOfProfile): string | undefined {
  const { sacrificialSuffix: below, suffixes, hostModel = "objects", withoutServices = [] } = entry;
  if (below === undefined) return undefined;
  if (hostModel !== "objects" || withoutServices.includes(hostNamespace)) {
    return "sacrificialSuffix needs host objects, and the commands for them";
  }
  const own = suffixes.find((suffix) => below === suffix || below.endsWith(`.${suffix}`));
  // There a host needs addresses, and ends with the name above it.
  return own === undefined ? undefined : `sacrificialSuffix is below ${own}, which is a suffix of the registry itself`;
}
