/** What a walk calls its things, and what it remembers from one step for another. */
import type { Clock } from "#lib/clock.ts";
import type { Random } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";
import type { PostalInfo } from "#registry/epp/commands/contact/postal-info.ts";
import type { Money } from "#registry/epp/commands/domain/fee.ts";
import type { NameServer } from "#registry/epp/commands/domain/name-servers.ts";
import type { SecDns } from "#registry/epp/commands/domain/sec-dns.ts";
import { eppOptionsOf } from "#registry/epp-options.ts";
import type { RegistryProfile } from "#registry/registries.ts";

/** What an operator can say about a walk's things. */
export interface MemoryOptions {
  readonly profile: RegistryProfile;
  /** All names begin with it. */
  readonly label: string;
  readonly suffix: string;
  /** Of name servers below our own name. */
  readonly addresses: readonly string[];
  /** Two names outside of the registry that name servers can have; made up from the label when absent. */
  readonly outerHosts?: readonly string[] | undefined;
  /** DNSSEC as keys instead of DS records: registries take one or the other. */
  readonly takesKeys: boolean;
  /** A name of ours in redemption, to be restored. */
  readonly restoreName?: string | undefined;
  /** A name that another registrar holds. */
  readonly otherName?: string | undefined;
  /** The same registry with another account, which can look at our names as somebody else. */
  readonly secondProfile?: RegistryProfile | undefined;
  readonly clock: Clock;
  readonly random: Random;
}

export interface Memory {
  readonly profile: RegistryProfile;
  readonly clock: Clock;
  readonly names: Names;
  readonly addresses: readonly string[];
  readonly secDns: SecDns;
  /** Somebody else's name, and who of us asks about it. */
  readonly other: { readonly name: string; readonly by: Who } | undefined;
  /** The name to restore: the one that was given, or ours once it is deleted and not free. */
  restoreName: string | undefined;
  deletedAt: Date;
  /** Of the first name; changes on the way. */
  authInfo: Secret;
  readonly newAuthInfo: Secret;
  exDate: Date;
  /** Hosts outside of the registry that it knows already. */
  knownHosts: readonly string[];
  /** Namespaces of the extensions that the session has; before there is one, all that we would like. */
  extensionURIs: readonly string[];
  /** What a create costs, where the registry tells prices. */
  createFee: Money | undefined;
  /** The message that a poll has shown. */
  messageId: string | undefined;
}

export type Who = "main" | "second";

interface Names {
  /** Registered without name servers, and changed in every way. */
  readonly domain: string;
  /** Registered with everything at once. */
  readonly delegated: string;
  /** Never registered. */
  readonly absent: string;
  readonly invalid: string;
  readonly contact: string;
  readonly secondContact: string;
  /** Below `domain`. */
  readonly hosts: readonly [string, string];
  /** Outside of the registry. */
  readonly outerHosts: readonly [string, string];
}

/** RFC 5733 §2.1: 3 to 16 characters; two of them tell a walk's contacts apart. */
const contactLabelCharsMax = 14;
const dsDigestBytes = 32;
const publicKeyBytes = 64;

export function createMemory(options: MemoryOptions): Memory {
  const { profile, clock, random, label, suffix, addresses, otherName, secondProfile, restoreName } = options;
  const names = nameAll(options, `${label}.${suffix}`);
  const now = clock.now();
  const exDate = new Date(now);
  exDate.setUTCFullYear(now.getUTCFullYear() + profile.periodYears);
  return {
    ...{ profile, clock, names, addresses, restoreName, exDate },
    secDns: makeSecDns(options),
    other: secondProfile
      ? { name: names.domain, by: "second" }
      : otherName
        ? { name: otherName, by: "main" }
        : undefined,
    deletedAt: now,
    authInfo: makePassword(random),
    newAuthInfo: makePassword(random),
    extensionURIs: eppOptionsOf(profile).services.extensionURIs,
    knownHosts: [],
    createFee: undefined,
    messageId: undefined,
  };
}

function nameAll({ label, suffix, profile, outerHosts = [] }: MemoryOptions, domain: string): Names {
  // A host below one of the registry's own suffixes would need a name there.
  const elsewhere = ["example.net", "example.org"].find(
    (name) => !profile.suffixes.some((sold) => name === sold || name.endsWith(`.${sold}`)),
  );
  const contact = label.slice(-contactLabelCharsMax).replace(/^-/, "");
  return {
    domain,
    delegated: `${label}-2.${suffix}`,
    absent: `${label}-3.${suffix}`,
    invalid: `-${label}.${suffix}`,
    contact: `${contact}-1`,
    secondContact: `${contact}-2`,
    hosts: [`ns1.${domain}`, `ns2.${domain}`],
    outerHosts: [
      outerHosts[0] ?? `ns1.${label}.${elsewhere ?? "invalid"}`,
      outerHosts[1] ?? `ns2.${label}.${elsewhere ?? "invalid"}`,
    ],
  };
}

/** ECDSA P-256 with SHA-256 (RFC 6605): what every registry takes. */
function makeSecDns({ takesKeys, random }: MemoryOptions): SecDns {
  const alg = 13;
  if (takesKeys) {
    const pubKey = random.bytes(publicKeyBytes).toString("base64");
    return { keyData: [{ flags: 257, protocol: 3, alg, pubKey }] };
  }
  const digest = random.bytes(dsDigestBytes).toString("hex").toUpperCase();
  return { dsData: [{ keyTag: 12345, alg, digestType: 2, digest }] };
}

/** Of 16 characters: registries want letters of both cases, digits and others. */
export function makePassword(random: Random): Secret {
  return new Secret(`${random.bytes(9).toString("base64url")}-Aa1`);
}

/** Who the walk's contacts are: nobody. */
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

/** The same hosts as the domain command wants them: addresses only where they are attributes of the domain. */
export function serversOf({ names, profile, addresses }: Memory, hosts: readonly string[]) {
  const servers: NameServer[] = hosts.map((name) => ({
    name,
    addresses: name.endsWith(`.${names.domain}`) ? addresses : [],
  }));
  return { hostModel: profile.hostModel, hosts: servers };
}
