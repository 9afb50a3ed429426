/** Names beside the platform's one at which an account's site answers: who may have one, and their public form. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { InvalidHostIdentifier, parseHostIdentifier, parsePublicHostName } from "#lib/host-identifier.ts";

/** Control over a name is shown by a TXT record at this label under it. */
export const proofLabel = "_deedhouse";

/** What the TXT record has to say. */
export const proofText = (proof: string) => `deedhouse-site=${proof}`;

/** What every read of host names selects, so that they have one public form. */
export const hostNameColumns = {
  host_name: "text",
  proof: "text",
  status: "text",
  proven_by: "text?",
  reason: "text?",
  created_at: "timestamptz",
  checked_at: "timestamptz?",
  next_check_at: "timestamptz?",
} as const;

interface HostNameRow {
  host_name: string | null;
  proof: string | null;
  status: string | null;
  proven_by: string | null;
  reason: string | null;
  created_at: Date | null;
  checked_at: Date | null;
  next_check_at: Date | null;
}

/** The public form of a host name. */
export function presentHostName(row: HostNameRow) {
  return {
    host_name: row.host_name,
    status: row.status,
    record: { name: `${proofLabel}.${row.host_name}`, type: "TXT", value: proofText(row.proof ?? "") },
    ...(row.proven_by !== null && { proven_by: row.proven_by }),
    ...(row.reason !== null && { reason: row.reason }),
    created_at: row.created_at?.toISOString(),
    ...(row.checked_at && { checked_at: row.checked_at.toISOString() }),
    ...(row.next_check_at && { next_check_at: row.next_check_at.toISOString() }),
  };
}

/**
 * Reads a host name as a path has it.
 * @throws InvalidHostIdentifier also for names of the service and of its sites
 */
export function parseHostName({ reservedHosts, siteDomain }: Context, text: string): string {
  return parsePublicHostName(text, { reservedHosts: [...reservedHosts, siteDomain] });
}

/**
 * An identifier or host name of a path as it is looked up: what is none stays as it is, and is nobody's; so the answer costs
 * the same.
 */
export function canonicalForLookUp(text: string): string {
  try {
    return parseHostIdentifier(text, { reservedHosts: [] });
  } catch (error) {
    if (!(error instanceof InvalidHostIdentifier)) throw error;
    // PostgreSQL's texts cannot hold NUL; a space is in no name either.
    return text.replaceAll("\0", " ");
  }
}

/** SQL: the names at which an account's site shall answer now, beside the platform's one; `account` is its row. */
export const provenHostNames = `ARRAY (
  SELECT host_name FROM host_names WHERE account_id = account.id AND host_names.status = 'Proven' ORDER BY host_name)`;

/**
 * A new account's site answers at its bare identifier, where that is allowed. Somebody may register the name in this moment:
 * the look finds it out.
 */
export const answerAtIdentifier = statement(
  "host-name-answer-at-identifier",
  `WITH answering AS (
     INSERT INTO host_names (account_id, host_name, status, proven_by, created_at, checked_at)
     VALUES ($1, $2, 'Proven', 'identifier', $3, $3)
     ON CONFLICT (account_id, host_name) DO UPDATE SET status = 'Proven', proven_by = 'identifier', checked_at = $3
     RETURNING id)
   SELECT host_names_look(ARRAY (SELECT id FROM answering))::text AS looked`,
  { looked: "text" },
);

const waitAtIdentifiers = statement(
  "host-names-wait-at-identifiers",
  `INSERT INTO host_names (account_id, host_name, status, created_at)
   SELECT id, identifier, 'Waiting', $1 FROM hosting_accounts WHERE status NOT IN ('Failed', 'Removed')
   ON CONFLICT DO NOTHING`,
  {},
);
const lookAtIdentifiers = statement(
  "host-names-look-at-identifiers",
  `SELECT host_names_look(array_agg(host_names.id))::text AS looked
   FROM host_names JOIN hosting_accounts ON hosting_accounts.id = account_id AND identifier = host_name`,
  { looked: "text" },
);

/** The chore `bare-names`: the same for accounts that were made when their nodes answered there by themselves. */
export async function answerAtAllIdentifiers({ database, clock, bareIdentifiers }: Context): Promise<void> {
  if (!bareIdentifiers) return;
  await database.query(waitAtIdentifiers, [clock.now()]);
  await database.query(lookAtIdentifiers, []);
}
