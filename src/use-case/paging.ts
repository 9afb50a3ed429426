/**
 * Paging by position (`skip`, `take`) and by cursor (`link`). Every page costs as much as the first.
 *
 * `list_chunks` (see its migration) leads to a position: add up the chunks before it, then walk the rest of one chunk.
 * A cursor names the row where it stands, and a MAC binds it to reseller and list. Following `next` never skips or
 * repeats a row, even when rows are inserted or removed in the meantime.
 */

import type { Context } from "#context.ts";
import { type Columns, orNull, type RowOf, type Statement, statement } from "#db/statement.ts";
import { ApiError } from "#errors.ts";
import type { Answer, UseCaseRequest } from "#use-case/use-case.ts";

const takeDefault = 25;
const takeMax = 100;
const skipPattern = /^(0|[1-9][0-9]{0,8})$/;
const takePattern = /^[1-9][0-9]{0,8}$/;
const cursorMacBytes = 16;

type Page = { kind: "skip"; skip: number; take: number } | { kind: "next" | "prev"; name: string; take: number };

/** The three statements of a paged list. */
export interface PagedList<Row> {
  /** The list's name in `list_chunks`. */
  list: string;
  nameColumn: string;
  /** The query's parameters beside the page, e.g. `status=Renewed`; empty for the whole list. */
  filter: string;
  bySkip: Statement<Row>;
  next: Statement<Row>;
  prev: Statement<Row>;
}

/**
 * Declares a list's statements.
 * @param source the table and the condition that lists a row, e.g. `FROM domains WHERE true`
 * @param filter the query's parameters beside the page, when the list is part of another list
 */
export function pagedList<const C extends Columns>(
  list: string,
  nameColumn: string,
  source: string,
  columns: C,
  filter = "",
): PagedList<RowOf<C> & { total_: number; skipped_: number }> {
  const names = Object.keys(columns);
  const pageColumns = Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, orNull(column)])) as C;
  const all = { ...pageColumns, total_: "int8", skipped_: "int8" } as const;
  const build = (kind: string, start: string, rows: string, order: string) =>
    statement(
      `${list}-page-${kind}`,
      `WITH chunks AS MATERIALIZED (
         SELECT first_name, row_count, sum(row_count) OVER (ORDER BY first_name) - row_count AS before
         FROM list_chunks WHERE list = '${list}' AND reseller_id = $reseller_id
       ), start AS MATERIALIZED (${start})
       SELECT ${names.map((name) => `page.${name}`).join(", ")},
              (SELECT coalesce(sum(row_count), 0)::int8 FROM chunks) AS total_,
              coalesce((SELECT position FROM start), 0)::int8 AS skipped_
       FROM (SELECT 1) AS one LEFT JOIN LATERAL (${rows}) AS page ON true
       ORDER BY page.${nameColumn} ${order}`,
      all,
    ) as unknown as Statement<RowOf<C> & { total_: number; skipped_: number }>;
  const select = `SELECT ${names.join(", ")} ${source} AND reseller_id = $reseller_id`;
  const positionOf = (comparison: string) =>
    `SELECT before + (SELECT count(*) ${source} AND reseller_id = $reseller_id AND ${nameColumn} >= chunks.first_name
                        AND ${nameColumn} ${comparison} $at COLLATE "C") AS position
     FROM chunks WHERE first_name <= $at COLLATE "C" ORDER BY first_name DESC LIMIT 1`;
  return {
    list,
    nameColumn,
    filter,
    bySkip: build(
      "skip",
      "SELECT first_name, before, $at::int8 AS position FROM chunks WHERE before <= $at::int8 ORDER BY before DESC LIMIT 1",
      // The walk to the page reads names from the index only: it fetches no rows to discard them.
      `${select} AND ${nameColumn} >= (
         SELECT ${nameColumn} ${source} AND reseller_id = $reseller_id AND ${nameColumn} >= (SELECT first_name FROM start)
         ORDER BY ${nameColumn} OFFSET (SELECT $at::int8 - before FROM start) LIMIT 1)
       ORDER BY ${nameColumn} LIMIT $limit`,
      "ASC",
    ),
    next: build(
      "next",
      positionOf("<="),
      `${select} AND ${nameColumn} > $at COLLATE "C" ORDER BY ${nameColumn} LIMIT $limit`,
      "ASC",
    ),
    prev: build(
      "prev",
      positionOf("<"),
      `${select} AND ${nameColumn} < $at COLLATE "C" ORDER BY ${nameColumn} DESC LIMIT $limit`,
      "DESC",
    ),
  };
}

/**
 * Answers a list request: 200, an array, and the paging headers.
 * @param present turns a row into its public form
 * @throws ApiError `invalid_paging_request`
 */
export async function answerPage<Row extends { total_: number; skipped_: number }>(
  context: Context,
  request: UseCaseRequest,
  list: PagedList<Row>,
  path: string,
  present: (row: Row) => unknown,
): Promise<Answer> {
  const page = parsePage(context, request, list.list);
  const found = await context.database.point(page.kind === "skip" ? list.bySkip : list[page.kind], {
    reseller_id: request.caller.resellerId,
    at: page.kind === "skip" ? page.skip : page.name,
    limit: page.take + 1,
  });
  const nameOf = (row: Row) => (row as unknown as Record<string, string | null>)[list.nameColumn];
  const head = found[0];
  const rows = found.filter((row) => nameOf(row) !== null);
  const more = rows.length > page.take;
  rows.length = Math.min(rows.length, page.take);
  if (page.kind === "prev") rows.reverse();
  const skipped = skippedOf(page, head?.skipped_ ?? 0, rows.length);

  const filter = list.filter === "" ? "" : `${list.filter}&`;
  const link = (relation: string, target: string) => `<${request.prefix}${path}?${filter}${target}>; rel="${relation}"`;
  const cursor = (kind: "next" | "prev", row: Row | undefined) =>
    `take=${page.take}&cursor=${sealCursor(context, request.caller.resellerId, list.list, kind, nameOf(row!) ?? "")}`;
  const links = [link("first", `take=${page.take}`)];
  if (rows.length > 0 && (page.kind === "prev" || more)) links.push(link("next", cursor("next", rows.at(-1))));
  if (rows.length > 0 && (page.kind === "prev" ? more : skipped > 0)) links.push(link("prev", cursor("prev", rows[0])));
  return {
    status: 200,
    headers: {
      "x-paging-skipped": String(skipped),
      "x-paging-take": String(page.take),
      "x-paging-totalresults": String(head?.total_ ?? 0),
      link: links.join(", "),
    },
    body: rows.map(present),
  };
}

function skippedOf(page: Page, position: number, rowCount: number): number {
  if (page.kind === "skip") return page.skip;
  return page.kind === "next" ? position : Math.max(0, position - rowCount);
}

function parsePage(context: Context, request: UseCaseRequest, list: string): Page {
  const single = (name: string): string | undefined => {
    const values = request.query.getAll(name);
    if (values.length > 1) throw new ApiError("invalid_paging_request");
    return values[0];
  };
  const skip = single("skip");
  const take = single("take");
  const cursor = single("cursor");
  if (skip !== undefined && !skipPattern.test(skip)) throw new ApiError("invalid_paging_request");
  if (take !== undefined && !takePattern.test(take)) throw new ApiError("invalid_paging_request");
  const applied = Math.min(take === undefined ? takeDefault : Number(take), takeMax);
  if (cursor === undefined) return { kind: "skip", skip: Number(skip ?? 0), take: applied };
  const opened = skip === undefined ? openCursor(context, request.caller.resellerId, list, cursor) : undefined;
  if (!opened) throw new ApiError("invalid_paging_request");
  return { ...opened, take: applied };
}

function cursorMac(context: Context, resellerId: number, list: string, text: string): Buffer {
  return context.sealer.hmac("cursor", `${resellerId}\n${list}\n${text}`).subarray(0, cursorMacBytes);
}

function sealCursor(context: Context, resellerId: number, list: string, kind: "next" | "prev", name: string): string {
  const text = `${kind} ${name}`;
  return Buffer.concat([cursorMac(context, resellerId, list, text), Buffer.from(text)]).toString("hex");
}

function openCursor(context: Context, resellerId: number, list: string, cursor: string) {
  if (!/^([0-9a-f]{2}){17,600}$/.test(cursor)) return undefined;
  const bytes = Buffer.from(cursor, "hex");
  const text = bytes.subarray(cursorMacBytes).toString();
  if (!cursorMac(context, resellerId, list, text).equals(bytes.subarray(0, cursorMacBytes))) return undefined;
  const space = text.indexOf(" ");
  return { kind: text.slice(0, space) as "next" | "prev", name: text.slice(space + 1) };
}
