/** Sites that are served at their bare identifiers without a proof, as the sandbox does. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";

/**
 * Serves a new account's site at its bare identifier, where that is allowed. The check finds out if somebody registers the name
 * at the same time.
 */
export const serveAtIdentifier = statement(
  "host-name-serve-at-identifier",
  `WITH served AS (
     INSERT INTO host_names (account_id, host_name, status, proven_by, created_at, checked_at)
     VALUES ($account_id, $host_name, 'Proven', 'identifier', $now, $now)
     ON CONFLICT (account_id, host_name) DO UPDATE SET status = 'Proven', proven_by = 'identifier', checked_at = $now
     RETURNING id)
   SELECT host_names_look(ARRAY (SELECT id FROM served))::text AS done`,
  { done: "text" },
);

const addIdentifiers = statement(
  "host-names-add-identifiers",
  `INSERT INTO host_names (account_id, host_name, status, created_at)
   SELECT id, identifier, 'Waiting', $now FROM hosting_accounts WHERE status NOT IN ('Failed', 'Removed')
   ON CONFLICT DO NOTHING`,
  {},
);
const checkIdentifiers = statement(
  "host-names-check-identifiers",
  `SELECT host_names_look(array_agg(host_names.id))::text AS done
   FROM host_names JOIN hosting_accounts ON hosting_accounts.id = account_id AND identifier = host_name`,
  { done: "text" },
);

/** The chore `bare-names`: does the same for accounts of earlier releases, whose nodes served the identifier by themselves. */
export async function serveAtAllIdentifiers({ database, clock, bareIdentifiers }: Context): Promise<void> {
  if (!bareIdentifiers) return;
  await database.query(addIdentifiers, { now: clock.now() });
  await database.query(checkIdentifiers, []);
}
