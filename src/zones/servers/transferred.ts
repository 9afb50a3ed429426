/** What a name server has: the zones of the catalog, and their records. */

import { soaSerial } from "#dns/feed.ts";
import { isRecordType, printRdata, recordTypes, typeCode } from "#dns/forms.ts";
import { apex, nameFromWire, ownerOf, wireNameText } from "#dns/names.ts";
import type { RecordSet } from "#dns/records.ts";
import type { WireRecord } from "#dns/wire.ts";
import { beaconName } from "#zones/servers/catalog.ts";

const typeOf = new Map(recordTypes.map((type) => [typeCode(type), type]));

export interface TransferredZone {
  serial: number;
  /** Without SOA and the zone's own NS. */
  sets: RecordSet[];
}

/** @param records of a transfer, SOA first */
export function readTransferred(name: string, records: readonly WireRecord[]): TransferredZone {
  const sets = new Map<string, RecordSet>();
  for (const { name: wireName, type: code, ttl, rdata } of records) {
    const type = typeOf.get(code);
    const owner = ownerOf(`${name}.`, wireNameText(wireName));
    if (!type || !isRecordType(type) || owner === undefined || (owner === apex && type === "NS")) continue;
    const set = sets.get(`${owner} ${type}`) ?? { owner, type, ttl, records: [] };
    set.records.push(printRdata(type, rdata));
    sets.set(`${owner} ${type}`, set);
  }
  return { serial: soaSerial(records[0]!.rdata)!, sets: [...sets.values()] };
}

/** The zones of a catalog, with their labels. The beacon is none. @param records of its transfer */
export function readMembers(label: string, records: readonly WireRecord[]): { label: string; name: string }[] {
  const shape = /^([0-9a-f]{32})\.zones\./;
  return records.flatMap(({ name, type, rdata }) => {
    const found = type === typeCode("PTR") ? shape.exec(wireNameText(name)) : null;
    const member = found && nameFromWire(rdata, 0).name.toLowerCase().slice(0, -1);
    return found && member !== beaconName(label) ? [{ label: found[1]!, name: member! }] : [];
  });
}

const key = ({ owner, type, ttl, records }: RecordSet) => `${owner} ${ttl} ${type} ${[...records].sort().join(" | ")}`;

/** The sets that only one side has, as text. */
export function differences(theirs: readonly RecordSet[], ours: readonly RecordSet[]) {
  const [there, here] = [new Set(theirs.map(key)), new Set(ours.map(key))];
  return {
    only_there: [...there].filter((each) => !here.has(each)),
    only_here: [...here].filter((each) => !there.has(each)),
  };
}
