import Type, { type Static } from "typebox";
import type { RowOf } from "#db/statement.ts";
import { type DepartureReason, departureReasons } from "#domains/portfolio/rows.ts";
import { csvTable } from "#use-case/csv.ts";
import { domainName, instant, pageOf, pagingQuery, textLike } from "#use-case/docs.ts";
import { answerPage, pagedList } from "#use-case/paging.ts";
import type { UseCase } from "#use-case/use-case.ts";

/** The columns of every read of departures. Everything may be null: an empty page is a row of nulls. */
export const departureColumns = {
  ended_at: "timestamptz?",
  reason: [...departureReasons, null],
  gaining_registrar: "text?",
  restorable_until: "timestamptz?",
} as const;

type DepartureRow = RowOf<typeof departureColumns>;

const columns = { list_key: "text", domain_name: "text", ...departureColumns } as const;
const departures = pagedList("departures", "list_key", "FROM domains_ended WHERE true", columns);

const departureShape = Type.Object(
  {
    domain_name: domainName,
    left_at: instant,
    reason: Type.Enum(departureReasons),
    gaining_registrar: Type.Optional(
      Type.String({
        ...textLike("other-registrar"),
        description: "The registrar that has the name, if the registry says it.",
      }),
    ),
    restorable_until: Type.Optional(
      Type.String({ ...instant, description: "Until then the registry can restore it." }),
    ),
  },
  { title: "Departure" },
);

/** GET /domains/departures: the names that have left the caller's portfolio, the newest departure first, paged. */
export const listDepartures: UseCase = {
  errors: ["invalid_paging_request"],
  scope: "domains:read",
  docs: {
    operation: "listDepartures",
    summary: "Lists the names that have left your portfolio, the newest departure first.",
    query: Type.Object(pagingQuery),
    answers: { 200: pageOf(departureShape, { isCsvToo: true }) },
  },
  handle: (context, request) =>
    answerPage(context, request, departures, "/domains/departures", presentDeparture, departuresCsv),
};

function presentDeparture(row: DepartureRow & { domain_name: string }): Static<typeof departureShape> {
  const { ended_at, gaining_registrar, restorable_until } = row;
  return {
    domain_name: row.domain_name,
    left_at: ended_at!.toISOString(),
    reason: row.reason!,
    ...(gaining_registrar !== null && { gaining_registrar }),
    ...(restorable_until && { restorable_until: restorable_until.toISOString() }),
  };
}

const departuresCsv = csvTable("departures", presentDeparture, {
  domain_name: (departure) => departure.domain_name,
  left_at: (departure) => departure.left_at,
  reason: (departure) => departure.reason,
  gaining_registrar: (departure) => departure.gaining_registrar,
  restorable_until: (departure) => departure.restorable_until,
});

const sentences: Readonly<Record<DepartureReason, string>> = {
  transferred: "it was transferred to another registrar",
  deleted: "it was deleted",
  expired: "its registration expired",
};

/** What the last owner of a name reads in place of the name. */
export function describeDeparture(row: DepartureRow): string {
  const { ended_at, gaining_registrar, restorable_until } = row;
  const to = gaining_registrar === null ? "" : ` (${gaining_registrar})`;
  const until = restorable_until ? ` It can be restored until ${restorable_until.toISOString()}.` : "";
  const left = `it left at ${ended_at?.toISOString()}, because ${sentences[row.reason!]}${to}`;
  return `This domain name is not in your portfolio any more: ${left}.${until}`;
}
