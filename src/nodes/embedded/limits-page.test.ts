import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { test } from "node:test";
import { defaultLimits } from "#nodes/embedded/limits.ts";

const page = new URL("../../../docs/hosting.md", import.meta.url);
const code = new URL("limits.ts", import.meta.url);
const [begin, end] = ["<!-- limits of the embedded node -->", "<!-- end of the limits -->"];

/** A limit's comment, on one line; empty where the name says it all. */
function commentOf(source: string, name: string): string {
  const [, comment = ""] =
    new RegExp(`(?:/\\*\\*((?:(?!\\*/)[\\s\\S])*)\\*/\\s*)?^  ${name}: number;`, "m").exec(source) ?? [];
  return comment
    .replace(/^\s*\*/gm, "")
    .replace(/\s+/g, " ")
    .trim();
}

test("docs/hosting.md has the limits of the embedded node as they are", async () => {
  const source = await readFile(code, "utf8");
  const rows = Object.entries(defaultLimits).map(
    ([name, value]) => `| \`${name}\` | ${value.toLocaleString("en")} | ${commentOf(source, name)} |`,
  );
  const printed = [begin, "| limit | default | note |", "|---|---|---|", ...rows, end].join("\n");
  const before = await readFile(page, "utf8");
  const start = before.indexOf(begin);
  assert.ok(start >= 0 && before.includes(end), "the page has no place for the limits");
  const after = before.slice(0, start) + printed + before.slice(before.indexOf(end) + end.length);
  if (process.env.UPDATE_GOLDEN) await writeFile(page, after);
  assert.equal(
    await readFile(page, "utf8"),
    after,
    "run UPDATE_GOLDEN=1 npm test -- src/nodes/embedded/limits-page.test.ts and look at what changed",
  );
});
