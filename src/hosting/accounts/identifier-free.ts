/** Whether an account may be called so: what others have, and what is above or under theirs, is not available. */
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import type { HostIdentifier } from "#lib/host-identifier.ts";

const isLive = "status NOT IN ('Failed', 'Removed')";
/** SQL: a name under $2. Read backwards they stand together (db/migrations). */
const isUnder = (column: string) =>
  `reverse(${column}) COLLATE "C" > reverse($2) || '.' AND reverse(${column}) COLLATE "C" < reverse($2) || '/'`;

/** SQL: another reseller's site answers at a name for which this holds. */
const answersForAnother = (condition: string) => `EXISTS (
       SELECT FROM host_names JOIN hosting_accounts AS account ON account.id = account_id
       WHERE host_names.status = 'Proven' AND ${condition} AND account.reseller_id <> $1)`;

// Under a name of his own portfolio a reseller's accounts are called as he likes, whoever was there before. What others have
// under a name is not looked for among domains: above a domain name there are only suffixes, which are refused anyway.
const facts = statement(
  "hosting-identifier-facts",
  `WITH held AS MATERIALIZED (
     SELECT coalesce(bool_or(reseller_id = $1), false) AS in_own,
       coalesce(bool_or(reseller_id <> $1), false) AS in_anothers
     FROM domains WHERE domain_name = ANY (names_at_and_above($2)))
   SELECT in_anothers
     OR EXISTS (SELECT FROM hosting_accounts WHERE identifier = $2 AND ${isLive})
     OR EXISTS (SELECT FROM host_names WHERE host_name = $2 AND status = 'Proven')
     OR NOT in_own AND (
       EXISTS (SELECT FROM hosting_accounts
         WHERE identifier = ANY (names_at_and_above($2)) AND ${isLive} AND reseller_id <> $1)
       OR EXISTS (SELECT FROM hosting_accounts WHERE ${isUnder("identifier")} AND ${isLive} AND reseller_id <> $1)
       OR ${answersForAnother("host_name = ANY (names_at_and_above($2))")}
       OR ${answersForAnother(isUnder("host_name"))}) AS is_taken
   FROM held`,
  { is_taken: "bool" },
);

const hold = statement("hosting-identifier-hold", "SELECT hold_identifier($1)::text AS held", { held: "text" });

export async function isFreeFor(
  database: Pick<Transaction, "query">,
  resellerId: number,
  identifier: HostIdentifier,
): Promise<boolean> {
  const [found] = await database.query(facts, [resellerId, identifier]);
  if (!found) throw new Error("the facts about an identifier returned no row");
  return !found.is_taken;
}

/** Until the transaction's end nobody else makes an account of this name, or of one above it or under it. */
export async function holdIdentifier(tx: Pick<Transaction, "query">, identifier: HostIdentifier): Promise<void> {
  await tx.query(hold, [identifier]);
}
