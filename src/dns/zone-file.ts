/** Zones as zone files (RFC 1035 §5). */
import { type Entry, scanEntries, ZoneFileProblem } from "#dns/master-file.ts";
import { FormProblem, originOf, parseName } from "#dns/names.ts";
import {
  canonicalRecord,
  checkRecordSet,
  checkTtl,
  ownerInZone,
  parseType,
  RecordProblem,
  type RecordSet,
  ttlSecondsDefault,
} from "#dns/records.ts";

export interface SkippedLine {
  line: number;
  text: string;
  reason: string;
}

const apexTtlSeconds = 3_600;
const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 };

/** The lines of sets, as they are in a zone file. */
export function printSets(sets: readonly Pick<RecordSet, "owner" | "ttl" | "records" | "type">[]): string {
  return sets
    .flatMap(({ owner, ttl, type, records }) => records.map((record) => `${owner} ${ttl} IN ${type} ${record}\n`))
    .join("");
}

/**
 * The zone file of a zone; Knot and BIND load it as it is.
 * @param head `soa` as `soaRecord` prints it; `nameServers` absolute
 */
export function printZoneFile(
  zone: string,
  sets: readonly RecordSet[],
  { soa, nameServers }: { soa: string; nameServers: readonly string[] },
): string {
  const head = [`$ORIGIN ${originOf(zone)}`, `$TTL ${ttlSecondsDefault}`, `@ ${apexTtlSeconds} IN SOA ${soa}`];
  const servers = nameServers.map((name) => `@ ${apexTtlSeconds} IN NS ${parseName(name)}`);
  return `${[...head, ...servers].join("\n")}\n${printSets(sets)}`;
}

/**
 * The sets of a zone file. SOA and the NS records of the zone itself are skipped.
 * @throws ZoneFileProblem with the line that is not accepted
 */
export function parseZoneFile(zone: string, text: string): { sets: RecordSet[]; skipped: SkippedLine[] } {
  const reader = new ZoneFileReader(originOf(zone));
  for (const entry of scanEntries(text)) {
    try {
      reader.read(entry);
    } catch (error) {
      if (error instanceof FormProblem || error instanceof RecordProblem) {
        throw new ZoneFileProblem(entry.line, error.message);
      }
      throw error;
    }
  }
  return { sets: reader.finish(), skipped: reader.skipped };
}

class ZoneFileReader {
  readonly skipped: SkippedLine[] = [];
  readonly #zoneOrigin: string;
  readonly #sets = new Map<string, { set: RecordSet; lines: number[] }>();
  #origin: string;
  #defaultTtl: number | undefined;
  #lastTtl: number | undefined;
  #lastOwner: string | undefined;

  constructor(origin: string) {
    this.#zoneOrigin = origin;
    this.#origin = origin;
  }

  read(entry: Entry): void {
    const { isIndented } = entry;
    const tokens = [...entry.tokens];
    const isDirective = tokens[0]?.startsWith("$") === true && !isIndented;
    if (isDirective) this.#direct(tokens);
    else this.#readRecord(entry, tokens);
  }

  #readRecord({ line, isIndented, tokens: all }: Entry, tokens: string[]): void {
    if (!isIndented) this.#lastOwner = parseName(tokens.shift()!, this.#origin);
    if (this.#lastOwner === undefined) throw new FormProblem("The line has no name, and no line before it has one.");
    const ttl = this.#takeTtl(tokens);
    const word = tokens.shift();
    if (word === undefined) throw new FormProblem("The line has a name, but no record.");
    const isApex = this.#lastOwner === this.#zoneOrigin;
    if (isApex && /^(?:SOA|NS)$/i.test(word)) {
      const reason = "SOA and NS records of the zone itself are the service's own.";
      this.skipped.push({ line, text: all.join(" "), reason });
      return;
    }
    const owner = ownerInZone(this.#zoneOrigin, this.#lastOwner);
    const type = parseType(word);
    this.#add({ owner, type, ttl: checkTtl(ttl), records: [canonicalRecord(type, tokens, this.#origin)] }, line);
  }

  #direct([directive = "", value, surplus]: string[]): void {
    const name = directive.toUpperCase();
    if (name !== "$ORIGIN" && name !== "$TTL") {
      throw new FormProblem("Only $ORIGIN and $TTL are accepted: write the records into this file.");
    }
    if (value === undefined || surplus !== undefined) throw new FormProblem(`${name} is followed by one value.`);
    if (name === "$ORIGIN") {
      this.#origin = parseName(value, this.#origin);
      return;
    }
    const ttl = secondsOf(value);
    if (ttl === undefined) throw new FormProblem("$TTL is followed by seconds, or by a time such as 1h30m.");
    this.#defaultTtl = ttl;
  }

  /** Takes TTL and class, which stand in any order or not at all (RFC 1035 §5.1). */
  #takeTtl(tokens: string[]): number {
    let ttl: number | undefined;
    let hasClass = false;
    for (;;) {
      const seconds = ttl === undefined ? secondsOf(tokens[0] ?? "") : undefined;
      if (seconds !== undefined) ttl = seconds;
      else if (/^(?:CH|CS|HS)$/i.test(tokens[0] ?? "")) throw new FormProblem("The class of a record here is IN.");
      else if (!hasClass && /^IN$/i.test(tokens[0] ?? "")) hasClass = true;
      else break;
      tokens.shift();
    }
    this.#lastTtl = ttl ?? this.#lastTtl;
    return ttl ?? this.#defaultTtl ?? this.#lastTtl ?? ttlSecondsDefault;
  }

  #add(record: RecordSet, line: number): void {
    const key = `${record.owner} ${record.type}`;
    const present = this.#sets.get(key);
    if (!present) {
      this.#sets.set(key, { set: record, lines: [line] });
      return;
    }
    if (present.set.ttl !== record.ttl) {
      throw new FormProblem(`Line ${present.lines[0]} has another TTL for this name and type (RFC 2181 §5.2).`);
    }
    present.set.records.push(...record.records);
    present.lines.push(line);
  }

  finish(): RecordSet[] {
    for (const { set, lines } of this.#sets.values()) {
      try {
        checkRecordSet(set);
      } catch (error) {
        if (!(error instanceof RecordProblem)) throw error;
        const index = Number(/^records\/(\d+)$/.exec(error.path)?.[1] ?? 0);
        throw new ZoneFileProblem(lines[index]!, error.message);
      }
    }
    return [...this.#sets.values()].map(({ set }) => set);
  }
}

/** 5400 of "5400" and of "1h30m", as BIND and Knot read it; undefined for what is no time. */
function secondsOf(text: string): number | undefined {
  if (/^\d{1,10}$/.test(text)) return Number(text);
  if (!/^(?:\d{1,10}[smhdw])+$/i.test(text)) return undefined;
  const parts = [...text.toLowerCase().matchAll(/(\d+)([smhdw])/g)];
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * unitSeconds[unit!]!, 0);
}
