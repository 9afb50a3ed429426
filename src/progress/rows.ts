/**
 * Rows with work to do. `next_step_at` says when; a row without one has nothing to do. `version` counts every change of
 * what the row says, so whoever writes with a version that is no longer the row's changes nothing. How a table gets both:
 * the function row_is_due() and the trigger that counts, in db/migrations.
 */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";

export type RowId = number | string;

export interface WaitingRow<Id extends RowId> {
  id: Id;
  version: number;
  next_step_at: Date;
}

/** How the engine reads and puts off the rows of one machine. */
export interface RowSource<Id extends RowId> {
  /** Rows with work to do, the earliest first, at most `rowsMax`, without those. The last ones may not be due yet. */
  first(rowsMax: number, except: readonly Id[]): Promise<WaitingRow<Id>[]>;
  /** Those of the rows that have work to do. */
  find(ids: readonly Id[]): Promise<WaitingRow<Id>[]>;
  /** Lets a row wait. @param version nothing is written when the row has another one; null: whatever it has */
  postpone(id: Id, version: number | null, until: Date): Promise<void>;
  /**
   * Makes rows due that wait longer than anything waits: a clock that was put forward and back has left these times.
   * @param now of the clock by which rows are due
   */
  pullIn(now: Date): Promise<void>;
}

export interface RowTable<Type extends "int8" | "text"> {
  table: string;
  /** The column of its key, and its type. */
  id: { column: string; type: Type };
  /** SQL of type interval, about a row: what it waits at the most. */
  longestWait: string;
  /** A column, of type text: each machine has the rows of one of its values. */
  owner?: string;
  /** SQL about a row: the machine has no others. */
  only?: string;
}

type IdOf<Type> = Type extends "int8" ? number : string;

/**
 * The rows of a table, by an index on (owner, next_step_at) WHERE next_step_at IS NOT NULL. Call it at module level.
 * @param name of the statements; unique in the program
 * @returns the rows for one database and, where the table has an owner's column, one owner
 */
export function progressRows<Type extends "int8" | "text">(name: string, options: RowTable<Type>) {
  const { table, id, longestWait, owner, only } = options;
  const columns = { id: id.type, version: "int8", next_step_at: "timestamptz?" } as const;
  const selected: string = `SELECT ${id.column} AS id, version, next_step_at FROM ${table} WHERE next_step_at IS NOT NULL`;
  const isOwn: string = owner === undefined ? "" : `AND ${owner} = $owner::text`;
  const isMeant: string = only === undefined ? isOwn : `AND ${only} ${isOwn}`;
  const first = statement(
    `${name}-first`,
    `${selected} AND ${id.column} <> ALL ($except::${id.type}[]) ${isMeant} ORDER BY next_step_at LIMIT $rows_max::int4` as string,
    columns,
  );
  const find = statement(`${name}-find`, `${selected} AND ${id.column} = ANY ($ids::${id.type}[])` as string, columns);
  const postpone = statement(
    `${name}-postpone`,
    `UPDATE ${table} SET next_step_at = $until WHERE ${id.column} = $id AND next_step_at IS NOT NULL
       AND ($version::int8 IS NULL OR version = $version)`,
    {},
  );
  const pullIn = statement(
    `${name}-pull-in`,
    `UPDATE ${table} SET next_step_at = $now::timestamptz
     WHERE next_step_at > $now::timestamptz + (${longestWait}) ${isMeant}` as string,
    {},
  );

  return ({ database }: Pick<Context, "database">, ownerValue: string | null = null): RowSource<IdOf<Type>> => {
    type Row = WaitingRow<IdOf<Type>>;
    return {
      first: async (rowsMax, except) =>
        (await database.query(first, { except, rows_max: rowsMax, owner: ownerValue })) as Row[],
      find: async (ids) => (await database.query(find, { ids })) as Row[],
      async postpone(rowId, version, until) {
        await database.query(postpone, { id: rowId, version, until });
      },
      async pullIn(now) {
        await database.query(pullIn, { now, owner: ownerValue });
      },
    };
  };
}
