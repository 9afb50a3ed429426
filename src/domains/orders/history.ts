/** GET /domains/<domain_name>/history: the caller's orders about a name, and what else happened to it, newest first, paged. */
import Type, { type Static } from "typebox";
import { statement } from "#db/statement.ts";
import { orderColumns, orderShape, presentOrder, selectedOrder } from "#domains/orders/read.ts";
import { ApiError } from "#errors.ts";
import { instant, pageOf, pagingQuery, textLike } from "#use-case/docs.ts";
import { newestFirst, placeColumn } from "#use-case/newest-first.ts";
import { answerPage } from "#use-case/paging.ts";
import { parsePathName } from "#use-case/path-name.ts";
import type { UseCase } from "#use-case/use-case.ts";

const shown = Object.keys(orderColumns);
const columns = { at: "timestamptz", event: "text", note: "text", ...orderColumns } as const;

// By the name alone: a plan for a small table would read all orders of the reseller. What happened while another reseller held the name is not this one's.
const pages = newestFirst({
  name: "domain-history",
  before: `own AS MATERIALIZED (
     SELECT created_at AS at, order_code AS code, 'ordered' AS event, NULL AS note, ${selectedOrder} FROM orders WHERE domain_name = $domain_name AND reseller_id IS NOT DISTINCT FROM $reseller_id
     UNION ALL
     SELECT at, 'event-' || id, event, note, ${shown.map(() => "NULL").join(", ")}
     FROM domain_history WHERE domain_name = $domain_name AND reseller_id = $reseller_id),`,
  total: "SELECT count(*) FROM own",
  keys: ({ beyond }) => `SELECT at, code FROM own WHERE ${beyond("at", "code")}`,
  row: "FROM own WHERE own.code = chosen.code",
  columns,
});

const isHeld = statement(
  "domain-is-held",
  "SELECT domain_name FROM domains WHERE domain_name = $domain_name AND reseller_id = $reseller_id",
  { domain_name: "text" },
);

const eventShape = Type.Object(
  {
    at: instant,
    event: Type.String({
      ...textLike("renewed", "ordered"),
      description: "A program ignores events that it does not know.",
    }),
    text: Type.Optional(textLike("2028-11-21T01:39:27.687Z")),
    order: Type.Optional(orderShape),
  },
  { title: "DomainEvent" },
);

export const readDomainHistory: UseCase = {
  errors: ["invalid_paging_request", "domain_not_valid", "domain_not_found"],
  scope: "domains:read",
  docs: {
    operation: "readDomainHistory",
    summary:
      "Lists what happened to a name while it was in your portfolio, and your orders about it, the newest first.",
    query: Type.Object(pagingQuery),
    answers: { 200: pageOf(eventShape) },
  },
  async handle(context, request) {
    const name = parsePathName(request.params.domain_name ?? "");
    const values = { domain_name: name };
    const path = `/domains/${name}/history`;
    const list = { list: path, nameColumn: placeColumn, filter: "", values };
    const answer = await answerPage(context, request, { ...pages, ...list }, path, (row): Static<typeof eventShape> => {
      const { at, event, note, order_code } = row;
      return {
        at: at.toISOString(),
        event,
        ...(note !== null && { text: note }),
        ...(order_code !== null && { order: presentOrder(row) }),
      };
    });
    if (answer.headers?.["x-paging-totalresults"] === "0") {
      // An operator can add a name without an order.
      const held = await context.database.point(isHeld, { domain_name: name, reseller_id: request.caller.resellerId });
      if (held.length === 0) throw new ApiError("domain_not_found");
    }
    return answer;
  },
};
