import type { RowOf } from "#db/statement.ts";
import { presentTransfer } from "#domains/portfolio/transfer.ts";
import type { SecDns } from "#registry/epp/commands/domain/sec-dns.ts";

/**
 * The columns of every read of domains, so that a domain has one public form. Everything may be null: an empty page is a row of
 * nulls, and so is a name that has left.
 */
export const domainColumns = {
  domain_name: "text?",
  expiration_date: "timestamptz?",
  will_renew: "bool?",
  registration_date: "timestamptz?",
  status: "text?",
  statuses: "text[]?",
  delegation: "jsonb?",
  dnssec: "jsonb?",
  transfer: "jsonb?",
} as const;

export type DomainRow = RowOf<typeof domainColumns>;

/** RFC 5731 §2.3: with this status other registrars cannot request a transfer. */
export const lockedStatus = "clientTransferProhibited";

/** The records in the form of `PUT /domains/<domain_name>/dnssec`; null without any. */
function presentDnssec(shown: SecDns | null) {
  const { dsData, keyData } = shown ?? {};
  if (keyData) {
    return {
      keys: keyData.map(({ flags, protocol, alg, pubKey }) => {
        return { flags, protocol, algorithm: alg, public_key: pubKey };
      }),
    };
  }
  if (!dsData) return null;
  return {
    ds: dsData.map(({ keyTag, alg, digestType, digest }) => {
      return { key_tag: keyTag, algorithm: alg, digest_type: digestType, digest };
    }),
  };
}

/** The public form of a domain: the three promised fields first, ours after them. */
export function presentDomain(row: DomainRow) {
  const transfer = presentTransfer(row.transfer);
  return {
    domain_name: row.domain_name,
    expiration_date: row.expiration_date?.toISOString(),
    will_renew: row.will_renew,
    registration_date: row.registration_date?.toISOString(),
    // The row keeps the status of the registration; the registry may have shown others since.
    status: row.statuses?.[0] ?? row.status,
    name_servers: row.delegation,
    dnssec: presentDnssec(row.dnssec as SecDns | null),
    statuses: row.statuses,
    transfer_locked: row.statuses?.includes(lockedStatus),
    ...(transfer && { transfer }),
  };
}
