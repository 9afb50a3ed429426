import { Client, type QueryResultRow } from "pg";

/** Runs one piece of SQL on a connection of its own. */
export async function runSql<Row extends QueryResultRow>(
  url: string,
  text: string,
  values?: unknown[],
): Promise<Row[]> {
  const client = new Client({ connectionString: url });
  client.on("error", () => {});
  try {
    await client.connect();
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}
