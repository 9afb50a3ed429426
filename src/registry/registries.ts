/**
 * Registry profiles as data: what is true of one registry and not of another stands in a JSON file, not in code.
 * The file is an array of the objects that `registryFile` describes (docs/registries.md); what it leaves out takes the
 * defaults of the EPP session rules and of the generic top-level domains.
 */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import Type, { type Static } from "typebox";
import Value from "typebox/value";
import { Secret } from "#lib/secret.ts";
import { type CircuitSettings, circuitSettingsDefault } from "#registry/epp/circuit.ts";
import { type EppTimeouts, eppTimeoutsDefault } from "#registry/epp/timeouts.ts";

const milliseconds = Type.Integer({ minimum: 0 });
const days = Type.Integer({ minimum: 0, maximum: 3_650 });
const years = Type.Integer({ minimum: 1, maximum: 10 });
const suffix = Type.String({ pattern: "^[a-z0-9.-]+$" });
const codeMeanings = Type.Record(Type.String({ pattern: "^[0-9]{4}$" }), Type.String());

const registryFile = Type.Array(
  Type.Object(
    {
      id: Type.String({ pattern: "^[a-z0-9-]{1,32}$" }),
      host: Type.String({ minLength: 1 }),
      port: Type.Integer({ minimum: 1, maximum: 65535 }),
      /** The name that the registry's certificate carries, when it is not `host`. */
      servername: Type.Optional(Type.String({ minLength: 1 })),
      caFile: Type.String({ minLength: 1 }),
      certFile: Type.Optional(Type.String({ minLength: 1 })),
      keyFile: Type.Optional(Type.String({ minLength: 1 })),
      registrarId: Type.String({ minLength: 3, maxLength: 16 }),
      /** 6 to 16 characters; up to 128 where the registry offers loginSec (RFC 8807). */
      password: Type.String({ minLength: 6, maxLength: 128 }),
      suffixes: Type.Array(suffix, { minItems: 1 }),
      sessionsMax: Type.Optional(Type.Integer({ minimum: 2 })),
      /** Sessions that are kept open while nobody needs them. */
      sessionsMin: Type.Optional(Type.Integer({ minimum: 0 })),
      commandsPerSecond: Type.Optional(Type.Integer({ minimum: 1 })),

      /** Whether the registry keeps contacts (thick) or only names (thin). */
      dataModel: Type.Optional(Type.Union([Type.Literal("thick"), Type.Literal("thin")])),
      /** Whether name servers are objects of their own (RFC 5732) or attributes of the domain (RFC 5731 §1.1). */
      hostModel: Type.Optional(Type.Union([Type.Literal("objects"), Type.Literal("attributes")])),
      /** The contacts that a thick registry wants beside the registrant. */
      contactTypes: Type.Optional(
        Type.Array(Type.Union([Type.Literal("admin"), Type.Literal("tech"), Type.Literal("billing")])),
      ),
      /** For how long names are registered, and renewed. */
      periodYears: Type.Optional(years),
      renewalYears: Type.Optional(years),
      /** What the registry does with a name that nobody renewed: renews it itself, or lets it expire. */
      atExpiry: Type.Optional(Type.Union([Type.Literal("auto-renew"), Type.Literal("expire")])),
      /** How long what was done can be undone, and how long a deleted name can be restored (RFC 3915). */
      graceDays: Type.Optional(
        Type.Partial(Type.Object({ add: days, renew: days, autoRenew: days, redemption: days, pendingDelete: days })),
      ),
      /** How long before its expiration a name is renewed, and when people hear that it still is not. */
      renewalLeadDays: Type.Optional(days),
      renewalAlarmDays: Type.Optional(Type.Array(days)),
      /** Unicode code points, beside a-z, 0-9 and the hyphen, that labels may have under a suffix; absent: none. */
      idn: Type.Optional(Type.Record(suffix, Type.Array(Type.String({ pattern: "^[0-9A-F]{4,6}(-[0-9A-F]{4,6})?$" })))),
      /** Names with a price of their own (RFC 8748): refused, or taken up to an amount. */
      premium: Type.Optional(
        Type.Object({
          amountMax: Type.Number({ exclusiveMinimum: 0 }),
          currency: Type.String({ pattern: "^[A-Z]{3}$" }),
        }),
      ),

      transformTimeoutMs: Type.Optional(milliseconds),
      queryTimeoutMs: Type.Optional(milliseconds),
      /** The other times of a session. */
      timeouts: Type.Optional(
        Type.Partial(
          Type.Object({
            connectMs: milliseconds,
            greetingMs: milliseconds,
            loginMs: milliseconds,
            logoutMs: milliseconds,
            helloIdleMs: milliseconds,
            loginPauseFirstMs: milliseconds,
            loginPauseMsMax: milliseconds,
            sessionAgeMsMax: milliseconds,
          }),
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
        ),
      ),
      pollIntervalMs: Type.Optional(milliseconds),
      reconcileIntervalMs: Type.Optional(milliseconds),
      backoffFirstMs: Type.Optional(milliseconds),
      backoffMaxMs: Type.Optional(milliseconds),
      renewalIntervalMs: Type.Optional(milliseconds),
      /** Result codes that this registry uses in its own way: code → the event that they mean for an order. */
      resultCodes: Type.Optional(codeMeanings),
      /** The same for a renewal. */
      renewalResultCodes: Type.Optional(codeMeanings),
    },
    { additionalProperties: false },
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

/** What generic top-level domains have. */
const graceDaysDefault: GraceDays = { add: 5, renew: 5, autoRenew: 45, redemption: 30, pendingDelete: 5 };

const sessionsMaxDefault = 10;

type Plain = Omit<
  RegistryEntry,
  "password" | "caFile" | "certFile" | "keyFile" | "graceDays" | "timeouts" | "circuit" | "premium"
>;

export interface RegistryProfile extends Required<Plain> {
  password: Secret;
  ca: string;
  cert: string | undefined;
  key: string | undefined;
  graceDays: GraceDays;
  timeouts: EppTimeouts;
  circuit: CircuitSettings;
  /** Absent: names with a price of their own are refused. */
  premium: { amountMax: number; currency: string } | undefined;
  /** After a lost answer nothing is believed before this has passed: 2 × the transform timeout. */
  settleMs: number;
}

/**
 * Reads the profiles and the certificates that they name (paths relative to the profile file).
 * @throws Error with one sentence that names the file and the field
 */
export function loadRegistries(file: string): RegistryProfile[] {
  const entries = parseJson(file);
  if (!Value.Check(registryFile, entries)) {
    const [error] = Value.Errors(registryFile, entries);
    throw new Error(`${file}: ${error?.instancePath ?? ""} ${error?.message ?? "is not valid"}`);
  }
  const mistake = findMistake(entries);
  if (mistake !== undefined) throw new Error(`${file}: ${mistake}`);
  return entries.map((entry) => completeProfile(entry, (path) => readFileSync(resolve(file, "..", path), "utf8")));
}

/** What a schema cannot say, as one sentence about the first mistake. */
function findMistake(entries: readonly RegistryEntry[]): string | undefined {
  const findTwice = (values: string[]) => values.find((value, index) => values.indexOf(value) !== index);
  const id = findTwice(entries.map((entry) => entry.id));
  if (id !== undefined) return `the id ${id} is there more than once`;
  const shared = findTwice(entries.flatMap((entry) => entry.suffixes));
  if (shared !== undefined) return `the suffix ${shared} is sold by more than one registry`;
  for (const { id: name, certFile, keyFile, sessionsMax, sessionsMin, idn, suffixes } of entries) {
    if ((certFile === undefined) !== (keyFile === undefined)) return `${name}: certFile and keyFile belong together`;
    if ((sessionsMin ?? 0) > (sessionsMax ?? sessionsMaxDefault))
      return `${name}: sessionsMin is more than sessionsMax`;
    const unsold = Object.keys(idn ?? {}).find((candidate) => !suffixes.includes(candidate));
    if (unsold !== undefined) return `${name}: idn names ${unsold}, which is none of its suffixes`;
  }
  return undefined;
}

/** Every field that a profile may have; those of an object in it as "timeouts.loginMs". */
export function fieldsOfProfile(): string[] {
  return Object.entries(registryFile.items.properties).flatMap(([name, schema]) =>
    "properties" in schema ? Object.keys(schema.properties).map((field) => `${name}.${field}`) : [name],
  );
}

/** What the parser says of a mistake quotes the text around it, which may be a password. */
function parseJson(file: string): unknown {
  const text = readFileSync(file, "utf8");
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${file} is not JSON`);
  }
}

/**
 * A profile with every default filled in.
 * @param read returns the text of a file that the entry names
 * @throws Error when caFile holds no certificate: TLS would take that for "trust everybody's authorities"
 */
export function completeProfile(entry: RegistryEntry, read: (path: string) => string): RegistryProfile {
  const { password, caFile, certFile, keyFile, graceDays, timeouts, circuit, premium, ...rest } = entry;
  const transformTimeoutMs = entry.transformTimeoutMs ?? eppTimeoutsDefault.transformMs;
  const queryTimeoutMs = entry.queryTimeoutMs ?? eppTimeoutsDefault.queryMs;
  const ca = read(caFile);
  if (!isCertificate(ca)) throw new Error(`${entry.id}: caFile holds no certificate in PEM: ${caFile}`);
  return {
    servername: entry.host,
    sessionsMax: sessionsMaxDefault,
    sessionsMin: 1,
    commandsPerSecond: 50,
    dataModel: "thick",
    hostModel: "objects",
    contactTypes: ["admin", "tech"],
    periodYears: 1,
    renewalYears: 1,
    atExpiry: "auto-renew",
    renewalLeadDays: 30,
    renewalAlarmDays: [30, 7, 1],
    idn: {},
    pollIntervalMs: 30_000,
    reconcileIntervalMs: 15 * 60_000,
    backoffFirstMs: 5_000,
    backoffMaxMs: 10 * 60_000,
    renewalIntervalMs: 60_000,
    resultCodes: {},
    renewalResultCodes: {},
    ...rest,
    transformTimeoutMs,
    queryTimeoutMs,
    settleMs: 2 * transformTimeoutMs,
    graceDays: { ...graceDaysDefault, ...graceDays },
    timeouts: { ...eppTimeoutsDefault, ...timeouts, queryMs: queryTimeoutMs, transformMs: transformTimeoutMs },
    circuit: { ...circuitSettingsDefault, ...circuit },
    premium,
    password: new Secret(password),
    ca,
    cert: certFile === undefined ? undefined : read(certFile),
    key: keyFile === undefined ? undefined : read(keyFile),
  };
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== undefined;
  } catch {
    return false;
  }
}
