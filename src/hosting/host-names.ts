/** Names beside the platform's one at which an account's site answers: who may have one, and their public form. */
import type { Context } from "#context.ts";
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

/**
 * SQL: the names at which an account's site shall answer now, beside the platform's one; `account` is its row. A node
 * refuses a name that another account is called by. No new account can be called so, but for one that is made in the very
 * moment in which the name is proven.
 */
export const provenHostNames = `ARRAY (
  SELECT host_name FROM host_names WHERE account_id = account.id AND host_names.status = 'Proven' AND NOT EXISTS (
    SELECT FROM hosting_accounts AS other
    WHERE other.identifier = host_name AND other.id <> account.id AND other.status NOT IN ('Failed', 'Removed'))
  ORDER BY host_name)`;
