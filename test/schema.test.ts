import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { test } from "node:test";
import { testDatabase } from "./harness/database.ts";
import { printSchema } from "./harness/schema.ts";

const goldenFile = new URL("../db/schema.sql", import.meta.url);
const heading = `-- What migrations and functions add up to, printed by test/schema.test.ts. For reading only: README.md says how to change it.
-- UPDATE_GOLDEN=1 npm test -- test/schema.test.ts
`;

test("db/schema.sql is what the migrations add up to", async (t) => {
  const { url } = await testDatabase(t);
  const printed = heading + (await printSchema(url));
  if (process.env.UPDATE_GOLDEN) await writeFile(goldenFile, printed);
  const golden = await readFile(goldenFile, "utf8");
  // Only the lines that differ, for node:test would print the whole of both.
  const linesOnlyIn = (text: string, other: string) => {
    const known = new Set(other.split("\n"));
    return text.split("\n").filter((line) => !known.has(line));
  };
  const advice = "run UPDATE_GOLDEN=1 npm test -- test/schema.test.ts and look at what changed";
  const found = { advice, new: linesOnlyIn(printed, golden), gone: linesOnlyIn(golden, printed) };
  assert.deepEqual(found, { advice, new: [], gone: [] });
  assert.ok(printed === golden, `lines moved: ${advice}`);
});
