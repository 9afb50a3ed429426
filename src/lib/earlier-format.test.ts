import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { lastCommitWithEarlierFormats } from "#lib/earlier-format.ts";

test("docs/operating.md names the commit that reads what is from before 0.1.0", async () => {
  const page = await readFile(new URL("../../docs/operating.md", import.meta.url), "utf8");
  assert.ok(page.includes(`\`${lastCommitWithEarlierFormats}\``));
});
