/**
 * GET /orders: the caller's registrations and orders about registered names, newest first, paged. A page
 * costs the same among a million orders: it reads the newest of each kind and status from an index, and `order_counts` has the
 * number of those that have ended. The orders of one name are few: they are read at once.
 */
import Type from "typebox";
import { kindNames } from "#domains/orders/order.ts";
import { orderColumns, orderShape, presentOrder, selectedOrder } from "#domains/orders/read.ts";
import { orderStatuses } from "#domains/orders/states.ts";
import { InvalidDomainName, parseDomainName } from "#lib/domain-name.ts";
import { csvTable } from "#use-case/csv.ts";
import { domainName, pageOf, pagingQuery } from "#use-case/docs.ts";
import { readChoice, readFilter } from "#use-case/filter.ts";
import { newestFirst, type PageSql, placeColumn } from "#use-case/newest-first.ts";
import { answerPage } from "#use-case/paging.ts";
import type { UseCase } from "#use-case/use-case.ts";

/** Beyond it, the rows that are skipped would cost more than the page. */
const skipRowsMax = 10_000;

const allKinds = kindNames.toSorted();

/** SQL: the wanted statuses that orders have until they end. */
const liveStatuses = `(SELECT status FROM unnest($statuses::text[]) AS status
  WHERE status IN ('NotProvisioned', 'Processing', 'Pending'))`;

/** SQL: the newest keys of each kind and status, at most as many as the page needs. */
const newestKeys = ({ beyond, order, rowsMax }: PageSql) => `
  SELECT key.at, key.code FROM unnest($kinds::text[]) AS wanted_kind (kind)
    CROSS JOIN unnest($statuses::text[]) AS wanted (status) CROSS JOIN LATERAL (
    SELECT created_at AS at, order_code AS code FROM orders AS row
    WHERE row.reseller_id = $reseller_id AND row.kind = wanted_kind.kind AND row.status = wanted.status
      AND ${beyond("created_at", "order_code")}
    ${order("created_at", "order_code")} LIMIT ${rowsMax}) AS key`;

/** SQL: how many. */
const total = `
  (SELECT coalesce(sum(row_count), 0) FROM order_counts
   WHERE reseller_id = $reseller_id AND kind = ANY ($kinds::text[]) AND status = ANY ($statuses::text[]))
  + (SELECT coalesce(sum(held.rows), 0) FROM unnest($kinds::text[]) AS wanted_kind (kind) CROSS JOIN ${liveStatuses} AS wanted
       CROSS JOIN LATERAL (
       SELECT count(*) AS rows FROM orders AS row
       WHERE row.reseller_id = $reseller_id AND row.kind = wanted_kind.kind AND row.status = wanted.status) AS held)`;

const shown = Object.keys(orderColumns).join(", ");

const pagesOfAll = newestFirst({
  name: "orders",
  total,
  keys: newestKeys,
  row: `FROM (SELECT ${selectedOrder} FROM orders WHERE order_code = chosen.code) AS found`,
  columns: orderColumns,
});

// By the name alone: a plan for a small table would read all orders of the reseller, or of a kind.
const pagesOfName = newestFirst({
  name: "orders-of-name",
  before: `of_name AS MATERIALIZED (
     SELECT ${selectedOrder} FROM orders WHERE domain_name = $domain_name AND reseller_id IS NOT DISTINCT FROM $reseller_id),
   own AS MATERIALIZED (
     SELECT ${shown} FROM of_name WHERE kind = ANY ($kinds::text[]) AND status = ANY ($statuses::text[])),`,
  total: "SELECT count(*) FROM own",
  keys: ({ beyond }) =>
    `SELECT created_at AS at, order_code AS code FROM own WHERE ${beyond("created_at", "order_code")}`,
  row: "FROM own WHERE own.order_code = chosen.code",
  columns: orderColumns,
});

export const listOrders: UseCase = {
  errors: ["invalid_paging_request", "bad_request"],
  scope: "domains:read",
  docs: {
    operation: "listOrders",
    summary: "Lists your orders, the newest first.",
    description: `Each has the form that it has at its address. A \`skip\` of more than ${skipRowsMax} is refused: follow the links.`,
    query: Type.Object({
      domain_name: Type.Optional(domainName),
      kind: Type.Optional(Type.Enum(kindNames)),
      status: Type.Optional(Type.Enum(orderStatuses)),
      ...pagingQuery,
    }),
    answers: { 200: pageOf(orderShape, { isCsvToo: true }) },
  },
  handle: async (context, request) =>
    answerPage(context, request, chooseList(request.query), "/orders", presentOrder, ordersCsv),
};

const ordersCsv = csvTable("orders", presentOrder, {
  order_code: (order) => order.order_code,
  kind: (order) => order.kind,
  domain_name: (order) => order.domain_name,
  status: (order) => order.status,
  created_at: (order) => order.created_at,
  ended_at: (order) => order.ended_at,
  error_code: (order) => order.error_code,
  error_text: (order) => order.error_text,
  next: (order) => order.next,
});

/** @throws ApiError `bad_request` that names the filter */
function chooseList(query: URLSearchParams) {
  const name = readFilter(query, "domain_name", "Give a domain name such as hello.example", findName);
  const kind = readChoice(query, "kind", allKinds);
  const status = readChoice(query, "status", orderStatuses);
  const filter = new URLSearchParams();
  if (name !== undefined) filter.set("domain_name", name);
  if (kind !== undefined) filter.set("kind", kind);
  if (status !== undefined) filter.set("status", status);
  const wanted = { kinds: kind ? [kind] : allKinds, statuses: status ? [status] : orderStatuses };
  const list = { list: "orders", nameColumn: placeColumn, filter: filter.toString(), skipRowsMax };
  return name === undefined
    ? { ...pagesOfAll, ...list, values: wanted }
    : { ...pagesOfName, ...list, values: { ...wanted, domain_name: name } };
}

function findName(text: string): string | undefined {
  try {
    return parseDomainName(text);
  } catch (error) {
    if (error instanceof InvalidDomainName) return undefined;
    throw error;
  }
}
