/** Deletes many rows in parts, so that each statement is short: it holds few locks, and ends before the statement timeout. */
import type { Database } from "#db/database.ts";
import { statement, type ValuesOf } from "#db/statement.ts";

/** How many rows one statement deletes at most. */
export const partRowsMax = 5_000;
/** Bounds one run, for which a process that ends has to wait. The rest is for the next run. */
const partsPerRunMax = 40;

/**
 * Runs a statement until it finds less than a whole part.
 * @param part handles up to `partRowsMax` rows, and returns how many
 * @returns the number of rows of all parts
 */
export async function inParts(part: () => Promise<number>): Promise<number> {
  let rows = 0;
  for (let parts = 0; parts < partsPerRunMax; parts++) {
    const handled = await part();
    rows += handled;
    if (handled < partRowsMax) break;
  }
  return rows;
}

/**
 * Declares a delete in parts. Call it at module level.
 * @param name of the statement
 * @param where SQL: which rows; an index must lead to them in this order
 * @param order SQL: the rows that go first
 * @returns runs it with the values of the parameters in `where`, and returns how many rows it has deleted
 */
export function deleteInParts<const Where extends string>(name: string, table: string, where: Where, order: string) {
  const part = statement(
    name,
    `WITH gone AS (
       DELETE FROM ${table} WHERE (${where}) AND ctid = ANY (ARRAY(
         SELECT ctid FROM ${table} WHERE ${where} ORDER BY ${order} LIMIT ${partRowsMax})) RETURNING true)
     SELECT count(*)::int4 AS rows FROM gone` as string,
    { rows: "int4" },
  );
  return (database: Pick<Database, "query">, values: ValuesOf<Where>): Promise<number> =>
    inParts(async () => (await database.query(part, values))[0]!.rows);
}
