/** Sites that are served at their bare identifiers without a proof, as the sandbox does. */
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
