/**
 * A whole list as CSV, in one answer of any length. Pages are read one after the other, each by a separate statement, when the
 * client has taken the one before: neither rows nor a transaction wait for a slow client.
 */
import { Readable } from "node:stream";
import type { Context } from "#context.ts";
import { ApiError } from "#errors.ts";
import { type CsvTable, csvLine } from "#use-case/csv.ts";
import type { PagedList } from "#use-case/paging.ts";
import type { Answer, UseCaseRequest } from "#use-case/use-case.ts";

/** Of a page: some 80 kB of text. */
const pageRowsMax = 500;
const pageParameters = ["skip", "take", "cursor"];

/**
 * Reads the first page, so that what fails before the first byte is answered as always.
 * @throws ApiError `invalid_paging_request`, `rate_limit_exceeded`
 */
export async function answerCsv<Row>(
  context: Context,
  request: UseCaseRequest,
  list: PagedList<Row>,
  table: CsvTable<Row>,
): Promise<Answer> {
  if (pageParameters.some((name) => request.query.has(name))) {
    const text = "CSV has the whole list in one answer: leave out skip, take and cursor.";
    throw new ApiError("invalid_paging_request", { text });
  }
  const end = await request.beginLong("csv");
  const pages = readPages(context, request.caller.resellerId, list);
  try {
    const { value: first = [] } = await pages.next();
    const stream = Readable.from(linesOf(context, table, first, pages));
    // Also after an error, and if it is never read.
    stream.once("close", end);
    return { status: 200, headers: headersOf(table), stream };
  } catch (error) {
    end();
    throw error;
  }
}

const headersOf = ({ name }: CsvTable<never>) => ({
  "content-type": "text/csv; charset=utf-8",
  "content-disposition": `attachment; filename="${name}.csv"`,
});

async function* linesOf<Row>(
  { clock }: Context,
  table: CsvTable<Row>,
  first: readonly Row[],
  rest: AsyncIterable<Row[]>,
) {
  const textOf = (rows: readonly Row[]) => {
    const now = clock.now();
    return rows.map((row) => csvLine(table.cells(row, now))).join("");
  };
  yield csvLine(table.header) + textOf(first);
  for await (const rows of rest) yield textOf(rows);
}

async function* readPages<Row>({ database }: Context, resellerId: number, list: PagedList<Row>) {
  const nameOf = (row: Row) => (row as Record<string, string | null>)[list.nameColumn];
  const read = async (statement: typeof list.rest, at: string | number) => {
    const values = { ...list.values, reseller_id: resellerId, at, limit: pageRowsMax };
    // Not among the point reads, which would wait for a long page.
    const rows = await database.query(statement, values);
    return rows.filter((row) => nameOf(row) !== null);
  };
  let rows = await read(list.bySkip, 0);
  for (;;) {
    if (rows.length > 0) yield rows;
    if (rows.length < pageRowsMax) return;
    rows = await read(list.rest, nameOf(rows.at(-1)!) ?? "");
  }
}
