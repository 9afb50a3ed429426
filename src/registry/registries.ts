/**
 * Registry profiles as data: what is true of one registry and not of another stands in a JSON file, not in code.
 * The file is an array of the objects that `registryFile` describes (docs/registries.md); what it leaves out takes the
 * defaults of the EPP session rules and of the generic top-level domains.
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import Type, { type Static } from "typebox";
import Value from "typebox/value";
import { Secret } from "#lib/secret.ts";
import { type CircuitSettings, circuitSettingsDefault } from "#registry/epp/pool/circuit.ts";
import { type EppTimeouts, eppTimeoutsDefault } from "#registry/epp/timeouts.ts";
import { dispensableServices } from "#registry/epp-options.ts";
import { readPemFiles } from "#registry/profile-files.ts";
import { describeSchemaMistakes } from "#registry/profile-mistakes.ts";

/** Node's timers hold 24 days, and fire at once for more. */
const profileTimeMsMax = 7 * 86_400_000;
const milliseconds = Type.Integer({ minimum: 0, maximum: profileTimeMsMax });
/** With 0, everything would be late before it was sent. */
const patienceMs = Type.Integer({ minimum: 1, maximum: profileTimeMsMax });
const days = Type.Integer({ minimum: 0, maximum: 3_650 });
const years = Type.Integer({ minimum: 1, maximum: 10 });
/** A-labels (RFC 5890 §2.3.2.1) with dots between them. */
const suffix = Type.String({ pattern: "^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$" });
/** A field that nobody knows is a known one with a slip of the pen. */
const nothingElse = { additionalProperties: false };
/** What a result code may mean for an order, and for a renewal: events of `states.ts` in src/domains/orders/ and renewals/. */
export const createMeanings = [
  "created",
  "create-pending",
  "exists",
  "rejected",
  "operator-needed",
  "out-of-credit",
  "not-executed",
  "unanswered",
];
export const renewalMeanings = [
  "answered",
  "pending",
  "disputed",
  "operator-needed",
  "out-of-credit",
  "not-executed",
  "unanswered",
];
const codeMeanings = (meanings: readonly string[]) =>
  Type.Record(Type.String({ pattern: "^[0-9]{4}$" }), Type.Enum([...meanings]), nothingElse);
const codePoint = "(10[0-9A-F]{4}|[0-9A-F]{4,5})";
const codePointRange = `^${codePoint}(-${codePoint})?$`;

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
      dataModel: Type.Optional(Type.Enum(["thick", "thin"])),
      /** Whether name servers are objects of their own (RFC 5732) or attributes of the domain (RFC 5731 §1.1). */
      hostModel: Type.Optional(Type.Enum(["objects", "attributes"])),
      /** The contacts that a thick registry wants beside the registrant. */
      contactTypes: Type.Optional(Type.Array(Type.Enum(["admin", "tech", "billing"]))),
      /** What the greeting offers and the login refuses all the same; as namespaces. */
      withoutServices: Type.Optional(Type.Array(Type.Enum(dispensableServices))),
      /** For how long names are registered, and renewed. */
      periodYears: Type.Optional(years),
      renewalYears: Type.Optional(years),
      /** What the registry does with a name that nobody renewed: renews it itself, or lets it expire. */
      atExpiry: Type.Optional(Type.Enum(["auto-renew", "expire"])),
      /** How long what was done can be undone, and how long a deleted name can be restored (RFC 3915). */
      graceDays: Type.Optional(
        Type.Partial(
          Type.Object({ add: days, renew: days, autoRenew: days, redemption: days, pendingDelete: days }),
          nothingElse,
        ),
      ),
      /** How long before its expiration a name is renewed, and when people hear that it still is not. */
      renewalLeadDays: Type.Optional(days),
      renewalAlarmDays: Type.Optional(Type.Array(days)),
      /** Unicode code points, beside a-z, 0-9 and the hyphen, that labels may have under a suffix; absent: none. */
      idn: Type.Optional(Type.Record(suffix, Type.Array(Type.String({ pattern: codePointRange })))),
      /** Names with a price of their own (RFC 8748): refused, or taken up to an amount. */
      premium: Type.Optional(
        Type.Object(
          { amountMax: Type.Number({ exclusiveMinimum: 0 }), currency: Type.String({ pattern: "^[A-Z]{3}$" }) },
          nothingElse,
        ),
      ),

      transformTimeoutMs: Type.Optional(patienceMs),
      queryTimeoutMs: Type.Optional(patienceMs),
      /** For how long after a takeover no command is repeated that the owner before may have sent. */
      takeoverSettleMs: Type.Optional(milliseconds),
      /** The other times of a session. */
      timeouts: Type.Optional(
        Type.Partial(
          Type.Object({
            connectMs: patienceMs,
            greetingMs: patienceMs,
            loginMs: patienceMs,
            logoutMs: patienceMs,
            helloIdleMs: patienceMs,
            loginPauseFirstMs: milliseconds,
            loginPauseMsMax: milliseconds,
            sessionAgeMsMax: patienceMs,
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
      /** Result codes that this registry uses in its own way: code → the event that they mean for an order. */
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
 * @throws Error that names the file, and a sentence for each mistake in it, which names profile and field
 */
export function loadRegistries(file: string): RegistryProfile[] {
  const entries = parseJson(file);
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

/** What a schema cannot say, as one sentence about the first mistake. */
function findMistake(entries: readonly RegistryEntry[]): string | undefined {
  const findTwice = (values: string[]) => values.find((value, index) => values.indexOf(value) !== index);
  const id = findTwice(entries.map((entry) => entry.id));
  if (id !== undefined) return `the id ${id} is there more than once`;
  const shared = findTwice(entries.flatMap((entry) => [...new Set(entry.suffixes)]));
  if (shared !== undefined) {
    const sellers = entries.filter(({ suffixes }) => suffixes.includes(shared)).map((entry) => entry.id);
    return `the suffix ${shared} is sold by more than one registry: ${sellers.join(", ")}`;
  }
  for (const { id: name, certFile, keyFile, sessionsMax, sessionsMin, idn, suffixes } of entries) {
    if ((certFile === undefined) !== (keyFile === undefined)) return `${name}: certFile and keyFile belong together`;
    if ((sessionsMin ?? 0) > (sessionsMax ?? sessionsMaxDefault))
      return `${name}: sessionsMin is more than sessionsMax`;
    const unsold = Object.keys(idn ?? {}).find((candidate) => !suffixes.includes(candidate));
    if (unsold !== undefined) return `${name}: idn names ${unsold}, which is none of its suffixes`;
    const backward = Object.values(idn ?? {}).flatMap((ranges) => ranges.filter(isBackward))[0];
    if (backward !== undefined) return `${name}: idn has the range ${backward}, which ends before it begins`;
  }
  return undefined;
}

function isBackward(range: string): boolean {
  const [first = "", last = first] = range.split("-");
  return Number.parseInt(first, 16) > Number.parseInt(last, 16);
}

/** Every field that a profile may have; those of an object in it as "timeouts.loginMs". */
export function fieldsOfProfile(): string[] {
  return Object.entries(registryFile.items.properties).flatMap(([name, schema]) =>
    "properties" in schema ? Object.keys(schema.properties).map((field) => `${name}.${field}`) : [name],
  );
}

/** What the parser says of a mistake quotes the text around it, which may be a password. */
function parseJson(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new Error(`${file}, the file of registry profiles, cannot be read: ${(error as Error).message}`);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${file} is not JSON`);
  }
}

/**
 * A profile with every default filled in.
 * @param read returns the text of a file that the entry names
 * @throws Error that names id and field when a file cannot be read, or holds something else; without a certificate in caFile
 * TLS would trust everybody's authorities
 */
export function completeProfile(entry: RegistryEntry, read: (path: string) => string): RegistryProfile {
  const { password, caFile, certFile, keyFile, graceDays, timeouts, circuit, premium, ...rest } = entry;
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
    withoutServices: [],
    periodYears: 1,
    renewalYears: 1,
    atExpiry: "auto-renew",
    renewalLeadDays: 30,
    renewalAlarmDays: [30, 7, 1],
    idn: {},
    takeoverSettleMs: 120_000,
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
    ...readPemFiles(entry, read),
  };
}
