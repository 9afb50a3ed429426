import assert from "node:assert/strict";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { Client } from "pg";
import { allStatements, type Column } from "#db/statement.ts";
import { testDatabase } from "./harness/database.ts";
import { declaringFiles } from "./harness/declaring-files.ts";
import { describeStatement } from "./harness/describe-statement.ts";
import { runSql } from "./harness/sql.ts";

/** Type names by their numbers, in the spelling of the column maps: PostgreSQL calls text[] "_text". */
async function typeNames(url: string): Promise<Map<number, string>> {
  const types = await runSql<{ oid: number; typname: string }>(url, "SELECT oid, typname FROM pg_type");
  return new Map(types.map(({ oid, typname }) => [oid, typname.replace(/^_(.*)/, "$1[]")]));
}

/** The columns of tables that may hold null, as "table number.column number". */
async function nullableColumns(url: string): Promise<Set<string>> {
  const columns = await runSql<{ key: string }>(
    url,
    "SELECT attrelid || '.' || attnum AS key FROM pg_attribute WHERE attnum > 0 AND NOT attnotnull",
  );
  return new Set(columns.map(({ key }) => key));
}

const typeOf = (column: Column) => (typeof column === "string" ? column.replace("?", "") : "text");
const isNullable = (column: Column) => (typeof column === "string" ? column.endsWith("?") : column.includes(null));

test("every statement fits the migrated schema and returns the columns and types it declares", async (t) => {
  for (const path of await declaringFiles()) {
    await t.test(`${path} loads`, () => import(pathToFileURL(path).href));
  }
  const { url } = await testDatabase(t);
  const names = await typeNames(url);
  const nullable = await nullableColumns(url);
  const client = new Client({ connectionString: url });
  await client.connect();
  for (const statement of allStatements()) {
    await t.test(statement.name, async () => {
      const fields = await describeStatement(client, statement);
      const returned = fields.map((field) => `${field.name}: ${names.get(field.dataTypeID)}`);
      const declared = Object.entries(statement.columns).map(([name, column]) => `${name}: ${typeOf(column)}`);
      assert.deepEqual(returned.sort(), declared.sort());
      for (const { name, tableID, columnID } of fields) {
        const mayBeNull = nullable.has(`${tableID}.${columnID}`);
        assert.ok(!mayBeNull || isNullable(statement.columns[name]!), `${name} may be null: declare it so`);
      }
    });
  }
  await client.end();
});

test("no transaction holds the lock of notifications until its commit is on a standby, but of changed keys and nodes", async (t) => {
  const { url } = await testDatabase(t);
  const notifying = await runSql<{ proname: string }>(
    url,
    `SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prosrc LIKE '%pg_notify(%' ORDER BY 1`,
  );
  assert.deepEqual(
    notifying.map(({ proname }) => proname),
    ["notify_api_key_changed", "notify_hosting_node_changed", "notify_reseller_keys_changed"],
  );
  // One that reads a table may clean up a page of it, and then its commit waits as well.
  const usesTable = /\b(?:INSERT|UPDATE|DELETE|MERGE)\b|\b(?:FROM|JOIN) (?!jsonb_to_recordset\(|unnest\()/;
  const withTables = allStatements().filter(({ text }) => text.includes("pg_notify(") && usesTable.test(text));
  const names = withTables.map(({ name }) => name);
  assert.deepEqual(names, [], "use notify_after_commit, which the process sends after the commit");
});
