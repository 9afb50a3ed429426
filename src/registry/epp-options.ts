/** Makes the EPP client's options from a registry's profile. */
import { Secret } from "#lib/secret.ts";
import {
  changePollNamespace,
  contactNamespace,
  domainNamespace,
  feeNamespace,
  hostNamespace,
  loginSecNamespace,
  lowBalanceNamespace,
  rgpNamespace,
  rgpPollNamespace,
  secDnsNamespace,
} from "#registry/epp/namespaces.ts";
import type { ServiceRequirements } from "#registry/epp/services.ts";
import { fixedExtensionsDialect, namespacesIn } from "#registry/fixed-extensions.ts";
import type { RegistryProfile } from "#registry/registries.ts";

/** The part of `EppPoolOptions` that the profile determines. The caller adds clock, randomness and log. */
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
    dialect: fixedExtensionsDialect(profile.extensions),
    sessionsMax: profile.sessionsMax,
    sessionsMin: profile.sessionsMin,
    commandsPerSecond: profile.commandsPerSecond,
    periodYears: profile.periodYears,
    periodForm: profile.period,
    premium: profile.premium,
    prices: profile.prices,
    timeouts: profile.timeouts,
    circuit: profile.circuit,
  };
}

const extensions = [loginSecNamespace, secDnsNamespace, rgpNamespace, feeNamespace, changePollNamespace];
/** Without these in the login, a registry may leave out what its messages are about. */
const objectsOfMessages = [lowBalanceNamespace, rgpPollNamespace];
/** The services that a profile may exclude. Without the other objects there is nothing to do. */
export const dispensableServices = [hostNamespace, ...extensions, ...objectsOfMessages];

/** We use no contacts at a thin registry and no hosts at one with host attributes, even if it offers these objects. */
function servicesOf({
  dataModel,
  hostModel,
  withoutServices,
  extensions: fixed,
}: RegistryProfile): ServiceRequirements {
  const isUsed = (uri: string) => !withoutServices.includes(uri);
  return {
    requiredObjectURIs: [domainNamespace, ...(dataModel === "thick" ? [contactNamespace] : [])],
    optionalObjectURIs: [...(hostModel === "objects" ? [hostNamespace] : []), ...objectsOfMessages].filter(isUsed),
    extensionURIs: [...new Set([...extensions, ...namespacesIn(fixed)])].filter(isUsed),
  };
}
