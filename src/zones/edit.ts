/** What a change makes of the sets of a zone: which rows are written, and what its reseller reads about it. */
import type { RecordSet } from "#dns/records.ts";
import type { StoredSet } from "#zones/rows.ts";

/** A set as a change wants it. `ids` keeps the ids of records whose content changes. */
export interface WantedSet extends RecordSet {
  ids?: readonly (string | undefined)[];
}

/** A set as the API shows it. */
export interface ShownSet {
  subname: string;
  type: string;
  ttl: number;
  records: string[];
}

export interface Difference {
  added: ShownSet[];
  removed: ShownSet[];
  /** The sets to write, with the ids of their records. */
  written: { owner: string; type: string; ttl: number; records: readonly string[]; ids: number[] }[];
  /** The sets that go. */
  gone: { owner: string; type: string }[];
  lastRecordId: number;
  recordCount: number;
}

export const keyOf = ({ owner, type }: { owner: string; type: string }) => `${owner} ${type}`;

export const toRecordSet = ({ owner, type, ttl, records }: StoredSet): RecordSet =>
  ({ owner, type, ttl, records }) as RecordSet;

/** @param present the reseller's own sets @param wanted all of them as they are to be */
export function compareSets(
  present: readonly StoredSet[],
  wanted: readonly WantedSet[],
  lastRecordId: number,
): Difference {
  const before = new Map(present.map((set) => [keyOf(set), set]));
  const after = new Set(wanted.map(keyOf));
  const result: Difference = {
    added: [],
    removed: [],
    written: [],
    gone: [],
    lastRecordId,
    recordCount: wanted.reduce((sum, { records }) => sum + records.length, 0),
  };
  for (const set of wanted) noteSet(result, before.get(keyOf(set)), set);
  for (const set of present) {
    if (after.has(keyOf(set))) continue;
    result.gone.push({ owner: set.owner, type: set.type });
    result.removed.push(shownOf(set, set.records));
  }
  return result;
}

function noteSet(result: Difference, before: StoredSet | undefined, set: WantedSet): void {
  const { owner, type, ttl, records } = set;
  const old = before?.records ?? [];
  const isSame = before?.ttl === ttl && old.length === records.length && records.every((text) => old.includes(text));
  if (isSame) return;
  const ids = records.map((text, index) => {
    const kept = set.ids?.[index] ?? before?.ids[old.indexOf(text)];
    if (kept !== undefined) return Number(kept);
    result.lastRecordId += 1;
    return result.lastRecordId;
  });
  result.written.push({ owner, type, ttl, records, ids });
  // Another TTL is another set of the same records.
  const isRetimed = before !== undefined && before.ttl !== ttl;
  const added = records.filter((text) => isRetimed || !old.includes(text));
  const removed = old.filter((text) => isRetimed || !records.includes(text));
  if (added.length > 0) result.added.push(shownOf(set, added));
  if (before && removed.length > 0) result.removed.push(shownOf(before, removed));
}

const shownOf = ({ owner, type, ttl }: { owner: string; type: string; ttl: number }, records: readonly string[]) => ({
  subname: owner,
  type,
  ttl,
  records: [...records],
});
