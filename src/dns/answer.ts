/** What a zone answers to a question (RFC 1034 §4.3.2, RFC 4592). */
import { parseRdata, soaRdata, typeCode } from "#dns/forms.ts";
import { tokensOf } from "#dns/master-file.ts";
import { absoluteName, apex, nameToWire, originOf, ownerOf, wireNameText } from "#dns/names.ts";
import { negativeTtlSeconds, type ServedSet, type ServedZone } from "#dns/served-zone.ts";
import { type TreeNode, ZoneTree } from "#dns/tree.ts";
import { classIn, type Question, rcode, type WireRecord, wireType } from "#dns/wire.ts";

export interface Answer {
  rcode: number;
  isAuthoritative: boolean;
  answers: WireRecord[];
  authority: WireRecord[];
  additional: WireRecord[];
}

type Node = TreeNode<ServedSet>;

/** A version never changes, so what is made of it is kept as long as it is. */
const trees = new WeakMap<ServedZone, ZoneTree<ServedSet>>();
const rdatas = new WeakMap<ServedSet, Buffer[]>();

function treeOf(zone: ServedZone): ZoneTree<ServedSet> {
  const present = trees.get(zone);
  if (present) return present;
  const tree = new ZoneTree(zone.sets);
  trees.set(zone, tree);
  return tree;
}

function rdataOf(set: ServedSet): Buffer[] {
  const present = rdatas.get(set);
  if (present) return present;
  const { type } = set;
  const made = set.records.map((text) => (type === "SOA" ? soaRdata(text) : parseRdata(type, tokensOf(text))));
  rdatas.set(set, made);
  return made;
}

/** @param name the owner in the message: for a wildcard it is the name of the question */
function recordsOf(set: ServedSet, name: Buffer, ttl = set.ttl): WireRecord[] {
  return rdataOf(set).map((rdata) => ({ name, type: typeCode(set.type), class: classIn, ttl, rdata }));
}

/** All records of a zone, SOA first. */
export function* zoneRecords(zone: ServedZone): Generator<WireRecord> {
  const origin = originOf(zone.name);
  for (const set of zone.sets) yield* recordsOf(set, nameToWire(absoluteName(origin, set.owner)));
}

/** CNAMEs that are followed; what is beyond, resolvers ask for. */
const chainLinksMax = 16;

/** @param question of class IN, whose name is in the zone */
export function answerQuestion(zone: ServedZone, question: Question): Answer {
  const origin = originOf(zone.name);
  const tree = treeOf(zone);
  const answers: WireRecord[] = [];
  let name = question.name;
  for (let links = 0; ; links += 1) {
    const owner = ownerOf(origin, wireNameText(name));
    if (owner === undefined || links > chainLinksMax) return complete(answers);
    const { kind, node } = tree.find(owner);
    const isDelegated = kind === "cut" && !(owner === node.owner && question.type === typeCode("DS"));
    if (isDelegated) return referral(origin, tree, node, answers);
    if (kind === "none") return negative(origin, tree, answers, rcode.nxDomain);
    const set = setFor(node, question.type);
    if (!set) return negative(origin, tree, answers, rcode.noError);
    answers.push(...recordsOf(set, name));
    if (set.type !== "CNAME" || isFinal(question.type)) return complete(answers);
    name = nameToWire(set.records[0]!);
    if (answers.some((record) => record.name.equals(name))) return complete(answers);
  }
}

const isFinal = (type: number): boolean => type === typeCode("CNAME") || type === wireType.any;

/** ANY gets one set (RFC 8482 §4.1). */
function setFor({ sets }: Node, type: number): ServedSet | undefined {
  const all = [...sets.values()];
  if (type === wireType.any) return all[0];
  return all.find((set) => typeCode(set.type) === type) ?? sets.get("CNAME");
}

function complete(answers: WireRecord[]): Answer {
  return { rcode: rcode.noError, isAuthoritative: true, answers, authority: [], additional: [] };
}

/** RFC 2308 §3; of a chain, the rcode is that of its last name (RFC 6604 §3). */
function negative(origin: string, tree: ZoneTree<ServedSet>, answers: WireRecord[], code: number): Answer {
  const soa = tree.get(apex)!.sets.get("SOA")!;
  const authority = recordsOf(soa, nameToWire(origin), Math.min(soa.ttl, negativeTtlSeconds));
  return { rcode: code, isAuthoritative: true, answers, authority, additional: [] };
}

/** AA is about the first name of the answer (RFC 1035 §4.1.1). */
function referral(origin: string, tree: ZoneTree<ServedSet>, cut: Node, answers: WireRecord[]): Answer {
  const ns = cut.sets.get("NS")!;
  const authority = recordsOf(ns, nameToWire(absoluteName(origin, cut.owner)));
  const additional = ns.records.flatMap((target) => {
    const owner = ownerOf(origin, target);
    const sets = owner === undefined ? undefined : tree.get(owner)?.sets;
    const glue = [sets?.get("A"), sets?.get("AAAA")].filter((set) => set !== undefined);
    return glue.flatMap((set) => recordsOf(set, nameToWire(target)));
  });
  return { rcode: rcode.noError, isAuthoritative: answers.length > 0, answers, authority, additional };
}
