import { answerOf, idFromLocation } from "./response.ts";
import { newIdempotencyKey } from "./sign.ts";
import type { Send } from "./transport.ts";
import type { Answer, CreateOptions, NameServer } from "./types.ts";

/** A DS record (RFC 4034 §5.1). */
export interface DsRecord {
  key_tag: number;
  algorithm: number;
  digest_type: number;
  /** Hexadecimal. */
  digest: string;
}

/** A DNSKEY record (RFC 4034 §2.1). */
export interface KeyRecord {
  flags: number;
  protocol?: number | undefined;
  algorithm: number;
  /** Base64. */
  public_key: string;
}

/** An empty array removes all records. */
export type DnssecRecords = { ds: readonly DsRecord[] } | { keys: readonly KeyRecord[] };

/** The calls for a name's delegation. Each orders a change: follow `data.order_code` with `waitForOrder`. */
export interface DelegationCalls {
  /** Replaces the name servers. Hosts below the name itself need addresses, unless they exist. */
  setNameServers(
    domainName: string,
    nameServers: readonly (string | NameServer)[],
    options?: CreateOptions,
  ): Promise<Answer<{ order_code: string }>>;
  /** Replaces the DNSSEC records. */
  setDnssec(
    domainName: string,
    records: DnssecRecords,
    options?: CreateOptions,
  ): Promise<Answer<{ order_code: string }>>;
}

export function delegationCalls(send: Send): DelegationCalls {
  const put = async (domainName: string, what: string, body: object, options: CreateOptions = {}) => {
    const { idempotencyKey = newIdempotencyKey(), signal } = options;
    const path = `/domains/${encodeURIComponent(domainName)}/${what}`;
    const reply = await send({ method: "PUT", path, body, idempotencyKey, signal });
    return answerOf(reply, { order_code: idFromLocation(reply) });
  };
  return {
    setNameServers: (domainName, nameServers, options) =>
      put(domainName, "nameservers", { name_servers: nameServers }, options),
    setDnssec: (domainName, records, options) => put(domainName, "dnssec", records, options),
  };
}
