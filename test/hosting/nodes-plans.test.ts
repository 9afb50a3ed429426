import assert from "node:assert/strict";
import { test } from "node:test";
import { allStatements } from "#db/statement.ts";
import "#hosting/moves/manage.ts";
import "#hosting/nodes/nodes.ts";
import "#hosting/nodes/manage.ts";
import "#hosting/nodes/reconcile.ts";
import { testDatabase } from "../harness/database.ts";

/** The statements about one node. */
const ofOneNode = [
  "hosting-node-save",
  "operator-nodes",
  "hosting-node-holds",
  "hosting-accounts-to-move",
  "hosting-node-emptying",
  "hosting-reconcile-expected",
];

test("statements about one node read no other node's accounts", async (t) => {
  const { database } = await testDatabase(t);
  for (const name of ofOneNode) {
    const { text } =
      allStatements().find((statement) => statement.name === name) ?? assert.fail(`${name} is not there`);
    const lines = await database.transaction(
      async (tx) => (await tx.raw.query<{ "QUERY PLAN": string }>(`EXPLAIN (GENERIC_PLAN) ${text}`)).rows,
    );
    const plan = lines.map((line) => line["QUERY PLAN"]).join("\n");
    assert.match(plan, /Index (Only )?Scan using hosting_accounts_of_node on hosting_accounts/, `${name}:\n${plan}`);
    assert.doesNotMatch(plan, /Seq Scan on hosting_accounts/, `${name}:\n${plan}`);
  }
});
