import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { testDatabase } from "../harness/database.ts";
import { runTool } from "../harness/running-system.ts";
import { runSql } from "../harness/sql.ts";

test("operators' commands print what a registry has sent without controls, and as JSON with its meaning", async (t) => {
  const { url } = await testDatabase(t);
  const hostile = "a\u001b]0;owned\u0007b\u009b31mc\u007fd\u202ee";
  await runSql(
    url,
    `INSERT INTO alarms (kind, subject, note, since, last_at, count) VALUES ('registry', $1, $1, now(), now(), 1)`,
    [hostile],
  );
  const env = { ...process.env, DATABASE_URL: url, DEEDHOUSE_MASTER_KEY: `1:${randomBytes(32).toString("hex")}` };
  const shown = await runTool(["alarms", "list"], { env });
  assert.match(shown.stdout, /owned/, shown.stderr);
  const json = await runTool(["alarms", "list", "--json"], { env });
  for (const { stdout, stderr } of [shown, json]) assert.doesNotMatch(stdout + stderr, /[^\n\t\P{C}]/u);
  const notes = (JSON.parse(json.stdout) as { note: string }[]).map(({ note }) => note);
  assert.ok(notes.includes(hostile));
});
