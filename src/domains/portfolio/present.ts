/** The columns of every read of domains, so that a domain has one public form. */
export const domainColumns = {
  domain_name: "text",
  expiration_date: "timestamptz",
  will_renew: "bool",
  registration_date: "timestamptz",
  status: "text",
  name_servers: "text[]",
} as const;

/** Everything may be null: an empty page is a row of nulls. */
export interface DomainRow {
  domain_name: string | null;
  expiration_date: Date | null;
  will_renew: boolean | null;
  registration_date: Date | null;
  status: string | null;
  name_servers: string[] | null;
}

/** The public form of a domain: the three promised fields first, ours after them. */
export function presentDomain(row: DomainRow) {
  return {
    domain_name: row.domain_name,
    expiration_date: row.expiration_date?.toISOString(),
    will_renew: row.will_renew,
    registration_date: row.registration_date?.toISOString(),
    status: row.status,
    name_servers: row.name_servers,
  };
}
