import Type, { type Static, type TSchema } from "typebox";
import { type DomainRow, domainColumns, domainShape, presentDomain } from "#domains/portfolio/present.ts";
import { type CsvTable, csvTable } from "#use-case/csv.ts";
import { pageOf, pagingQuery } from "#use-case/docs.ts";
import { parseInstant, readFilter } from "#use-case/filter.ts";
import { answerPage, countedPages, pagedList } from "#use-case/paging.ts";
import type { UseCase } from "#use-case/use-case.ts";

const portfolio = pagedList("domains", "domain_name", "FROM domains WHERE true", domainColumns);

// The index domains_portfolio has every column of the condition.
const filtered = countedPages(
  "filtered-domains",
  "domain_name",
  `FROM domains WHERE domain_name >= $from_name COLLATE "C" AND domain_name < $below_name COLLATE "C"
     AND expiration_date < $expires_before::timestamptz AND ($will_renew::bool IS NULL OR will_renew = $will_renew)`,
  domainColumns,
);

/** The caller's portfolio by name, whole or filtered, paged. */
export const domainsLister = <Shape extends TSchema>(
  shape: Shape,
  present: (row: DomainRow, now: Date) => Static<Shape>,
  csv?: CsvTable<DomainRow>,
): UseCase => ({
  errors: ["invalid_paging_request", "bad_request"],
  scope: "domains:read",
  docs: {
    operation: "listDomains",
    summary: "Lists your domains by name.",
    description: "All filters that are given must hold.",
    query: Type.Object({ ...filters, ...pagingQuery }),
    answers: { 200: pageOf(shape, { isCsvToo: csv !== undefined }) },
  },
  handle: async (context, request) => answerPage(context, request, chooseList(request.query), "/domains", present, csv),
});

const filters = {
  name_prefix: Type.Optional(Type.String({ description: "The beginning of the A-label.", examples: ["hel"] })),
  expires_before: Type.Optional(
    Type.String({
      description: "A date, which begins at midnight UTC, or a time such as 2027-01-31T12:00:00Z.",
      examples: ["2047-01-31"],
    }),
  ),
  will_renew: Type.Optional(Type.Boolean({ examples: [true] })),
};

/** GET /domains */
export const listDomains = domainsLister(
  domainShape,
  presentDomain,
  csvTable("domains", presentDomain, {
    domain_name: (domain) => domain.domain_name,
    expiration_date: (domain) => domain.expiration_date,
    will_renew: (domain) => domain.will_renew,
    registration_date: (domain) => domain.registration_date,
    status: (domain) => domain.status,
    statuses: (domain) => domain.statuses.join(" "),
    name_servers: (domain) => domain.name_servers.map(({ name }) => name).join(" "),
    dnssec: (domain) => domain.dnssec && JSON.stringify(domain.dnssec),
    transfer_locked: (domain) => domain.transfer_locked,
    transfer_status: (domain) => domain.transfer?.status,
    transfer_requested_at: (domain) => domain.transfer?.requested_at,
    transfer_gaining_registrar: (domain) => domain.transfer?.gaining_registrar,
    transfer_answer_by: (domain) => domain.transfer?.answer_by,
    state: (domain) => domain.state,
  }),
);

/** @throws ApiError `bad_request` that names the filter */
function chooseList(query: URLSearchParams): typeof portfolio {
  const prefix = readFilter(query, "name_prefix", wanted.name_prefix, parsePrefix);
  const expiresBefore = readFilter(query, "expires_before", wanted.expires_before, parseInstant);
  const willRenew = readFilter(query, "will_renew", wanted.will_renew, parseBoolean);
  const filter = new URLSearchParams();
  if (prefix !== undefined) filter.set("name_prefix", prefix);
  if (expiresBefore !== undefined) filter.set("expires_before", expiresBefore);
  if (willRenew !== undefined) filter.set("will_renew", String(willRenew));
  if (filter.size === 0) return portfolio;
  const values = {
    from_name: prefix ?? "",
    below_name: prefix === undefined ? afterAllNames : followingPrefix(prefix),
    expires_before: expiresBefore ?? "infinity",
    will_renew: willRenew ?? null,
  };
  return { ...filtered, list: "domains", nameColumn: "domain_name", filter: filter.toString(), values };
}

const wanted = {
  name_prefix:
    "Give the beginning of a name: letters a-z, digits, hyphens and dots, other letters as in the A-label (xn--…)",
  expires_before:
    "Give a date such as 2027-01-31, which begins at midnight UTC, or a time such as 2027-01-31T12:00:00Z",
  will_renew: "Give true or false",
};

/** In ASCII, the tilde comes after all characters of names. */
const afterAllNames = "~";

function parsePrefix(text: string): string | undefined {
  return /^[a-z0-9.-]{1,253}$/.test(text) ? text : undefined;
}

/** The first text that comes after all names with this prefix. */
function followingPrefix(prefix: string): string {
  return prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
}

function parseBoolean(text: string): boolean | undefined {
  return text === "true" || text === "false" ? text === "true" : undefined;
}
