/** What every statement reads in a database of 200,000 names, planned as on our connections: by an index, and only what it needs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { Client } from "pg";
import { plannerSettings } from "#db/connection.ts";
import { allStatements } from "#db/statement.ts";
import { testDatabase } from "../harness/database.ts";
import { declaringFiles } from "../harness/declaring-files.ts";
import { fillDatabase } from "./busy-database.ts";
import { type Facts, factsSql, literalsOf } from "./values.ts";

const names = 200_000;
const removedRowsMax = 1_000;

/** Tables whose rows an operator's configuration counts, and not the portfolio. */
const smallTables = new Set([
  "alarm_channels",
  "chores",
  "event_log",
  "hosting_nodes",
  "hosting_uid",
  "node_channels",
  "node_gateway",
  "nonce_parts",
  "nonce_store",
  "registries",
  "registry_leases",
  "replay_journals",
  "service_packs",
  "processes",
  "workers",
  "zone_settings",
]);

/** Statements that read more, and why that is right. None of them may be left that does not. */
const exceptions: Readonly<Record<string, string>> = {
  "filtered-domains-page-skip": "counts the reseller's names by an index alone (countedPages)",
  "filtered-domains-page-next": "counts the reseller's names by an index alone (countedPages)",
  "filtered-domains-page-prev": "counts the reseller's names by an index alone (countedPages)",
  "node-ahead-unsay": "goes through all accounts, once after a restore",
  "hosting-accounts-to-move": "an operator's command that lists a whole node",
  "operator-domains-active": "an operator's command that compares names",
  "operator-hosting-accounts": "an operator's list, with filters that no index has",
  "operator-messages": "an operator's list, with filters that no index has",
  "operator-moves": "an operator's list of all moves",
  "operator-renewals": "an operator's list, with filters that no index has",
};

interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  /** Only of a statement that ran to its end. */
  "Actual Loops"?: number;
  Plans?: PlanNode[];
  [fact: string]: unknown;
}

function* nodesOf(plan: PlanNode): Generator<PlanNode> {
  yield plan;
  for (const part of plan.Plans ?? []) yield* nodesOf(part);
}

/** What a node reads that the statement does not need. */
function wasteOf(node: PlanNode): string[] {
  const { "Node Type": type, "Relation Name": table = "" } = node;
  const isWholeTable = type === "Seq Scan" && !smallTables.has(table) && node["Actual Loops"] !== 0;
  const removed = Object.entries(node).filter(
    ([fact, rows]) => /^Rows Removed/.test(fact) && Number(rows) > removedRowsMax,
  );
  return [
    ...(isWholeTable ? [`reads all of ${table}`] : []),
    ...removed.map(([, rows]) => `${type} ${table} throws ${rows} rows away`),
  ];
}

/** The values break a rule of the table: such a statement is planned only. */
const isRefused = (error: unknown) => /^(22|23)/.test((error as { code?: string }).code ?? "");

test("no statement reads a whole table that grows, or throws away more than a thousand rows", async (t) => {
  for (const path of await declaringFiles()) await import(pathToFileURL(path).href);
  const { url } = await testDatabase(t);
  const client = new Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  for (const [name, value] of Object.entries(plannerSettings)) await client.query(`SET ${name} = ${value}`);
  t.after(() => client.end());
  await fillDatabase(client, names);
  const [facts] = (await client.query<Facts>(factsSql)).rows;
  const found = new Map<string, string[]>();
  let refused = 0;
  // PostgreSQL plans queries and writes, and no LOCK.
  for (const statement of allStatements().filter(({ text }) => !text.startsWith("LOCK "))) {
    const explain = async (options: string) => {
      await client.query("BEGIN");
      try {
        // As the program runs it most of the time: planned once for all values.
        const prepare = `SET LOCAL plan_cache_mode = force_generic_plan; DEALLOCATE ALL; PREPARE planned AS ${statement.text}`;
        await client.query(prepare);
        const { rows: prepared } = await client.query<{ types: string[] }>(
          "SELECT parameter_types::text[] AS types FROM pg_prepared_statements WHERE name = 'planned'",
        );
        const literals = literalsOf(statement, prepared[0]!.types, facts!);
        const given = literals.length === 0 ? "" : `(${literals})`;
        const { rows } = await client.query(`EXPLAIN (${options}FORMAT JSON) EXECUTE planned${given}`);
        return [...nodesOf(rows[0]["QUERY PLAN"][0].Plan)].flatMap(wasteOf);
      } finally {
        await client.query("ROLLBACK");
      }
    };
    const waste = await explain("ANALYZE, ").catch((error: unknown) => {
      if (!isRefused(error)) throw new Error(`${statement.name}: ${(error as Error).message}`, { cause: error });
      refused += 1;
      return explain("");
    });
    if (waste.length > 0) found.set(statement.name, waste);
  }
  const unexpected = [...found]
    .filter(([name]) => !(name in exceptions))
    .map(([name, waste]) => `${name}: ${waste.join(", ")}`);
  assert.deepEqual(unexpected, []);
  assert.deepEqual(
    Object.keys(exceptions).filter((name) => !found.has(name)),
    [],
    "exceptions that are not needed",
  );
  assert.ok(refused < 30, `${refused} statements did not run to their end`);
});
