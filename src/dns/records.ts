/** Sets of records as a zone keeps them. */
import { isRecordType, parseRdata, printRdata, type RecordType } from "#dns/forms.ts";
import { quote, tokensOf } from "#dns/master-file.ts";
import { apex, FormProblem, originOf, ownerOf, parseName } from "#dns/names.ts";
import { refusalOf } from "#dns/refused-types.ts";

export interface RecordSet {
  /** Relative to the zone, lower-case A-labels; "@" is the apex. */
  owner: string;
  type: RecordType;
  /** Seconds. */
  ttl: number;
  /** Canonical text; names are absolute, with the last dot. */
  records: string[];
}

/** Why a set or a zone is refused: a sentence. */
export class RecordProblem extends Error {
  override readonly name = "RecordProblem";
  /** The field: "subname", "type", "ttl", "records/3"; of a whole zone the set, "www/CNAME", or "records". */
  readonly path: string;

  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

export const ttlSecondsDefault = 3_600;
const ttlSecondsMin = 60;
const ttlSecondsMax = 86_400;

/** Shows the version in signed zones, so nobody else writes there. */
const reservedLabel = "_deedhouse-serial";
const textBytesMax = 255;
/** Active Directory looks up an address there, and BIND accepts it. */
const globalCatalog = "gc._msdcs";

/** Runs `parse`, and says of which field a problem is. */
function at<T>(path: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof FormProblem) throw new RecordProblem(path, error.message);
    throw error;
  }
}

/**
 * The owner of a name in a zone.
 * @param name absolute, canonical
 * @throws FormProblem
 */
export function ownerInZone(origin: string, name: string): string {
  const owner = ownerOf(origin, name);
  if (owner === undefined) throw new FormProblem("The name is outside of the zone.");
  if (owner.split(".").includes(reservedLabel))
    throw new FormProblem(`The name ${reservedLabel} is the service's own.`);
  return owner;
}

/** @throws RecordProblem with the path "ttl" */
export function checkTtl(ttl: number): number {
  if (Number.isInteger(ttl) && ttl >= ttlSecondsMin && ttl <= ttlSecondsMax) return ttl;
  throw new RecordProblem("ttl", `The TTL is a whole number of seconds from ${ttlSecondsMin} to ${ttlSecondsMax}.`);
}

/** The canonical text of a record. @throws FormProblem */
export function canonicalRecord(type: RecordType, tokens: readonly string[], origin?: string): string {
  return printRdata(type, parseRdata(type, tokens, origin));
}

/** A text that does not begin with a quote is taken as it is, and cut into strings. */
function tokensOfRecord(type: RecordType, text: string): string[] {
  if (type !== "TXT" || text.startsWith('"')) return tokensOf(text);
  if (text === "") throw new FormProblem("The text is missing.");
  const bytes = Buffer.from(text);
  const count = Math.ceil(bytes.length / textBytesMax);
  return Array.from({ length: count }, (_, index) =>
    quote(bytes.subarray(index * textBytesMax, (index + 1) * textBytesMax)),
  );
}

/**
 * A set as a request has it, in canonical form. It may be without records.
 * @param set `subname` is relative, "@" is the apex; names in `records` are absolute, with or without the last dot
 * @throws RecordProblem
 */
export function parseRecordSet(
  zone: string,
  set: { subname: string; type: string; ttl?: number | undefined; records: readonly string[] },
): RecordSet {
  const origin = originOf(zone);
  const owner = at("subname", () => {
    if (set.subname.endsWith(".")) throw new FormProblem("The name is relative to the zone: leave out the last dot.");
    return ownerInZone(origin, parseName(set.subname, origin));
  });
  const type = parseType(set.type);
  const ttl = checkTtl(set.ttl ?? ttlSecondsDefault);
  const records = set.records.map((text, index) =>
    at(`records/${index}`, () => canonicalRecord(type, tokensOfRecord(type, text))),
  );
  const parsed = { owner, type, ttl, records };
  checkRecordSet(parsed);
  return parsed;
}

/** @throws RecordProblem with the path "type" */
export function parseType(text: string): RecordType {
  const type = text.toUpperCase();
  if (isRecordType(type)) return type;
  throw new RecordProblem("type", refusalOf(type));
}

/** What is wrong between the records of one set, its type and its owner. @throws RecordProblem */
export function checkRecordSet({ owner, type, records }: RecordSet): void {
  if (owner === apex && type === "NS") {
    throw new RecordProblem("type", "The name servers of the zone itself are the service's: NS is for names below it.");
  }
  if (owner === apex && type === "CNAME") {
    throw new RecordProblem(
      "type",
      "The zone's own name cannot be a CNAME: it has SOA and NS records (RFC 1034 §3.6.2).",
    );
  }
  if (owner === apex && type === "DS") {
    throw new RecordProblem("type", "The DS records of the zone itself belong to its parent, the registry.");
  }
  if (owner.startsWith("*") && (type === "NS" || type === "DS")) {
    throw new RecordProblem("type", `A wildcard cannot have ${type} records (RFC 4592 §4).`);
  }
  const isHostType = type === "A" || type === "AAAA" || type === "MX";
  if (isHostType && owner.includes("_") && !(owner === globalCatalog && type !== "MX")) {
    throw new RecordProblem("subname", `The owner of ${type} records is a host name, which has no underscore.`);
  }
  const double = records.findIndex((record, index) => records.indexOf(record) < index);
  if (double !== -1) throw new RecordProblem(`records/${double}`, "The set has this record twice.");
  if (type === "CNAME" && records.length > 1) {
    throw new RecordProblem("records/1", "A name has one CNAME (RFC 2181 §10.1).");
  }
  const none = records.findIndex((record) => (type === "MX" || type === "SRV") && record.endsWith(" ."));
  if (none !== -1 && records.length > 1) {
    throw new RecordProblem(`records/${none}`, `The target "." means that there is no service, so it stands alone.`);
  }
}
