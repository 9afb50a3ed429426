import assert from "node:assert/strict";
import { test } from "node:test";
import { csvLine, csvTable, wantsCsv } from "#use-case/csv.ts";

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
    [table.header, table.cells({ a: 1 })],
    [
      ["second", "first"],
      [2, "x"],
    ],
  );
});

test("only who names CSV, and neither JSON nor everything, gets it", () => {
  for (const accept of [
    "text/csv",
    "Text/CSV; charset=utf-8",
    "text/csv;q=0.5, text/html",
    "text/csv, application/xml;q=0.9",
    "text/csv, application/json;q=0",
    "text/csv,*/*; q=0.0",
  ]) {
    assert.equal(wantsCsv(accept), true, accept);
  }
  for (const accept of [
    undefined,
    "",
    "*/*",
    "text/*",
    "application/json",
    "text/csv;q=0",
    "text/csv;q=0.000, text/html",
    "text/csv, application/json;q=0.1",
    "application/json, text/csv",
    "text/csv, */*;q=0.1",
    "text/csv, application/*",
    "text/csv, application/problem+json",
    "text/csv-schema",
    "application/xml;q=0.9, application/json;q=0.8",
  ]) {
    assert.equal(wantsCsv(accept), false, accept);
  }
});
