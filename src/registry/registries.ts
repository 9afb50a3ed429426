/**
 * Registry profiles as data: the differences between registries are in a JSON file, not in code. The file is an array of the
 * objects that `registryFile` describes (docs/registries.md). Defaults are those of the EPP session rules and of the generic
 * top-level domains.
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import Type, { type Static } from "typebox";
import Value from "typebox/value";
import { Secret } from "#lib/secret.ts";
import { codeMeanings, createMeanings, renewalMeanings } from "#registry/code-meanings.ts";
import { contactFieldsFault, contactFieldsSchema } from "#registry/contact-fields.ts";
import { secDnsNamespace } from "#registry/epp/namespaces.ts";
import { type CircuitSettings, circuitSettingsDefault } from "#registry/epp/pool/circuit.ts";
import type { ProfilePrices } from "#registry/epp/pool/ordinary-prices.ts";
import { type EppTimeouts, eppTimeoutsDefault } from "#registry/epp/timeouts.ts";
import { dispensableServices } from "#registry/epp-options.ts";
import { fixedExtensionKeys, fixedExtensionsFault } from "#registry/fixed-extensions.ts";
import { authInfoPolicies } from "#registry/flavours/flavour.ts";
import { flavourNames, flavourOf } from "#registry/flavours/flavours.ts";
import { idnFault } from "#registry/idn.ts";
import { findRulesFault, messageRules } from "#registry/message-rules.ts";
import { nameServersAtCreateDefault, nameServersFault, sacrificialSuffix } from "#registry/name-servers-fault.ts";
import { parseProfileFile, readPemFiles } from "#registry/profile-files.ts";
import { describeSchemaMistakes } from "#registry/profile-mistakes.ts";
import { registrarContactsFault, registrarContactsSchema } from "#registry/registrar-contacts.ts";

/** Node's timers allow 24 days; with a longer time they fire at once. */
const profileTimeMsMax = 7 * 86_400_000;
const milliseconds = Type.Integer({ minimum: 0, maximum: profileTimeMsMax });
/** With 0, every command would time out before it is sent. */
const timeoutMs = Type.Integer({ minimum: 1, maximum: profileTimeMsMax });
/** The longest `check-after`. */
const expectedSecondsMax = 86_400;
/** RFC 5731 §2.5: a command has at most 99 months. */
const periodInMonthsYearsMax = 8;
const days = Type.Integer({ minimum: 0, maximum: 3_650 });
const years = Type.Integer({ minimum: 1, maximum: 10 });
const price = Type.Number({ exclusiveMinimum: 0 });
/** ISO 4217. */
const currency = Type.String({ pattern: "^[A-Z]{3}$" });
/** A-labels (RFC 5890 §2.3.2.1) with dots between them. */
const suffix = Type.String({ pattern: "^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$" });
/** An unknown field is probably a misspelt one. */
const nothingElse = { additionalProperties: false };
const codePoint = "(10[0-9A-F]{4}|[0-9A-F]{4,5})";
const codePointRange = `^${codePoint}(-${codePoint})?$`;

const registryFile = Type.Array(
  Type.Object(
    {
      id: Type.String({ pattern: "^[a-z0-9-]{1,32}$" }),
      host: Type.String({ minLength: 1 }),
      port: Type.Integer({ minimum: 1, maximum: 65535 }),
      /** The name in the registry's certificate, when it is not `host`. */
      servername: Type.Optional(Type.String({ minLength: 1 })),
      caFile: Type.String({ minLength: 1 }),
      certFile: Type.Optional(Type.String({ minLength: 1 })),
      keyFile: Type.Optional(Type.String({ minLength: 1 })),
      registrarId: Type.String({ minLength: 3, maxLength: 16 }),
      /** 6 to 16 characters; up to 128 where the registry offers loginSec (RFC 8807). */
      password: Type.String({ minLength: 6, maxLength: 128 }),
      suffixes: Type.Array(suffix, { minItems: 1 }),
      sessionsMax: Type.Optional(Type.Integer({ minimum: 2 })),
      /** Sessions that stay open while they are idle. */
      sessionsMin: Type.Optional(Type.Integer({ minimum: 0 })),
      commandsPerSecond: Type.Optional(Type.Integer({ minimum: 1 })),

      /** Whether the registry keeps contacts (thick) or only names (thin). */
      dataModel: Type.Optional(Type.Enum(["thick", "thin"])),
      /** Whether name servers are objects of their own (RFC 5732) or attributes of the domain (RFC 5731 §1.1). */
      hostModel: Type.Optional(Type.Enum(["objects", "attributes"])),
      /** The contacts that a thick registry requires besides the registrant. */
      contactTypes: Type.Optional(Type.Array(Type.Enum(["admin", "tech", "billing"]))),
      /** Contacts of our own account that stand at every name, by type, with their ids at the registry. */
      registrarContacts: Type.Optional(registrarContactsSchema),
      /** How many name servers the registry demands when a name is registered, and those of a request that names none. */
      nameserversAtCreate: Type.Optional(
        Type.Object(
          { min: Type.Integer({ minimum: 0, maximum: 13 }), max: Type.Integer({ minimum: 0, maximum: 13 }) },
          nothingElse,
        ),
      ),
      defaultNameServers: Type.Optional(Type.Array(suffix, { maxItems: 13 })),
      /** The addresses that hosts below names can have. */
      glueAddresses: Type.Optional(Type.Enum(["public", "any"])),
      /** Below it hosts are renamed that other names use when the name above them is deleted. Default: none is renamed. */
      sacrificialSuffix: Type.Optional(sacrificialSuffix),
      /** The form in which the registry takes DNSSEC data (RFC 5910 §4). */
      secDns: Type.Optional(Type.Enum(["ds", "keys", "none"])),
      /** Who chooses the ids of contacts: we ("client"), or the registry, whatever the command says ("server"). */
      contactIds: Type.Optional(Type.Enum(["client", "server"])),
      /** Whether a contact has one role, at all names: each role of a name gets an object of its own. */
      contactPerRole: Type.Optional(Type.Boolean()),
      contactFields: Type.Optional(contactFieldsSchema),
      /** Whether contacts may have any letters ("loc"; RFC 5733 §2.4), or ASCII characters only ("int"). */
      contactLetters: Type.Optional(Type.Enum(["any", "ascii"])),
      /** Whether an update may change a name's registrant, or only what the registry calls a trade. */
      registrantChange: Type.Optional(Type.Enum(["update", "forbidden"])),
      /** Whose secret a name's authInfo is (flavours/flavour.ts). */
      authInfo: Type.Optional(Type.Enum(authInfoPolicies)),
      /** Whose a name is that `<info>` shows without its registrar (clID): nobody knows, ours, or another registrar's. */
      infoWithoutRegistrar: Type.Optional(Type.Enum(["unknown", "ours", "others"])),
      /** The family of the registry, for what its extensions demand (flavours/). */
      flavour: Type.Optional(Type.Enum(["none", ...flavourNames])),
      /** XML for the `<extension>` of commands, by command: see fixed-extensions.ts. */
      extensions: Type.Optional(
        Type.Record(Type.String({ pattern: fixedExtensionKeys }), Type.String({ minLength: 1 }), nothingElse),
      ),
      /** Namespaces that the greeting offers but the login refuses. */
      withoutServices: Type.Optional(Type.Array(Type.Enum(dispensableServices))),
      /** The period of a registration and of a renewal. */
      periodYears: Type.Optional(years),
      renewalYears: Type.Optional(years),
      /** The longest registration. */
      yearsMax: Type.Optional(years),
      /** How commands give these periods; "none" where a registry has only one, and refuses an element for it. */
      period: Type.Optional(Type.Enum(["years", "months", "none"])),
      /** What the registry does at the expiry of a name that was not renewed. */
      atExpiry: Type.Optional(Type.Enum(["auto-renew", "expire"])),
      /** What happens to an auth code at its end: another value that nobody keeps, or <null/> (RFC 5731 §3.2.5). */
      spentAuthInfo: Type.Optional(Type.Enum(["replaced", "removed"])),
      /** How long after its registration the registry refuses a name's transfer. */
      transferProhibitedDays: Type.Optional(days),
      /** Whether names are locked against transfers (clientTransferProhibited) once they are registered. */
      lockNewNames: Type.Optional(Type.Boolean()),
      /** How a name gets another term: by our `<renew>`, or only by the registry itself. */
      renew: Type.Optional(Type.Enum(["command", "none"])),
      /** Whose expiry dates count: the registry's, or ours where its `<info>` has none. */
      expiry: Type.Optional(Type.Enum(["registry", "ours"])),
      /** The grace periods, in which a command can be undone, and the redemption period (RFC 3915). */
      graceDays: Type.Optional(
        Type.Partial(
          Type.Object({ add: days, renew: days, autoRenew: days, redemption: days, pendingDelete: days }),
          nothingElse,
        ),
      ),
      /** How long before its expiry a name is renewed, and when an alarm says that it still is not. */
      renewalLeadDays: Type.Optional(days),
      renewalAlarmDays: Type.Optional(Type.Array(days)),
      /** Unicode code points that labels under a suffix may contain besides a-z, 0-9 and the hyphen. Default: none. */
      idn: Type.Optional(Type.Record(suffix, Type.Array(Type.String({ pattern: codePointRange })))),
      /** Premium prices (RFC 8748): paid up to an amount for what is ordered, and for what the schedule renews. Default: refused. */
      premium: Type.Optional(
        Type.Object({ amountMax: price, renewalAmountMax: Type.Optional(price), currency }, nothingElse),
      ),
      /** Which creates have to name their price (RFC 8748 §5.2.1): those of premium names, or all. */
      createFee: Type.Optional(Type.Enum(["premium", "always"])),
      /** What an ordinary name costs, in a year or for its restore: more is premium. Default of each: what a random label costs. */
      prices: Type.Optional(
        Type.Object(
          { create: Type.Optional(price), renew: Type.Optional(price), restore: Type.Optional(price), currency },
          nothingElse,
        ),
      ),

      transformTimeoutMs: Type.Optional(timeoutMs),
      queryTimeoutMs: Type.Optional(timeoutMs),
      /** For how long after a takeover a command is not repeated that the previous owner may have sent. */
      takeoverSettleMs: Type.Optional(milliseconds),
      /** The other timeouts of a session. */
      timeouts: Type.Optional(
        Type.Partial(
          Type.Object({
            connectMs: timeoutMs,
            greetingMs: timeoutMs,
            loginMs: timeoutMs,
            logoutMs: timeoutMs,
            helloIdleMs: timeoutMs,
            loginPauseFirstMs: milliseconds,
            loginPauseMsMax: milliseconds,
            sessionAgeMsMax: timeoutMs,
          }),
          nothingElse,
        ),
      ),
      circuit: Type.Optional(
        Type.Partial(
          Type.Object({
            faultsMax: Type.Integer({ minimum: 1 }),
            faultWindowMs: milliseconds,
            probeDelayMsMin: milliseconds,
            probeDelayMsMax: milliseconds,
            refusedDelayMs: milliseconds,
          }),
          nothingElse,
        ),
      ),
      pollIntervalMs: Type.Optional(milliseconds),
      reconcileIntervalMs: Type.Optional(milliseconds),
      backoffFirstMs: Type.Optional(milliseconds),
      backoffMaxMs: Type.Optional(milliseconds),
      renewalIntervalMs: Type.Optional(milliseconds),
      /** How long a registration takes, for `check-after`, until enough of them were measured. */
      expectedSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: expectedSecondsMax })),
      /** Messages of the registry that have no form of their own: the first rule that fits decides. */
      messages: Type.Optional(messageRules),
      /** A balance at or below this amount raises an alarm. Default: the registry's own threshold. */
      balanceAlarmAt: Type.Optional(Type.Number()),
      /** Result codes with which this registry deviates from the RFCs: code → the event for an order. */
      resultCodes: Type.Optional(codeMeanings(createMeanings)),
      /** The same for a renewal. */
      renewalResultCodes: Type.Optional(codeMeanings(renewalMeanings)),
    },
    nothingElse,
  ),
);

export type RegistryEntry = Static<typeof registryFile>[number];

/** In days. */
export interface GraceDays {
  add: number;
  renew: number;
  autoRenew: number;
  redemption: number;
  pendingDelete: number;
}

/** Those of generic top-level domains. */
const graceDaysDefault: GraceDays = { add: 5, renew: 5, autoRenew: 45, redemption: 30, pendingDelete: 5 };

const sessionsMaxDefault = 10;
const periodYearsDefault = 1;
const yearsMaxDefault = 10;

export const expectedSecondsDefault = 10;

type Completed = "graceDays" | "timeouts" | "circuit" | "premium" | "prices" | "balanceAlarmAt" | "sacrificialSuffix";
type Plain = Omit<RegistryEntry, "password" | "caFile" | "certFile" | "keyFile" | Completed>;

export interface RegistryProfile extends Required<Plain> {
  password: Secret;
  ca: string;
  cert: string | undefined;
  key: string | undefined;
  graceDays: GraceDays;
  timeouts: EppTimeouts;
  circuit: CircuitSettings;
  /** Absent: premium names are refused. */
  premium: { amountMax: number; renewalAmountMax?: number | undefined; currency: string } | undefined;
  /** Absent: the registry is asked. */
  prices: ProfilePrices | undefined;
  /** Absent: a host that other names use keeps its name, and the name above it. */
  sacrificialSuffix?: string | undefined;
  /** Absent: the registry's own threshold. */
  balanceAlarmAt?: number | undefined;
  /** How long after a lost answer an `<info>` proves nothing: 2 × the transform timeout. */
  settleMs: number;
}

/**
 * Reads the profiles and the certificates that they name (paths relative to the profile file).
 * @throws Error that names the file, with a sentence for each mistake that names profile and field
 */
export function loadRegistries(file: string): RegistryProfile[] {
  const entries = parseProfileFile(file);
  if (!Value.Check(registryFile, entries)) throw mistaken(file, describeSchemaMistakes(registryFile, entries));
  const mistake = findMistake(entries);
  if (mistake !== undefined) throw mistaken(file, [mistake]);
  try {
    return entries.map((entry) => completeProfile(entry, (path) => readFileSync(resolve(file, "..", path), "utf8")));
  } catch (error) {
    throw mistaken(file, [(error as Error).message]);
  }
}

function mistaken(file: string, sentences: readonly string[]): Error {
  return new Error(sentences.length === 1 ? `${file}: ${sentences[0]}` : [`${file}:`, ...sentences].join("\n  "));
}

/** Describes the first mistake that a schema cannot detect. */
function findMistake(entries: readonly RegistryEntry[]): string | undefined {
  const findTwice = (values: string[]) => values.find((value, index) => values.indexOf(value) !== index);
  const id = findTwice(entries.map((entry) => entry.id));
  if (id !== undefined) return `more than one profile has the id ${id}`;
  const shared = findTwice(entries.flatMap((entry) => [...new Set(entry.suffixes)]));
  if (shared !== undefined) {
    const sellers = entries.filter(({ suffixes }) => suffixes.includes(shared)).map((entry) => entry.id);
    return `more than one profile has the suffix ${shared}: ${sellers.join(", ")}`;
  }
  for (const written of entries) {
    const entry = { ...flavourOf(written)?.defaults, ...written };
    const { period, periodYears, renewalYears, premium, prices, renew, atExpiry } = entry;
    const { id: name, certFile, keyFile, sessionsMax, sessionsMin } = entry;
    if ((certFile === undefined) !== (keyFile === undefined)) return `${name}: certFile and keyFile need each other`;
    if ((sessionsMin ?? 0) > (sessionsMax ?? sessionsMaxDefault))
      return `${name}: sessionsMin is more than sessionsMax`;
    const fault =
      registrationFault(entry) ??
      fixedExtensionsFault(entry) ??
      contactFieldsFault(entry.contactFields) ??
      registrarContactsFault(entry.registrarContacts, entry.contactTypes) ??
      findRulesFault(entry.messages) ??
      idnFault(entry) ??
      flavourOf(entry)?.fault(entry);
    if (fault !== undefined) return `${name}: ${fault}`;
    // A check can ask for one currency only (RFC 8748 §3.2).
    if (premium && prices && premium.currency !== prices.currency)
      return `${name}: premium and prices need the same currency`;
    if (period === "months" && Math.max(periodYears ?? 1, renewalYears ?? 1) > periodInMonthsYearsMax)
      return `${name}: a period in months is at most ${periodInMonthsYearsMax} years`;
    if (renew === "none" && atExpiry === "expire")
      return `${name}: with renew none, atExpiry must be auto-renew, or no name could be kept`;
  }
  return undefined;
}

function registrationFault(entry: RegistryEntry): string | undefined {
  const { periodYears, yearsMax, secDns, withoutServices } = entry;
  if ((periodYears ?? periodYearsDefault) > (yearsMax ?? yearsMaxDefault)) return "periodYears is more than yearsMax";
  if (secDns !== undefined && secDns !== "none" && withoutServices?.includes(secDnsNamespace)) {
    return "secDns needs the extension that withoutServices excludes";
  }
  return nameServersFault(entry);
}

/** All fields of a profile; those of a nested object as "timeouts.loginMs". */
export function fieldsOfProfile(): string[] {
  return Object.entries(registryFile.items.properties).flatMap(([name, schema]) =>
    "properties" in schema ? Object.keys(schema.properties).map((field) => `${name}.${field}`) : [name],
  );
}

/**
 * A profile with all defaults.
 * @param read returns the text of a file that the entry names
 * @throws Error that names id and field when a file cannot be read or has another content
 */
export function completeProfile(entry: RegistryEntry, read: (path: string) => string): RegistryProfile {
  const { password, caFile, certFile, keyFile, graceDays, timeouts, circuit, premium, prices, ...rest } = entry;
  const flavour = flavourOf(entry);
  const renew = entry.renew ?? flavour?.defaults.renew;
  const transformTimeoutMs = entry.transformTimeoutMs ?? eppTimeoutsDefault.transformMs;
  const queryTimeoutMs = entry.queryTimeoutMs ?? eppTimeoutsDefault.queryMs;
  return {
    servername: entry.host,
    sessionsMax: sessionsMaxDefault,
    sessionsMin: 1,
    commandsPerSecond: 50,
    dataModel: "thick",
    hostModel: "objects",
    contactTypes: ["admin", "tech"],
    registrarContacts: {},
    nameserversAtCreate: nameServersAtCreateDefault,
    defaultNameServers: [],
    glueAddresses: "public",
    secDns: entry.withoutServices?.includes(secDnsNamespace) ? "none" : "ds",
    contactIds: "client",
    contactPerRole: false,
    contactFields: [],
    contactLetters: "any",
    registrantChange: "update",
    authInfo: "ours",
    infoWithoutRegistrar: "unknown",
    flavour: "none",
    extensions: {},
    withoutServices: [],
    periodYears: periodYearsDefault,
    renewalYears: 1,
    yearsMax: yearsMaxDefault,
    period: "years",
    atExpiry: "auto-renew",
    spentAuthInfo: "replaced",
    transferProhibitedDays: 60,
    lockNewNames: true,
    expiry: "registry",
    renew: "command",
    // Where nothing can be sent, nothing is due or late before the end of the term.
    renewalLeadDays: renew === "none" ? 0 : 30,
    renewalAlarmDays: renew === "none" ? [0] : [30, 7, 1],
    idn: {},
    createFee: "premium",
    takeoverSettleMs: 120_000,
    pollIntervalMs: 30_000,
    reconcileIntervalMs: 15 * 60_000,
    backoffFirstMs: 5_000,
    backoffMaxMs: 10 * 60_000,
    renewalIntervalMs: 60_000,
    expectedSeconds: expectedSecondsDefault,
    messages: [],
    resultCodes: {},
    renewalResultCodes: {},
    ...flavour?.defaults,
    ...rest,
    transformTimeoutMs,
    queryTimeoutMs,
    settleMs: 2 * transformTimeoutMs,
    graceDays: { ...graceDaysDefault, ...flavour?.graceDays, ...graceDays },
    timeouts: { ...eppTimeoutsDefault, ...timeouts, queryMs: queryTimeoutMs, transformMs: transformTimeoutMs },
    circuit: { ...circuitSettingsDefault, ...circuit },
    premium,
    prices,
    password: new Secret(password),
    ...readPemFiles(entry, read),
  };
}
