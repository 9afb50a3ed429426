/** The kind `dnssec`: the DS records or keys that the registry publishes for a name (RFC 5910). */
import Type, { type Static } from "typebox";
import { statement } from "#db/statement.ts";
import { refuseUnsigned } from "#domains/name-servers/unsigned.ts";
import { type OrderKind, type Plan, whileHeld } from "#domains/orders/kind.ts";
import { placeAnswers, placeChange, placeErrors } from "#domains/orders/place.ts";
import { invalidField } from "#errors.ts";
import { dsOfKey } from "#registry/dnssec/ds-record.ts";
import { algorithmProblem, digestProblem, publicKeyProblem } from "#registry/dnssec/numbers.ts";
import type { DsData, KeyData, SecDns } from "#registry/epp/commands/domain/sec-dns.ts";
import { domainUpdate } from "#registry/epp/commands/domain/update.ts";
import type { RegistryProfile } from "#registry/registries.ts";
import { parseBody } from "#use-case/body.ts";
import type { UseCase } from "#use-case/use-case.ts";

/** More than a name needs while its keys are replaced. */
const recordsMax = 10;

const octet = Type.Integer({ minimum: 0, maximum: 255 });
const twoOctets = Type.Integer({ minimum: 0, maximum: 65_535 });
const publicKeyCharsMax = 4_096;

const dsRecord = Type.Object({
  key_tag: twoOctets,
  algorithm: octet,
  digest_type: octet,
  digest: Type.String({ pattern: "^([0-9A-Fa-f]{2})+$", maxLength: 128 }),
});
/** RFC 4034 §2.1.1: a zone key, with or without the flag of a secure entry point; no revoked one (RFC 5011 §7). */
const keyFlags = [256, 257];
/** RFC 4034 §2.1.2. */
const dnssecProtocol = 3;
const keyRecord = Type.Object({
  flags: Type.Enum(keyFlags),
  protocol: Type.Optional(Type.Literal(dnssecProtocol)),
  algorithm: octet,
  public_key: Type.String({ maxLength: publicKeyCharsMax }),
});

const requestBody = Type.Object(
  {
    ds: Type.Optional(Type.Array(dsRecord, { maxItems: recordsMax })),
    keys: Type.Optional(Type.Array(keyRecord, { maxItems: recordsMax })),
  },
  {
    description: "Either `ds` or `keys`.",
    examples: [{ ds: [{ key_tag: 55648, algorithm: 13, digest_type: 2, digest: "B4C8".repeat(16) }] }],
  },
);

/** As in the commands; the records of one form only. */
type Records = { dsData: DsData[]; keyData?: undefined } | { keyData: KeyData[]; dsData?: undefined };

const shownRecords = statement("domain-dnssec", "SELECT dnssec FROM domains WHERE domain_name = $name", {
  dnssec: "jsonb?",
});

const identityOfDs = ({ keyTag, alg, digestType, digest }: DsData) =>
  [keyTag, alg, digestType, digest.toUpperCase()].join(" ");
const identityOfKey = ({ flags, protocol, alg, pubKey }: KeyData) =>
  [flags, protocol, alg, pubKey.replace(/\s+/g, "")].join(" ");

export const dnssecKind: OrderKind = {
  name: "dnssec",
  isUrgent: false,
  pendingStatus: "pendingUpdate",
  plan: whileHeld((_sessions, { domain_name: name, input }, { secDns = {} }) =>
    planRecords(name, input as Records, secDns),
  ),
};

function planRecords(name: string, { dsData = [], keyData = [] }: Records, shown: SecDns): Plan {
  const { dsData: shownDs = [], keyData: shownKeys = [] } = shown;
  const ds = difference(shownDs, dsData, identityOfDs);
  const keys = difference(shownKeys, keyData, identityOfKey);
  const removed = ds.removed.length + keys.removed.length;
  const added = ds.added.length + keys.added.length;
  if (removed + added === 0) return { is: "done" };
  // RFC 5910 §4: a command has records of one form.
  const isEmptied = removed === shownDs.length + shownKeys.length;
  const command = domainUpdate({
    name,
    secDns: {
      ...(removed > 0 && { remove: isEmptied ? "all" : recordsOf(ds.removed.map(withoutKey), keys.removed) }),
      ...(added > 0 && { add: recordsOf(ds.added, keys.added) }),
    },
  });
  return { is: "send", command };
}

function difference<Item>(shown: readonly Item[], wanted: readonly Item[], identityOf: (item: Item) => string) {
  return {
    added: wanted.filter(isMissingIn(shown, identityOf)),
    removed: shown.filter(isMissingIn(wanted, identityOf)),
  };
}

const recordsOf = (dsData: DsData[], keyData: KeyData[]): SecDns => (dsData.length > 0 ? { dsData } : { keyData });

/** Four fields identify a DS record (RFC 5910 §5.2.5). */
const withoutKey = ({ keyTag, alg, digestType, digest }: DsData): DsData => ({ keyTag, alg, digestType, digest });

/** PUT /domains/<domain_name>/dnssec: 202 and an order. */
export const setDnssec: UseCase = {
  errors: [...placeErrors, "zone_unsigned"],
  scope: "domains:update",
  docs: {
    operation: "setDnssec",
    summary: "Orders the DNSSEC records of a name.",
    description:
      "They replace those that are there; an empty array removes all. A name at our name servers can have none.",
    body: requestBody,
    answers: placeAnswers,
  },

  handle(context, request) {
    const asked = parseRequest(parseBody(requestBody, request.rawBody));
    return placeChange(context, request, {
      kind: dnssecKind,
      prefix: "CHG",
      input: {},
      check: (tx, { domain_name: name }) => refuseUnsigned(context, tx, name, asked),
      async inputFor(tx, { domain_name: name, registry_id: id }) {
        const registry = context.registries.find((profile) => profile.id === id);
        const records = formOf(name, registry, asked);
        const [row] = await tx.query(shownRecords, { name });
        refuseNewOldRecords(asked, records, (row?.dnssec ?? {}) as SecDns);
        return records;
      },
    });
  },
};

/** The records of a request, in one form. */
function parseRequest({ ds, keys }: Static<typeof requestBody>): Records {
  if (ds && keys) throw invalidField("keys", "Give either ds or keys, not both.");
  if (ds) return { dsData: distinct("ds", ds.map(dsOf), identityOfDs) };
  if (keys) return { keyData: distinct("keys", keys.map(keyOf), identityOfKey) };
  throw invalidField("ds", "Give either ds or keys; an empty array removes all records.");
}

function distinct<Item>(field: string, items: Item[], identityOf: (item: Item) => string): Item[] {
  const identities = items.map(identityOf);
  const twice = identities.findIndex((identity, index) => identities.indexOf(identity) < index);
  if (twice >= 0) throw invalidField(`${field}/${twice}`, "This record is given twice.");
  return items;
}

const dsOf = ({ key_tag, algorithm, digest_type, digest }: Static<typeof dsRecord>): DsData => {
  return { keyTag: key_tag, alg: algorithm, digestType: digest_type, digest: digest.toUpperCase() };
};

function keyOf({ flags, algorithm, public_key }: Static<typeof keyRecord>, index: number): KeyData {
  const pubKey = public_key.replace(/\s+/g, "");
  if (pubKey === "" || Buffer.from(pubKey, "base64").toString("base64") !== pubKey) {
    throw invalidField(`keys/${index}/public_key`, "This is not base64 (RFC 4648 §4).");
  }
  return { flags, protocol: dnssecProtocol, alg: algorithm, pubKey };
}

/** The records in the form that the registry takes. @throws ApiError when it does not take them */
function formOf(name: string, registry: RegistryProfile | undefined, asked: Records): Records {
  const { dsData, keyData } = asked;
  const field = keyData ? "keys" : "ds";
  if (!registry || registry.secDns === "none") throw invalidField(field, "The registry of this name has no DNSSEC.");
  if (registry.secDns === "ds") return keyData ? { dsData: keyData.map((key) => dsOfKey(name, key)) } : asked;
  if (dsData && dsData.length > 0) {
    throw invalidField(field, "The registry of this name makes the DS records itself: give keys.");
  }
  return keyData ? asked : { keyData: [] };
}

/** Records that must not be used any more may stay, but not be added. @throws ApiError */
function refuseNewOldRecords({ dsData = [], keyData = [] }: Records, records: Records, shown: SecDns): void {
  const isNewDs = isMissingIn(shown.dsData, identityOfDs);
  const isNewKey = isMissingIn(shown.keyData, identityOfKey);
  for (const [index, ds] of dsData.entries()) {
    if (!isNewDs(ds)) continue;
    const problem = algorithmProblem(ds.alg);
    if (problem !== undefined) throw invalidField(`ds/${index}/algorithm`, problem);
    const { field, text } = digestProblem(ds.digestType, ds.digest) ?? {};
    if (text !== undefined) throw invalidField(`ds/${index}/${field}`, text);
  }
  for (const [index, key] of keyData.entries()) {
    const ds = records.dsData?.[index];
    if (ds ? !isNewDs(ds) : !isNewKey(key)) continue;
    const problem = algorithmProblem(key.alg);
    if (problem !== undefined) throw invalidField(`keys/${index}/algorithm`, problem);
    const text = publicKeyProblem(key.alg, Buffer.from(key.pubKey, "base64"));
    if (text !== undefined) throw invalidField(`keys/${index}/public_key`, text);
  }
}

function isMissingIn<Item>(shown: readonly Item[] = [], identityOf: (item: Item) => string) {
  const present = new Set(shown.map(identityOf));
  return (item: Item) => !present.has(identityOf(item));
}
