import { runSql } from "./sql.ts";

/** What a test says of a name; the rest is as of a name that was registered now and ends now. */
interface InsertedDomain {
  name: string;
  registryId?: string;
  registeredAt?: string;
  /** Also the registry's date. */
  expiresAt?: string;
  willRenew?: boolean;
  statuses?: string[];
  delegation?: { name: string }[];
}

/** Puts names into a reseller's portfolio. The registry does not know them. */
export async function insertDomains(
  url: string,
  { id }: { id: number },
  domains: readonly (string | InsertedDomain)[],
): Promise<void> {
  const rows = domains.map((domain) => (typeof domain === "string" ? { name: domain } : domain));
  await runSql(
    url,
    `INSERT INTO domains (domain_name, reseller_id, registry_id, registration_date, expiration_date, registry_ex_date,
       will_renew, status, statuses, delegation)
     SELECT name, $1, coalesce("registryId", 'sandbox'), coalesce("registeredAt", now()), coalesce("expiresAt", now()),
       coalesce("expiresAt", now()), coalesce("willRenew", true), 'ok', coalesce(statuses, '{}'), coalesce(delegation, '[]')
     FROM json_to_recordset($2) AS given (name text, "registryId" text, "registeredAt" timestamptz, "expiresAt" timestamptz,
       "willRenew" bool, statuses text[], delegation jsonb)`,
    [id, JSON.stringify(rows)],
  );
}
