import Type, { type Static, type TSchema } from "typebox";
import type { Context } from "#context.ts";
import { type SqlValue, type Statement, statement } from "#db/statement.ts";
import { departureColumns, describeDeparture } from "#domains/portfolio/departures.ts";
import { domainColumns, domainShape, presentDomain } from "#domains/portfolio/present.ts";
import { ApiError } from "#errors.ts";
import { textLike } from "#use-case/docs.ts";
import { parsePathName } from "#use-case/path-name.ts";
import type { Caller, UseCase } from "#use-case/use-case.ts";

// One query for both: a name of the portfolio, with its orders that have not ended, or the departure of a name whose last owner
// asks. By ended_at, because a plan for a
// small table would read all ids.
const names = Object.keys(domainColumns);
const domainByName = statement(
  "domain-by-name",
  `SELECT ${names.map((name) => `d.${name}`).join(", ")},
     ARRAY(SELECT order_code FROM orders WHERE domain_name = d.domain_name AND reseller_id = d.reseller_id AND ended_at IS NULL
       AND kind <> 'create'
       ORDER BY id) AS changes_pending,
     departure.ended_at, departure.reason, departure.gaining_registrar, departure.restorable_until
   FROM (SELECT $reseller_id::int8 AS reseller_id, $name::text AS name) AS asked
   LEFT JOIN domains AS d ON d.reseller_id = asked.reseller_id AND d.domain_name = asked.name
   LEFT JOIN LATERAL (
     SELECT reseller_id, ended_at, reason, gaining_registrar, restorable_until FROM domains_ended
     WHERE domain_name = asked.name AND NOT EXISTS (SELECT FROM domains WHERE domain_name = asked.name)
     ORDER BY ended_at DESC, id DESC LIMIT 1) AS departure ON departure.reseller_id = asked.reseller_id
   WHERE d.domain_name IS NOT NULL OR departure.ended_at IS NOT NULL`,
  { ...domainColumns, ...departureColumns, changes_pending: "text[]" },
);

/**
 * Reads one domain of the caller with one database query.
 * @param find selects it by the parameters `reseller_id` and `name`
 */
export const domainReader = <Row, Shape extends TSchema>(
  find: Statement<Row, { reseller_id: SqlValue; name: SqlValue }>,
  shape: Shape,
  present: (row: Row, context: Context, caller: Caller) => Static<Shape>,
): UseCase => ({
  errors: ["invalid_request", "domain_not_valid", "domain_not_found"],
  scope: "domains:read",
  docs: {
    operation: "readDomain",
    summary: "Reads one domain.",
    description: "If the domain has left your portfolio, `error_text` explains when and why.",
    answers: { 200: { description: "The domain.", body: shape } },
  },

  async handle(context, request) {
    const text = request.params.domain_name ?? "";
    if (text === "") throw new ApiError("invalid_request");
    const name = parsePathName(text);
    const [domain] = await context.database.point(find, { reseller_id: request.caller.resellerId, name });
    if (!domain) throw new ApiError("domain_not_found");
    return { status: 200, body: present(domain, context, request.caller) };
  },
});

const domainInFull = Type.Object(
  {
    ...domainShape.properties,
    changes_pending: Type.Array(textLike("CHG-GGRR9DSX-7NH"), {
      description: "The codes of its orders that have not ended, the oldest first.",
    }),
  },
  { title: "DomainInFull" },
);

/** GET /domains/<domain_name> */
export const readDomain = domainReader(domainByName, domainInFull, (domain, { clock }) => {
  if (domain.domain_name === null) throw new ApiError("domain_not_found", { text: describeDeparture(domain) });
  return { ...presentDomain(domain, clock.now()), changes_pending: domain.changes_pending };
});
