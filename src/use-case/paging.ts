/**
 * Paging by position (`skip`, `take`) and by cursor (`link`). Every page costs as much as the first.
 *
 * `list_chunks` (db/migrations/0001-baseline.sql) leads to a position: add up the chunks before it, then walk the rest of one chunk.
 * A cursor names the row where it stands, and a MAC binds it to reseller and list. Following `next` never skips or
 * repeats a row, even when rows are inserted or removed in the meantime.
 */

import type { Context } from "#context.ts";
import { type Columns, orNull, type RowOf, type SqlValues, type Statement, statement } from "#db/statement.ts";
import { ApiError } from "#errors.ts";
import type { CsvTable } from "#use-case/csv.ts";
import { answerCsv } from "#use-case/export.ts";
import type { Answer, UseCaseRequest } from "#use-case/use-case.ts";

const takeDefault = 25;
const takeMax = 100;
const skipPattern = /^(0|[1-9][0-9]{0,8})$/;
const takePattern = /^[1-9][0-9]{0,8}$/;
const cursorMacBytes = 16;

type Page = { kind: "skip"; skip: number; take: number } | { kind: "next" | "prev"; name: string; take: number };

/** The statements of a paged list. */
export interface PageStatements<Row> {
  bySkip: Statement<Row>;
  next: Statement<Row>;
  prev: Statement<Row>;
  /** As `next`, for the rest of a list that is read as a whole: its total may be wrong. */
  rest: Statement<Row>;
}

/** A list whose pages can be answered. */
export interface PagedList<Row> extends PageStatements<Row> {
  /** The list's name in `list_chunks`. */
  list: string;
  nameColumn: string;
  /** The query's parameters beside the page, e.g. `status=Renewed`; empty for the whole list. A cursor is valid for one filter. */
  filter: string;
  /** The values of the filter's own parameters. */
  values?: SqlValues;
  /** The highest `skip`, where rows that are skipped cost time. */
  skipRowsMax?: number;
}

export type PageRow<C extends Columns> = RowOf<C> & { total_: number; skipped_: number };

/** Everything may be null: an empty page is a row of nulls. */
export function pageColumnsOf(columns: Columns): Columns {
  const own = Object.entries(columns).map(([name, column]) => [name, orNull(column)] as const);
  return Object.fromEntries([...own, ["total_", "int8"], ["skipped_", "int8"]]);
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
): PagedList<PageRow<C>> {
  const names = Object.keys(columns);
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
      pageColumnsOf(columns),
    ) as unknown as Statement<PageRow<C>>;
  const select = `SELECT ${names.join(", ")} ${source} AND reseller_id = $reseller_id`;
  const positionOf = (comparison: string) =>
    `SELECT before + (SELECT count(*) ${source} AND reseller_id = $reseller_id AND ${nameColumn} >= chunks.first_name
                        AND ${nameColumn} ${comparison} $at COLLATE "C") AS position
     FROM chunks WHERE first_name <= $at COLLATE "C" ORDER BY first_name DESC LIMIT 1`;
  const next = build(
    "next",
    positionOf("<="),
    `${select} AND ${nameColumn} > $at COLLATE "C" ORDER BY ${nameColumn} LIMIT $limit`,
    "ASC",
  );
  return {
    list,
    nameColumn,
    filter,
    next,
    rest: next,
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
    prev: build(
      "prev",
      positionOf("<"),
      `${select} AND ${nameColumn} < $at COLLATE "C" ORDER BY ${nameColumn} DESC LIMIT $limit`,
      "DESC",
    ),
  };
}

/**
 * Declares the statements of a part of a list that has no chunks. Its rows are counted for each page, so everything that the
 * condition names should be in the index of reseller and name. Then each page costs an index-only scan of the reseller's own rows
 * (0.14 s for a million on a busy machine, measured), or of fewer where the condition bounds the name. Rows on pages
 * that no vacuum has seen since their last change are read as well: seconds for a million, so the table needs frequent vacuums.
 * @param name of the statements
 * @param source as for `pagedList`; its condition may have parameters, which are in the list's `values`
 */
export function countedPages<const C extends Columns>(
  name: string,
  nameColumn: string,
  source: string,
  columns: C,
): PageStatements<PageRow<C>> {
  const names = Object.keys(columns);
  const own = `${source} AND reseller_id = $reseller_id`;
  const build = (kind: string, skipped: string, page: string, order: string) =>
    statement(
      `${name}-page-${kind}`,
      `WITH counted AS MATERIALIZED (SELECT count(*) AS total, ${skipped} AS skipped ${own}),
         chosen AS MATERIALIZED (SELECT ${nameColumn} AS name ${own} ${page} LIMIT $limit)
       SELECT ${names.map((column) => `page.${column}`).join(", ")}, counted.total AS total_, counted.skipped AS skipped_
       FROM counted LEFT JOIN LATERAL (
         SELECT ${names.join(", ")} ${own} AND ${nameColumn} = ANY (ARRAY(SELECT name FROM chosen))) AS page ON true
       ORDER BY page.${nameColumn} ${order}`,
      pageColumnsOf(columns),
    ) as unknown as Statement<PageRow<C>>;
  const rest = statement(
    `${name}-page-rest`,
    `SELECT ${names.join(", ")}, 0::int8 AS total_, 0::int8 AS skipped_ ${own} AND ${nameColumn} > $at COLLATE "C"
     ORDER BY ${nameColumn} LIMIT $limit`,
    pageColumnsOf(columns),
  ) as unknown as Statement<PageRow<C>>;
  const positionOf = (comparison: string) => `count(*) FILTER (WHERE ${nameColumn} ${comparison} $at COLLATE "C")`;
  return {
    bySkip: build("skip", "$at::int8", `ORDER BY ${nameColumn} OFFSET $at::int8`, "ASC"),
    next: build("next", positionOf("<="), `AND ${nameColumn} > $at COLLATE "C" ORDER BY ${nameColumn}`, "ASC"),
    rest,
    prev: build("prev", positionOf("<"), `AND ${nameColumn} < $at COLLATE "C" ORDER BY ${nameColumn} DESC`, "DESC"),
  };
}

/**
 * Answers a list request: 200, an array, and the paging headers.
 * @param present turns a row into its public form
 * @param csv for a list that is also offered as CSV: the whole list for a client that takes CSV only
 * @throws ApiError `invalid_paging_request`; also `rate_limit_exceeded` with `csv`
 */
export async function answerPage<Row extends { total_: number; skipped_: number }>(
  context: Context,
  request: UseCaseRequest,
  list: PagedList<Row>,
  path: string,
  present: (row: Row, now: Date) => unknown,
  csv?: CsvTable<NoInfer<Row>>,
): Promise<Answer> {
  if (csv && request.wantsOnly("text/csv")) return answerCsv(context, request, list, csv);
  const scope = list.values ? `${list.list}?${list.filter}` : list.list;
  const page = parsePage(context, request, scope, list.skipRowsMax);
  const found = await context.database.point(page.kind === "skip" ? list.bySkip : list[page.kind], {
    ...list.values,
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
  const link = linkTo(request, path, list.filter);
  const cursor = (kind: "next" | "prev", row: Row | undefined) =>
    `take=${page.take}&cursor=${sealCursor(context, request.caller.resellerId, scope, kind, nameOf(row!) ?? "")}`;
  const links = [link("first", `take=${page.take}`)];
  if (rows.length > 0 && (page.kind === "prev" || more)) links.push(link("next", cursor("next", rows.at(-1))));
  if (rows.length > 0 && (page.kind === "prev" ? more : skipped > 0)) links.push(link("prev", cursor("prev", rows[0])));
  const headers = pagingHeaders({ skipped, take: page.take, total: head?.total_ ?? 0 }, links);
  const now = context.clock.now();
  return { status: 200, headers, body: rows.map((row) => present(row, now)) };
}

/**
 * Answers a list request like `answerPage`, for a list of so few rows that it needs no index.
 * @param filter the query's parameters beside the page
 * @throws ApiError `invalid_paging_request`
 */
export function answerFewRows<Row>(
  context: Context,
  request: UseCaseRequest,
  rows: readonly Row[],
  { path, filter }: { path: string; filter: string },
  present: (row: Row) => unknown,
): Answer {
  const page = parsePage(context, request, `${path}?${filter}`);
  // No link of such a list has a cursor.
  if (page.kind !== "skip") throw new ApiError("invalid_paging_request");
  const { skip, take } = page;
  const link = linkTo(request, path, filter);
  const links = [link("first", `take=${take}`)];
  if (skip + take < rows.length) links.push(link("next", `skip=${skip + take}&take=${take}`));
  if (skip > 0) links.push(link("prev", `skip=${Math.max(0, skip - take)}&take=${take}`));
  const headers = pagingHeaders({ skipped: skip, take, total: rows.length }, links);
  return { status: 200, headers, body: rows.slice(skip, skip + take).map(present) };
}

const linkTo = (request: UseCaseRequest, path: string, filter: string) => (relation: string, target: string) =>
  `<${request.prefix}${path}?${filter === "" ? "" : `${filter}&`}${target}>; rel="${relation}"`;

function pagingHeaders({ skipped, take, total }: Record<"skipped" | "take" | "total", number>, links: string[]) {
  return {
    "x-paging-skipped": String(skipped),
    "x-paging-take": String(take),
    "x-paging-totalresults": String(total),
    link: links.join(", "),
  };
}

function skippedOf(page: Page, position: number, rowCount: number): number {
  if (page.kind === "skip") return page.skip;
  return page.kind === "next" ? position : Math.max(0, position - rowCount);
}

function parsePage(context: Context, request: UseCaseRequest, list: string, skipRowsMax = Infinity): Page {
  const single = (name: string): string | undefined => {
    const values = request.query.getAll(name);
    if (values.length > 1) throw new ApiError("invalid_paging_request");
    return values[0];
  };
  const skip = single("skip");
  const take = single("take");
  const cursor = single("cursor");
  if (skip !== undefined && !skipPattern.test(skip)) throw new ApiError("invalid_paging_request");
  if (Number(skip ?? 0) > skipRowsMax) {
    const text = `This list takes a skip of at most ${skipRowsMax}. To read on, follow the links of its pages.`;
    throw new ApiError("invalid_paging_request", { text });
  }
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
