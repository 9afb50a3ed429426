/** What a reconciliation needs to know about a server in addition to its accounts. */
import type { Homes } from "#nodes/proftpd-nginx/homes.ts";
import type { Records } from "#nodes/proftpd-nginx/records.ts";

export interface Strays {
  /** Homes without an account. */
  uids: number[];
  /** Accounts without a home. */
  withoutHome: number[];
  /** Host names without an account. */
  hostNames: string[];
}

/** Compares what is on disk with the records. */
export function findStrays({
  homes,
  records,
  siteDomain,
}: {
  homes: Homes;
  records: Records;
  siteDomain: string;
}): Strays {
  const { uids, hostNames } = homes.survey();
  const accounts = records.list();
  const homesThere = new Set(uids);
  const answering = new Set(
    accounts.flatMap(({ identifier, hostNames }) => [`${identifier}.${siteDomain}`, ...hostNames]),
  );
  return {
    uids: uids.filter((uid) => records.get(uid) === undefined),
    withoutHome: accounts.map(({ uid }) => uid).filter((uid) => !homesThere.has(uid)),
    hostNames: hostNames.filter((name) => !answering.has(name)),
  };
}
