import Type, { type Static } from "typebox";
import { type RenewalStatus, renewalStatuses } from "#domains/schedule/states.ts";
import { csvTable } from "#use-case/csv.ts";
import { domainName, instant, pageOf, pagingQuery } from "#use-case/docs.ts";
import { readChoice } from "#use-case/filter.ts";
import { answerPage, pagedList } from "#use-case/paging.ts";
import type { UseCase } from "#use-case/use-case.ts";

const columns = {
  list_key: "text",
  domain_name: "text",
  term_ends_at: "timestamptz",
  will_renew: "bool",
  status: renewalStatuses,
  due_at: "timestamptz",
  renewed_until: "timestamptz?",
} as const;

const all = pagedList("renewals", "list_key", "FROM listed_renewals WHERE true", columns);

const byStatus = renewalStatuses.map((status) => {
  const source = `FROM listed_renewals WHERE status = '${status}'`;
  return [status, pagedList(`renewals/${status}`, "list_key", source, columns, `status=${status}`)] as const;
});

/** Nullable throughout: an empty page is a row of nulls. */
interface RenewalRow {
  domain_name: string | null;
  term_ends_at: Date | null;
  will_renew: boolean | null;
  status: RenewalStatus | null;
  due_at: Date | null;
  renewed_until: Date | null;
}

const renewalShape = Type.Object(
  {
    domain_name: domainName,
    expiration_date: Type.String({ ...instant, description: "The end of the renewal's term." }),
    will_renew: Type.Boolean({ examples: [true] }),
    status: Type.Enum(renewalStatuses),
    due_at: instant,
    renewed_until: Type.Optional(instant),
  },
  { title: "Renewal" },
);

/** GET /renewals: scheduled, current and ended renewals by the end of the term, paged. */
export const listRenewals: UseCase = {
  errors: ["invalid_paging_request", "bad_request"],
  scope: "domains:read",
  docs: {
    operation: "listRenewals",
    summary: "Lists renewals by the end of their term.",
    description: "The names that are due within the next weeks, renewals in progress and recent results.",
    query: Type.Object({ status: Type.Optional(Type.Enum(renewalStatuses)), ...pagingQuery }),
    answers: { 200: pageOf(renewalShape, { isCsvToo: true }) },
  },
  async handle(context, request) {
    const status = readChoice(request.query, "status", renewalStatuses);
    const list = byStatus.find(([name]) => name === status)?.[1] ?? all;
    return answerPage(context, request, list, "/renewals", presentRenewal, renewalsCsv);
  },
};

function presentRenewal(row: RenewalRow): Static<typeof renewalShape> {
  return {
    domain_name: row.domain_name!,
    expiration_date: row.term_ends_at!.toISOString(),
    will_renew: row.will_renew!,
    status: row.status!,
    due_at: row.due_at!.toISOString(),
    ...(row.renewed_until && { renewed_until: row.renewed_until.toISOString() }),
  };
}

const renewalsCsv = csvTable("renewals", presentRenewal, {
  domain_name: (renewal) => renewal.domain_name,
  expiration_date: (renewal) => renewal.expiration_date,
  will_renew: (renewal) => renewal.will_renew,
  status: (renewal) => renewal.status,
  due_at: (renewal) => renewal.due_at,
  renewed_until: (renewal) => renewal.renewed_until,
});
