/** Makes the EPP client's options from a registry's profile. */
import { Secret } from "#lib/secret.ts";
import { contactFieldNamespaces } from "#registry/contact-fields.ts";
import type { Dialect } from "#registry/epp/dialect.ts";
import {
  allocationTokenNamespace,
  changePollNamespace,
  contactNamespace,
  domainNamespace,
  euridPollNamespace,
  feeNamespace,
  hostNamespace,
  launchNamespace,
  loginSecNamespace,
  lowBalanceNamespace,
  nominetAbuseNamespace,
  nominetNotificationsNamespace,
  rgpNamespace,
  rgpPollNamespace,
  secDnsNamespace,
} from "#registry/epp/namespaces.ts";
import type { ServiceRequirements } from "#registry/epp/services.ts";
import { fixedExtensionsDialect, namespacesIn } from "#registry/fixed-extensions.ts";
import { flavourOf } from "#registry/flavours/flavours.ts";
import { registrarContactsDialect } from "#registry/registrar-contacts.ts";
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
    dialect: dialectOf(profile),
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

const extensions = [
  loginSecNamespace,
  secDnsNamespace,
  rgpNamespace,
  feeNamespace,
  changePollNamespace,
  allocationTokenNamespace,
  launchNamespace,
];
/** Without these in the login, a registry may leave out what its messages are about. */
const objectsOfMessages = [lowBalanceNamespace, rgpPollNamespace];
const extensionsOfMessages = [nominetNotificationsNamespace, nominetAbuseNamespace, euridPollNamespace];
/** The services that a profile may exclude. Without the other objects there is nothing to do. */
export const dispensableServices = [hostNamespace, ...extensions, ...objectsOfMessages, ...extensionsOfMessages];

/** We use no contacts at a thin registry and no hosts at one with host attributes, even if it offers these objects. */
function servicesOf(profile: RegistryProfile): ServiceRequirements {
  const { dataModel, hostModel, withoutServices, extensions: fixed, contactFields } = profile;
  const isUsed = (uri: string) => !withoutServices.includes(uri);
  const ofContacts = dataModel === "thick" ? contactFieldNamespaces(contactFields) : [];
  return {
    requiredObjectURIs: [domainNamespace, ...(dataModel === "thick" ? [contactNamespace] : [])],
    optionalObjectURIs: [...(hostModel === "objects" ? [hostNamespace] : []), ...objectsOfMessages].filter(isUsed),
    extensionURIs: [...new Set([...extensions, ...extensionsOfMessages, ...namespacesIn(fixed), ...ofContacts])].filter(
      isUsed,
    ),
    newestOf: flavourOf(profile)?.extensions,
  };
}

/** The family's elements come before fixed text, which ends each command. */
function dialectOf(profile: RegistryProfile): Dialect {
  const flavour = flavourOf(profile);
  const dialects = [
    registrarContactsDialect(profile.registrarContacts),
    ...(flavour ? [flavour] : []),
    fixedExtensionsDialect(profile.extensions),
  ];
  return {
    adapt: (command, extensionURIs) =>
      dialects.reduce((adapted, dialect) => dialect.adapt(adapted, extensionURIs), command),
  };
}
