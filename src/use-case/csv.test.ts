import assert from "node:assert/strict";
import { test } from "node:test";
import { csvLine, csvTable } from "#use-case/csv.ts";

test("a line has its cells as RFC 4180 says, and ends with CRLF", () => {
  assert.equal(csvLine(["a", 1, true, null, undefined, ""]), "a,1,true,,,\r\n");
  assert.equal(csvLine(['say "hi"', "a,b", "a\nb", "é"]), '"say ""hi""","a,b","a\nb",é\r\n');
});

test("a cell that a spreadsheet would calculate begins with an apostrophe", () => {
  for (const start of ["=", "+", "-", "@", "\t"]) assert.equal(csvLine([`${start}1`]), `'${start}1\r\n`);
  for (const start of ["\r", "\n"]) assert.equal(csvLine([`${start}=1`]), `"'${start}=1"\r\n`);
  assert.equal(csvLine(['=HYPERLINK("http://x","y")']), `"'=HYPERLINK(""http://x"",""y"")"\r\n`);
  assert.equal(csvLine(["a=1", "1-2", "a@b"]), "a=1,1-2,a@b\r\n");
});

test("a table has a column for each name, in their order", () => {
  const table = csvTable("t", (row: { a: number }) => ({ b: row.a + 1 }), { second: ({ b }) => b, first: () => "x" });
  assert.deepEqual(
    [table.header, table.cells({ a: 1 }, new Date(0))],
    [
      ["second", "first"],
      [2, "x"],
    ],
  );
});
