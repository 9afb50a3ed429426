import { placedOrder } from "./response.ts";
import type { Send } from "./transport.ts";
import type { DnssecRecords, NameServer, PlacedOrder, WriteOptions } from "./types.ts";

/** The calls for a name's delegation. Each orders a change. */
export interface DelegationCalls {
  /** Replaces the name servers. Hosts below the name itself need addresses, unless they exist. */
  setNameServers(
    domainName: string,
    nameServers: readonly (string | NameServer)[],
    options?: WriteOptions,
  ): Promise<PlacedOrder>;
  /** Replaces the DNSSEC records. */
  setDnssec(domainName: string, records: DnssecRecords, options?: WriteOptions): Promise<PlacedOrder>;
}

export function delegationCalls(send: Send): DelegationCalls {
  const put = async (domainName: string, what: string, body: object, options: WriteOptions = {}) => {
    const path = `/domains/${encodeURIComponent(domainName)}/${what}`;
    return placedOrder(await send({ method: "PUT", path, body, ...options }));
  };
  return {
    setNameServers: (domainName, nameServers, options) =>
      put(domainName, "nameservers", { name_servers: nameServers }, options),
    setDnssec: (domainName, records, options) => put(domainName, "dnssec", records, options),
  };
}
