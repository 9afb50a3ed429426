import Type, { type Static } from "typebox";
import type { RowOf } from "#db/statement.ts";
import { nameServerShape } from "#domains/name-servers/wanted.ts";
import { lockedStatus } from "#domains/portfolio/rows.ts";
import { domainStates, presentTransfer, stateOf, transferOf, transferShape } from "#domains/portfolio/state.ts";
import type { SecDns } from "#registry/epp/commands/domain/sec-dns.ts";
import { domainName, instant, textLike } from "#use-case/docs.ts";

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

const dnssecShape = Type.Union(
  [
    Type.Object({
      ds: Type.Array(
        Type.Object({
          key_tag: Type.Integer(),
          algorithm: Type.Integer(),
          digest_type: Type.Integer(),
          digest: Type.String(),
        }),
      ),
    }),
    Type.Object({
      keys: Type.Array(
        Type.Object({
          flags: Type.Integer(),
          protocol: Type.Integer(),
          algorithm: Type.Integer(),
          public_key: Type.String(),
        }),
      ),
    }),
    Type.Null(),
  ],
  { description: "The records that the registry shows, as DS records or as keys; null without any.", examples: [null] },
);

export const domainShape = Type.Object(
  {
    domain_name: domainName,
    expiration_date: instant,
    will_renew: Type.Boolean({ description: "Whether it renews at the end of its term.", examples: [true] }),
    registration_date: instant,
    state: Type.Enum([...domainStates], {
      description: "How the name is, in one word; docs/api.md explains each. A later release can have more.",
      examples: ["no_name_servers"],
    }),
    status: Type.String({ description: "One of RFC 5731 §2.3.", examples: ["ok"] }),
    name_servers: Type.Array(nameServerShape),
    dnssec: dnssecShape,
    statuses: Type.Array(textLike("ok")),
    transfer_locked: Type.Boolean({ examples: [false] }),
    transfer: Type.Optional(transferShape),
  },
  { title: "Domain" },
);

/** The records in the form of `PUT /domains/<domain_name>/dnssec`; null without any. */
function presentDnssec(shown: SecDns | null): Static<typeof dnssecShape> {
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

/** The public form of a domain: the three promised fields first, ours after them. @param row of a name of the portfolio */
export function presentDomain(row: DomainRow, now: Date): Static<typeof domainShape> {
  const transfer = presentTransfer(row.transfer);
  const statuses = row.statuses!;
  return {
    domain_name: row.domain_name!,
    expiration_date: row.expiration_date!.toISOString(),
    will_renew: row.will_renew!,
    registration_date: row.registration_date!.toISOString(),
    state: stateOf({
      statuses,
      expirationDate: row.expiration_date!,
      willRenew: row.will_renew!,
      transfer: transferOf(row.transfer),
      now,
    }),
    // The row keeps the status of the registration; the registry may have shown others since.
    status: statuses[0] ?? row.status!,
    name_servers: row.delegation as Static<typeof nameServerShape>[],
    dnssec: presentDnssec(row.dnssec as SecDns | null),
    statuses,
    transfer_locked: statuses.includes(lockedStatus),
    ...(transfer && { transfer }),
  };
}
