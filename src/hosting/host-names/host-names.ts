/** Host names of an account's site, in addition to the platform's own name. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { InvalidHostIdentifier, parseHostIdentifier, parsePublicHostName } from "#lib/host-identifier.ts";

/** A TXT record at this label under a name proves control over the name. */
export const proofLabel = "_deedhouse";

/** The text of that TXT record. */
export const proofText = (proof: string) => `deedhouse-site=${proof}`;

/**
 * Parses a host name in a path.
 * @throws InvalidHostIdentifier also for names of the service and of its sites
 */
export function parseHostName({ reservedHosts, siteDomain }: Context, text: string): string {
  return parsePublicHostName(text, { reservedHosts: [...reservedHosts, siteDomain] });
}

/**
 * The form in which an identifier or host name in a path is looked up. An invalid one is looked up as it is and not found, so
 * that the answer takes as long as any other.
 */
export function canonicalForLookUp(text: string): string {
  try {
    return parseHostIdentifier(text, { reservedHosts: [] });
  } catch (error) {
    if (!(error instanceof InvalidHostIdentifier)) throw error;
    // PostgreSQL's text cannot contain NUL. No name contains a space either.
    return text.replaceAll("\0", " ");
  }
}

/** SQL, about a row `account`: the host names at which its site must be served. */
export const provenHostNames = `ARRAY (
  SELECT host_name FROM host_names WHERE account_id = account.id AND host_names.status = 'Proven' ORDER BY host_name)`;

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
