/** `docs/abuse-cases.md` is held true by the names of the tests. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { ourFiles } from "./house-style/source.ts";

const page = "docs/abuse-cases.md";
const attemptsCount = 30;
/** A test's name stands in quotes; one test may try several attempts. */
const testName = /(?:^|[\s(])["'`](abuse \d+[^"'`]*)/gm;
const attempt = /\babuse (\d+)/g;

interface Row {
  number: number;
  gateway: string[];
  embedded: string[];
  proftpd: string[];
}

async function readRows(): Promise<Row[]> {
  const lines = (await readFile(page, "utf8")).split("\n").filter((line) => /^\| \d+ \|/.test(line));
  return lines.map((line) => {
    const [, number, , , gateway, embedded, proftpd] = line.split("|");
    const files = (cell = "") => [...cell.matchAll(/`([^`]+)`/g)].map(([, path]) => path!);
    return { number: Number(number), gateway: files(gateway), embedded: files(embedded), proftpd: files(proftpd) };
  });
}

/** The attempts that the tests of each file name. */
async function readTried(): Promise<Map<string, Set<number>>> {
  const tests = (await ourFiles()).filter(({ path }) => path.endsWith(".test.ts"));
  const numbersIn = (text: string) =>
    [...text.matchAll(testName)].flatMap(([, name]) =>
      [...name!.matchAll(attempt)].map(([, number]) => Number(number)),
    );
  return new Map(tests.map(({ path, text }) => [path, new Set(numbersIn(text))]));
}

test("every attempt has a test at the gateway, or one on each kind of node", async () => {
  const rows = await readRows();
  const numbers = rows.map(({ number }) => number);
  assert.deepEqual(
    numbers,
    [...Array(attemptsCount).keys()].map((index) => index + 1),
  );
  for (const { number, gateway, embedded, proftpd } of rows) {
    assert.ok(gateway.length > 0 || (embedded.length > 0 && proftpd.length > 0), `${page}: ${number} has no test`);
  }
});

test("each file that the table names has a test of that attempt", async () => {
  const tried = await readTried();
  const untrue = (await readRows()).flatMap(({ number, gateway, embedded, proftpd }) =>
    [...gateway, ...embedded, ...proftpd]
      .filter((path) => !tried.get(path)?.has(number))
      .map((path) => `${number}: ${path}`),
  );
  assert.deepEqual(untrue, [], `${page}: no test of the file is called "abuse <number>: …"`);
});

test("each test of an attempt is in the table", async () => {
  const rows = await readRows();
  const listed = ({ gateway, embedded, proftpd }: Row) => [...gateway, ...embedded, ...proftpd];
  const unknown = [...(await readTried())].flatMap(([path, numbers]) =>
    [...numbers]
      .filter((number) => !rows.some((row) => row.number === number && listed(row).includes(path)))
      .map((number) => `${number}: ${path}`),
  );
  assert.deepEqual(unknown, [], `${page}: add the file to the attempt's row, or correct the test's name`);
});
