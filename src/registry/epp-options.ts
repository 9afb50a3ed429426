/** What the EPP client has to know of a registry, as its profile says it. */
import { Secret } from "#lib/secret.ts";
import {
  contactNamespace,
  domainNamespace,
  feeNamespace,
  hostNamespace,
  loginSecNamespace,
  rgpNamespace,
  secDnsNamespace,
} from "#registry/epp/namespaces.ts";
import type { ServiceRequirements } from "#registry/epp/services.ts";
import type { RegistryProfile } from "#registry/registries.ts";

/** The part of `EppPoolOptions` that the profile decides; what is left is the caller's: clock, randomness, log. */
export function eppOptionsOf(profile: RegistryProfile) {
  const { id, host, port, ca, cert, key, servername, registrarId, password } = profile;
  return {
    registryId: id,
    host,
    port,
    tls: { ca, cert, key: key === undefined ? undefined : new Secret(key), servername },
    registrarId,
    password,
    services: servicesOf(profile),
    sessionsMax: profile.sessionsMax,
    sessionsMin: profile.sessionsMin,
    commandsPerSecond: profile.commandsPerSecond,
    periodYears: profile.periodYears,
    premium: profile.premium,
    timeouts: profile.timeouts,
    circuit: profile.circuit,
  };
}

const extensions = [loginSecNamespace, secDnsNamespace, rgpNamespace, feeNamespace];
/** What a profile may leave out. The other objects are what we are there for. */
export const dispensableServices = [hostNamespace, ...extensions];

/** A thin registry has no contacts, and one with host attributes no hosts, even where it offers the objects. */
function servicesOf({ dataModel, hostModel, withoutServices }: RegistryProfile): ServiceRequirements {
  const isWanted = (uri: string) => !withoutServices.includes(uri);
  return {
    requiredObjectURIs: [domainNamespace, ...(dataModel === "thick" ? [contactNamespace] : [])],
    optionalObjectURIs: (hostModel === "objects" ? [hostNamespace] : []).filter(isWanted),
    extensionURIs: extensions.filter(isWanted),
  };
}
