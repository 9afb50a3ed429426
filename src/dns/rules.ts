/** What must hold of all sets of a zone together. */
import { parseRdata, type RecordType } from "#dns/forms.ts";
import { tokensOf } from "#dns/master-file.ts";
import { absoluteName, originOf, ownerOf } from "#dns/names.ts";
import { RecordProblem, type RecordSet } from "#dns/records.ts";
import { type TreeNode, ZoneTree } from "#dns/tree.ts";
import { printSets } from "#dns/zone-file.ts";

export interface ZoneLimits {
  setRecordsMax: number;
  zoneRecordsMax: number;
  /** Of the zone file that is exported, so that it can be imported again. */
  zoneFileBytesMax: number;
}

export const zoneLimitsDefault: ZoneLimits = {
  setRecordsMax: 100,
  zoneRecordsMax: 5_000,
  zoneFileBytesMax: 256 * 1024,
};

/** A set must fit into one message of 65,535 bytes, with the question and what is signed. */
const setWireBytesMax = 60_000;
/** Room in a zone file for $ORIGIN, SOA, apex NS and managed sets. */
const headBytesMax = 4_096;
/** Type, class, TTL, and the length of RDATA (RFC 1035 §3.2.1). */
const fixedBytes = 10;

type Node = TreeNode<RecordSet>;

const pathOf = ({ owner, type }: RecordSet): string => `${owner}/${type}`;

/**
 * Checks a whole zone: the user's sets, each of which `parseRecordSet` has made.
 * @throws RecordProblem; its path is the set, as "www/CNAME", or "records" for the zone
 */
export function checkZone(zone: string, sets: readonly RecordSet[], limits: ZoneLimits = zoneLimitsDefault): void {
  const origin = originOf(zone);
  checkAmounts(origin, sets, limits);
  const tree = new ZoneTree(sets);
  for (const node of tree.nodes) checkCname(node);
  for (const set of sets) checkTargets(origin, tree, set);
  for (const node of tree.nodes) checkDelegation(origin, tree, node);
}

function checkAmounts(origin: string, sets: readonly RecordSet[], limits: ZoneLimits): void {
  const seen = new Set<string>();
  let recordCount = 0;
  for (const set of sets) {
    const path = pathOf(set);
    if (seen.has(path)) throw new RecordProblem(path, "The zone has this set twice.");
    seen.add(path);
    recordCount += set.records.length;
    if (set.records.length > limits.setRecordsMax) {
      throw new RecordProblem(path, `A set has at most ${limits.setRecordsMax} records.`);
    }
    if (wireBytesOf(origin, set) > setWireBytesMax) {
      throw new RecordProblem(path, `A set has at most ${setWireBytesMax} bytes on the wire.`);
    }
  }
  if (recordCount > limits.zoneRecordsMax) {
    throw new RecordProblem("records", `A zone has at most ${limits.zoneRecordsMax} records.`);
  }
  const bytesMax = limits.zoneFileBytesMax - headBytesMax;
  if (Buffer.byteLength(printSets(sets)) > bytesMax) {
    throw new RecordProblem("records", `A zone has at most ${bytesMax} bytes as a zone file.`);
  }
}

function wireBytesOf(origin: string, { owner, type, records }: RecordSet): number {
  const ownerBytes = absoluteName(origin, owner).length + 1;
  return records.reduce((sum, text) => sum + ownerBytes + fixedBytes + parseRdata(type, tokensOf(text)).length, 0);
}

/** RFC 1034 §3.6.2. */
function checkCname({ sets }: Node): void {
  const cname = sets.get("CNAME");
  if (cname && sets.size > 1)
    throw new RecordProblem(pathOf(cname), "A CNAME is alone at its name: remove the others.");
}

/** The names that records of a set lead to, for types whose target must have addresses itself. */
function targetsOf({ type, records }: RecordSet): string[] {
  const withTarget: readonly RecordType[] = ["NS", "MX", "SRV"];
  return withTarget.includes(type) ? records.map((record) => record.slice(record.lastIndexOf(" ") + 1)) : [];
}

/** RFC 2181 §10.3. */
function checkTargets(origin: string, tree: ZoneTree<RecordSet>, set: RecordSet): void {
  for (const target of targetsOf(set)) {
    const owner = ownerOf(origin, target);
    if (owner === undefined) continue;
    const { node } = tree.find(owner);
    if (node?.sets.has("CNAME")) {
      throw new RecordProblem(pathOf(set), `The target ${target} is a CNAME: give the name that it leads to.`);
    }
  }
}

function checkDelegation(origin: string, tree: ZoneTree<RecordSet>, node: Node): void {
  const { owner, sets } = node;
  const cut = tree.cutOf(owner);
  if (!cut) {
    const ds = sets.get("DS");
    if (ds) throw new RecordProblem(pathOf(ds), "DS records are for a delegated name: it has no NS records.");
    return;
  }
  const targets = targetsOf(cut.sets.get("NS")!);
  const isTarget = targets.includes(absoluteName(origin, owner));
  for (const set of sets.values()) {
    const isGlue = isTarget && (set.type === "A" || set.type === "AAAA");
    if (isGlue || (cut === node && (set.type === "NS" || set.type === "DS"))) continue;
    throw new RecordProblem(
      pathOf(set),
      `The name ${cut.owner} is delegated by NS: it can have DS, and A and AAAA of its name servers, but nothing else.`,
    );
  }
  if (cut === node) for (const target of targets) checkGlue(origin, tree, node, target);
}

/** As Knot checks it: a name server in this zone needs an address, unless another delegation answers for it. */
function checkGlue(origin: string, tree: ZoneTree<RecordSet>, cut: Node, target: string): void {
  const owner = ownerOf(origin, target);
  if (owner === undefined) return;
  const place = tree.find(owner);
  const exact = tree.get(owner);
  if (place.kind === "cut" && place.node !== cut && !exact) return;
  const node = exact ?? (place.kind === "wildcard" ? place.node : undefined);
  if (!node?.sets.has("A") && !node?.sets.has("AAAA")) {
    const text = `The name server ${target} is in this zone: add its A or AAAA records.`;
    throw new RecordProblem(`${cut.owner}/NS`, text);
  }
}
