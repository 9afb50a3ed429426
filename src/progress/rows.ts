/**
 * Rows with work to do. `next_step_at` says when; a row without it has nothing to do. `version` counts the row's changes, so a
 * write with an outdated version changes nothing. The function row_is_due() and the trigger count_version in db/functions give
 * a table both.
 */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";

export type RowId = number | string;

export interface WaitingRow<Id extends RowId> {
  id: Id;
  version: number;
  next_step_at: Date;
  /** Of the request that the row comes from, if somebody traced it. */
  traceparent?: string | null;
}

/** How the engine reads and postpones the rows of one machine. */
export interface RowSource<Id extends RowId> {
  /**
   * Rows with work to do, at most `rowsMax`, without `except`. The steps of those that are due begin in this order. If there are
   * fewer, the earliest one that is not due yet follows them.
   */
  first(rowsMax: number, except: readonly Id[]): Promise<WaitingRow<Id>[]>;
  /** The rows with these ids that have work to do, earliest first. */
  find(ids: readonly Id[]): Promise<WaitingRow<Id>[]>;
  /** Makes a row due later. @param version changes nothing if the row has another version; null: any version */
  postpone(id: Id, version: number | null, until: Date): Promise<void>;
  /**
   * Makes rows due whose time is further away than any real wait: a clock that was wrong for a while has left these times.
   * @param now by the clock by which rows are due
   */
  pullIn(now: Date): Promise<void>;
}

export interface RowTable<Type extends "int8" | "text"> {
  table: string;
  /** The key column, and its type. */
  id: { column: string; type: Type };
  /** A column of type text: each machine has the rows with one of its values. */
  owner?: string;
  /** SQL about a row: the machine has no other rows. */
  only?: string;
  /** Whether the table has a column `traceparent`. */
  isTraced?: true;
}

type IdOf<Type> = Type extends "int8" ? number : string;

/** @returns SQL about a row: whether it belongs to the machine; empty when every row does */
function ownRows({ owner, only }: Pick<RowTable<"int8">, "owner" | "only">): string {
  const conditions = [only, owner === undefined ? undefined : `${owner} = $owner::text`];
  return conditions.flatMap((condition) => (condition === undefined ? [] : `AND ${condition}`)).join(" ");
}

/**
 * The rows of a table, by an index on (owner, next_step_at) of those with work to do. Call it at module level.
 * @param name of the statements; unique in the program
 * @returns the rows for one database and, where the table has an owner column, one owner
 */
export function progressRows<Type extends "int8" | "text">(
  name: string,
  options: RowTable<Type> & {
    /** SQL of type interval, about a row: the longest that it waits. Null: it may wait for any time. */
    longestWait: string;
  },
) {
  const { table, longestWait } = options;
  const waiting = waitingRows(name, options);
  const pullIn = statement(
    `${name}-pull-in`,
    `UPDATE ${table} SET next_step_at = $now::timestamptz
     WHERE next_step_at > $now::timestamptz + (${longestWait}) ${ownRows(options)}` as string,
    {},
  );
  return (context: Pick<Context, "database">, owner: string | null = null): RowSource<IdOf<Type>> => ({
    ...waiting(context, owner),
    async pullIn(now) {
      await context.database.query(pullIn, { now, owner });
    },
  });
}

/** As `progressRows`, for a machine that brings its `pullIn`. */
export function waitingRows<Type extends "int8" | "text">(name: string, options: RowTable<Type>) {
  const { table, id, isTraced } = options;
  const columns = { id: id.type, version: "int8", next_step_at: "timestamptz?", traceparent: "text?" } as const;
  const read: string = `${id.column} AS id, version, next_step_at, ${isTraced ? "" : "NULL::text AS "}traceparent`;
  const selected: string = `SELECT ${read} FROM ${table} WHERE next_step_at IS NOT NULL`;
  const first = statement(
    `${name}-first`,
    `${selected} AND ${id.column} <> ALL ($except::${id.type}[]) ${ownRows(options)} ORDER BY next_step_at LIMIT $rows_max::int4` as string,
    columns,
  );
  const find = statement(
    `${name}-find`,
    `${selected} AND ${id.column} = ANY ($ids::${id.type}[]) ORDER BY next_step_at` as string,
    columns,
  );
  const postpone = statement(
    `${name}-postpone`,
    `UPDATE ${table} SET next_step_at = $until WHERE ${id.column} = $id AND next_step_at IS NOT NULL
       AND ($version::int8 IS NULL OR version = $version)`,
    {},
  );

  return ({ database }: Pick<Context, "database">, owner: string | null) => {
    type Row = WaitingRow<IdOf<Type>>;
    return {
      first: async (rowsMax, except) => (await database.query(first, { except, rows_max: rowsMax, owner })) as Row[],
      find: async (ids) => (await database.query(find, { ids })) as Row[],
      async postpone(rowId, version, until) {
        await database.query(postpone, { id: rowId, version, until });
      },
    } satisfies Omit<RowSource<IdOf<Type>>, "pullIn">;
  };
}
