/** `docs/security.md` is held true by the names of the tests. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { ourFiles } from "./house-style/source.ts";

const page = "docs/security.md";
/** In the last column: the file in backticks, then the test's name, or its beginning, in double quotes. */
const namedTest = /`([^`]+\.test\.ts)` "([^"]+)"/g;

test("each row of the page names tests that exist", async () => {
  const texts = new Map((await ourFiles()).map(({ path, text }) => [path, text]));
  const text = (await readFile(page, "utf8")).replace(/<!-- printed[\s\S]*?<!-- end -->/, "");
  const rows = text.split("\n").filter((line) => /^\| (?!attack|event)\S/.test(line));
  const wrong = rows.flatMap((row) => {
    const named = [...row.split("|").at(-2)!.matchAll(namedTest)];
    if (named.length === 0) return [`names no test: ${row.slice(0, 80)}`];
    return named
      .filter(([, path, name]) => !texts.get(path!)?.includes(name!))
      .map(([, path, name]) => `${path} has no test "${name}"`);
  });
  assert.deepEqual(wrong, [], `${page}: write the last column as \`test/api/x.test.ts\` "the test's name"`);
});
