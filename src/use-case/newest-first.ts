/**
 * Pages of lists that show the newest first. A row's place is the time when it began and its code. Its cursor also carries its
 * position, so that nothing before it is counted: `x-paging-skipped` counts the rows that the links have led through.
 */

import { type Columns, type Statement, statement } from "#db/statement.ts";
import { type PageRow, type PageStatements, pageColumnsOf } from "#use-case/paging.ts";

/** The place in such a list, for `PagedList.nameColumn`: `<position> <microseconds since 1970> <code>`. */
export const placeColumn = "list_key";

const at = `(timestamptz 'epoch' + split_part($at, ' ', 2)::int8 * interval '1 microsecond')`;
const code = "split_part($at, ' ', 3)";
const position = "split_part($at, ' ', 1)::int8";

/** SQL that depends on the page. */
export interface PageSql {
  /** A condition: whether a row lies beyond the cursor. @param time the column of its time @param key that of its code */
  beyond(time: string, key: string): string;
  /** The order of the rows. */
  order(time: string, key: string): string;
  /** How many rows lead to the page and through it. */
  rowsMax: string;
}

export interface NewestFirst<C extends Columns> {
  /** Of the statements. */
  name: string;
  /** SQL: CTEs, each with a comma at its end. */
  before?: string;
  /** SQL: how many rows the list has. */
  total: string;
  /** SQL: at least the page's `at` and `code`. */
  keys(page: PageSql): string;
  /** SQL: `FROM` and `WHERE` that select the row of `chosen.code`. */
  row: string;
  columns: C;
}

/** Declares the statements of a list; call it at module level. */
export function newestFirst<const C extends Columns>(list: NewestFirst<C>): PageStatements<PageRow<C & PlaceColumn>> {
  const build = (
    kind: string,
    direction: "ASC" | "DESC",
    skipped: string,
    place: string,
    total = list.total,
  ): Statement<never> => {
    const order = (time: string, key: string) => `ORDER BY ${time} ${direction}, ${key} ${direction}`;
    const comparison = direction === "DESC" ? "<" : ">";
    const bySkip = kind === "skip";
    const page: PageSql = {
      beyond: (time, key) => (bySkip ? "true" : `(${time}, ${key}) ${comparison} (${at}, ${code})`),
      order,
      rowsMax: bySkip ? "$limit::int8 + $at::int8" : "$limit::int8",
    };
    const columns = Object.keys(list.columns);
    // LIMIT 1 has each row looked up: a generic plan, which expects a tenth of all rows, would read them all and join.
    return statement(
      `${list.name}-page-${kind}`,
      `WITH ${list.before ?? ""} counted AS MATERIALIZED (SELECT (${total})::int8 AS total),
       chosen AS MATERIALIZED (
         SELECT at, code, row_number() OVER (${order("at", "code")}) AS number FROM (${list.keys(page)}) AS key
         ${order("at", "code")} ${bySkip ? "OFFSET $at::int8" : ""} LIMIT $limit::int8)
       SELECT ${columns.map((column) => `page.${column}`).join(", ")}, page.${placeColumn},
         counted.total AS total_, ${skipped} AS skipped_
       FROM counted LEFT JOIN (
         SELECT ${columns.map((column) => `shown.${column}`).join(", ")}, chosen.number,
           concat_ws(' ', greatest(${place}, 0), (extract(epoch FROM chosen.at) * 1000000)::int8, chosen.code) AS ${placeColumn}
         FROM chosen CROSS JOIN LATERAL (SELECT ${columns.join(", ")} ${list.row} LIMIT 1) AS shown) AS page ON true
       ORDER BY page.number`,
      pageColumnsOf({ ...list.columns, [placeColumn]: "text" }),
    ) as unknown as Statement<never>;
  };
  return {
    bySkip: build("skip", "DESC", "$at::int8", "chosen.number - 1"),
    next: build("next", "DESC", `${position} + 1`, `${position} + chosen.number`),
    prev: build("prev", "ASC", position, `${position} - chosen.number`),
    rest: build("rest", "DESC", "0::int8", `${position} + chosen.number`, "0"),
  } as unknown as PageStatements<PageRow<C & PlaceColumn>>;
}

interface PlaceColumn extends Columns {
  list_key: "text";
}
