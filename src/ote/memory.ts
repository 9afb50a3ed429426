/** The names of a test's objects, and the values that one step stores for another. */
import type { Clock } from "#lib/clock.ts";
import type { Random } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";
import type { ContactFieldValue } from "#registry/contact-fields.ts";
import type { PostalInfo } from "#registry/epp/commands/contact/postal-info.ts";
import type { Money } from "#registry/epp/commands/domain/fee.ts";
import type { NameServer } from "#registry/epp/commands/domain/name-servers.ts";
import type { SecDns } from "#registry/epp/commands/domain/sec-dns.ts";
import { extensionsAtBest } from "#registry/epp/services.ts";
import { eppOptionsOf } from "#registry/epp-options.ts";
import type { RegistryProfile } from "#registry/registries.ts";

/** The operator's settings for the objects of a test. */
export interface MemoryOptions {
  readonly profile: RegistryProfile;
  /** The prefix of all names. */
  readonly label: string;
  readonly suffix: string;
  /** For name servers below the test's name. */
  readonly addresses: readonly string[];
  /** Two names outside the registry for name servers; derived from the label by default. */
  readonly outerHosts?: readonly string[] | undefined;
  /** DNSSEC as keys instead of DS records: a registry accepts one or the other. */
  readonly takesKeys: boolean;
  /** Values of the fields that only this registry knows of contacts. */
  readonly contactFields?: readonly ContactFieldValue[] | undefined;
  /** A name of ours in redemption, to restore. */
  readonly restoreName?: string | undefined;
  /** A name that another registrar holds. */
  readonly otherName?: string | undefined;
  /** The same registry with another account, which can query our names as a stranger. */
  readonly secondProfile?: RegistryProfile | undefined;
  readonly clock: Clock;
  readonly random: Random;
}

export interface Memory {
  readonly profile: RegistryProfile;
  readonly clock: Clock;
  readonly names: Names;
  readonly addresses: readonly string[];
  /** The ids of contacts: those that we ask for until the registry answers with the ones it chose. */
  readonly contactIds: Record<ContactSlot, string>;
  readonly contactFields: readonly ContactFieldValue[];
  readonly secDns: SecDns;
  /** Another registrar's name, and the account that queries it. */
  readonly other: { readonly name: string; readonly by: Who } | undefined;
  /** The name to restore: the given one, or ours if it is in redemption after its deletion. */
  restoreName: string | undefined;
  deletedAt: Date;
  /** For the first name; changes during the test. */
  authInfo: Secret;
  readonly newAuthInfo: Secret;
  exDate: Date;
  /** Hosts outside the registry that it already knows. */
  knownHosts: readonly string[];
  /** Namespaces of the session's extensions; before there is a session, all that we can use. */
  extensionURIs: readonly string[];
  /** The price of a create, if the registry reports prices. */
  createFee: Money | undefined;
  /** The message that the last poll returned. */
  messageId: string | undefined;
}

export type Who = "main" | "second";

export type ContactType = RegistryProfile["contactTypes"][number];
export type Role = "registrant" | ContactType;

/**
 * `first` and `second` serve every role, or only the registrant's where a contact has one role. There each contact type has a
 * separate first contact, and the type that the test changes has a second one, `secondOther`.
 */
export type ContactSlot = "first" | ContactType | "second" | "secondOther";

interface Names {
  /** Registered without name servers, and changed in every way. */
  readonly domain: string;
  /** Registered with everything at once. */
  readonly delegated: string;
  /** Never registered. */
  readonly absent: string;
  readonly invalid: string;
  /** Below `domain`. */
  readonly hosts: readonly [string, string];
  /** Outside the registry. */
  readonly outerHosts: readonly [string, string];
}

/** RFC 5733 §2.1: 3 to 16 characters; the last two distinguish the contacts of a test. */
const contactLabelCharsMax = 14;
const dsDigestBytes = 32;
const publicKeyBytes = 64;

/** Names the objects of a test, and draws its secrets. */
export function createMemory(options: MemoryOptions): Memory {
  const {
    profile,
    clock,
    random,
    label,
    suffix,
    addresses,
    otherName,
    secondProfile,
    restoreName,
    contactFields = [],
  } = options;
  const names = nameAll(options, `${label}.${suffix}`);
  const now = clock.now();
  const exDate = new Date(now);
  exDate.setUTCFullYear(now.getUTCFullYear() + profile.periodYears);
  return {
    profile,
    clock,
    names,
    addresses,
    restoreName,
    exDate,
    contactIds: askContactIds(label),
    contactFields,
    secDns: makeSecDns(options),
    other: secondProfile
      ? { name: names.domain, by: "second" }
      : otherName
        ? { name: otherName, by: "main" }
        : undefined,
    deletedAt: now,
    authInfo: makePassword(random),
    newAuthInfo: makePassword(random),
    extensionURIs: extensionsAtBest(eppOptionsOf(profile).services),
    knownHosts: [],
    createFee: undefined,
    messageId: undefined,
  };
}

function nameAll({ label, suffix, profile, outerHosts = [] }: MemoryOptions, domain: string): Names {
  // A host below one of the registry's suffixes would need a name there.
  const elsewhere = ["example.net", "example.org"].find(
    (name) => !profile.suffixes.some((sold) => name === sold || name.endsWith(`.${sold}`)),
  );
  return {
    domain,
    delegated: `${label}-2.${suffix}`,
    absent: `${label}-3.${suffix}`,
    invalid: `-${label}.${suffix}`,
    hosts: [`ns1.${domain}`, `ns2.${domain}`],
    outerHosts: [
      outerHosts[0] ?? `ns1.${label}.${elsewhere ?? "invalid"}`,
      outerHosts[1] ?? `ns2.${label}.${elsewhere ?? "invalid"}`,
    ],
  };
}

function askContactIds(label: string): Record<ContactSlot, string> {
  const contact = label.slice(-contactLabelCharsMax).replace(/^-/, "");
  return {
    first: `${contact}-1`,
    second: `${contact}-2`,
    secondOther: `${contact}-3`,
    admin: `${contact}-a`,
    tech: `${contact}-t`,
    billing: `${contact}-b`,
  };
}

/** The type whose contact the test changes, if names have any. */
export const changedTypeOf = ({ contactTypes }: RegistryProfile): ContactType =>
  contactTypes.includes("tech") ? "tech" : (contactTypes[0] ?? "admin");

/** The first contact, or the other one, in a role. */
export function contactSlotOf({ profile }: Memory, role: Role, which: "first" | "second"): ContactSlot {
  if (!profile.contactPerRole || role === "registrant") return which;
  return which === "first" ? role : "secondOther";
}

/** ECDSA P-256 with SHA-256 (RFC 6605), which every registry accepts. */
function makeSecDns({ takesKeys, random }: MemoryOptions): SecDns {
  const alg = 13;
  if (takesKeys) {
    const pubKey = random.bytes(publicKeyBytes).toString("base64");
    return { keyData: [{ flags: 257, protocol: 3, alg, pubKey }] };
  }
  const digest = random.bytes(dsDigestBytes).toString("hex").toUpperCase();
  return { dsData: [{ keyTag: 12345, alg, digestType: 2, digest }] };
}

/** 16 characters: registries require letters of both cases, digits and others. */
export function makePassword(random: Random): Secret {
  return new Secret(`${random.bytes(9).toString("base64url")}-Aa1`);
}

/** The test's contacts are fictitious. */
export const postalInfo: PostalInfo = {
  type: "int",
  name: "Certification Test",
  org: "Certification Test",
  street: ["1 Example Street"],
  city: "Berlin",
  sp: "Berlin",
  pc: "10115",
  cc: "DE",
};

/** The same hosts in the form for a domain command: with addresses only where they are attributes of the domain. */
export function serversOf({ names, profile, addresses }: Memory, hosts: readonly string[]) {
  const servers: NameServer[] = hosts.map((name) => ({
    name,
    addresses: name.endsWith(`.${names.domain}`) ? addresses : [],
  }));
  return { hostModel: profile.hostModel, hosts: servers };
}
