import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { splitTests } from "./tested-attacks.ts";

test("the page for operators has every attack and no test's name, the one for contributors has both", async () => {
  const page = await readFile(new URL("../../docs/security.md", import.meta.url), "utf8");
  const { forOperators, forContributors } = splitTests(page);
  assert.doesNotMatch(forOperators, /\.test\.ts|\| tests/);
  assert.match(forOperators, /tested-attacks\.md/);
  assert.match(forContributors, /\.test\.ts/);
  const firstCells = (text: string) => [...text.matchAll(/^\| ([^|]*) \|/gm)].map(([, cell]) => cell);
  assert.deepEqual(firstCells(forOperators), firstCells(forContributors));
  for (const [table] of forOperators.matchAll(/(?:^\|.*\n)+/gm)) {
    const widths = table
      .trim()
      .split("\n")
      .map((line) => line.replaceAll("\\|", "").split("|").length);
    assert.equal(new Set(widths).size, 1, table.slice(0, 200));
  }
});
