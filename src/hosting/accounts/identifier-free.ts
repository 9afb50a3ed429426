/** Whether an identifier is available: not if others have it, or a name above or under it. */
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import type { HostIdentifier } from "#lib/host-identifier.ts";

const isLive = "status NOT IN ('Failed', 'Removed')";
/** SQL: a name under $identifier. An index on the reversed name finds them all in one range (db/migrations). */
const isUnder = (column: string) =>
  `reverse(${column}) COLLATE "C" > reverse($identifier) || '.' AND reverse(${column}) COLLATE "C" < reverse($identifier) || '/'`;

/** SQL: another reseller's site is served at a name that meets the condition. */
const servesAnother = (condition: string) => `EXISTS (
       SELECT FROM host_names JOIN hosting_accounts AS account ON account.id = account_id
       WHERE host_names.status = 'Proven' AND ${condition} AND account.reseller_id <> $reseller_id)`;

// Under the names of their portfolio, resellers choose identifiers freely, even where others had accounts before. Domains under
// the identifier need no check: above a domain name there are only suffixes, which are refused anyway.
const facts = statement(
  "hosting-identifier-facts",
  `WITH held AS MATERIALIZED (
     SELECT coalesce(bool_or(reseller_id = $reseller_id), false) AS in_own,
       coalesce(bool_or(reseller_id <> $reseller_id), false) AS in_anothers
     FROM domains WHERE domain_name = ANY (names_at_and_above($identifier)))
   SELECT in_anothers
     OR EXISTS (SELECT FROM hosting_accounts WHERE identifier = $identifier AND ${isLive})
     OR EXISTS (SELECT FROM host_names WHERE host_name = $identifier AND status = 'Proven')
     OR NOT in_own AND (
       EXISTS (SELECT FROM hosting_accounts
         WHERE identifier = ANY (names_at_and_above($identifier)) AND ${isLive} AND reseller_id <> $reseller_id)
       OR EXISTS (SELECT FROM hosting_accounts WHERE ${isUnder("identifier")} AND ${isLive} AND reseller_id <> $reseller_id)
       OR ${servesAnother("host_name = ANY (names_at_and_above($identifier))")}
       OR ${servesAnother(isUnder("host_name"))}) AS is_taken
   FROM held`,
  { is_taken: "bool" },
);

const lock = statement("hosting-identifier-lock", "SELECT hold_identifier($identifier)::text AS locked", {
  locked: "text",
});

export async function isFreeFor(
  database: Pick<Transaction, "query">,
  resellerId: number,
  identifier: HostIdentifier,
): Promise<boolean> {
  const [found] = await database.query(facts, { reseller_id: resellerId, identifier });
  if (!found) throw new Error("the facts about an identifier returned no row");
  return !found.is_taken;
}

/** Until the transaction ends, no other account with this identifier, or with a name above or under it, is created. */
export async function lockIdentifier(tx: Pick<Transaction, "query">, identifier: HostIdentifier): Promise<void> {
  await tx.query(lock, { identifier });
}
