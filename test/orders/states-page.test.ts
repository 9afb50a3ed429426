import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { test } from "node:test";
import { orderTransitions } from "#domains/states.ts";
import { hostingTransitions } from "#hosting/states.ts";

const page = new URL("../../docs/states.md", import.meta.url);

test("docs/states.md shows the tables of the code", async () => {
  const text = await readFile(page, "utf8");
  const printed = Object.entries({
    "registration orders": printTable(
      ["row", "state", "event", "next state"],
      orderTransitions.map(({ row, from, event, to }) => [row, from, event, to]),
    ),
    "hosting accounts": printTable(
      ["state", "event", "next state"],
      hostingTransitions.map(({ from, event, to }) => [from, event, to]),
    ),
  }).reduce((before, [name, table]) => replacePrinted(before, name, table), text);
  if (process.env.UPDATE_GOLDEN) await writeFile(page, printed);
  else assert.equal(text, printed, "run UPDATE_GOLDEN=1 npm test -- test/orders/states-page.test.ts");
});

function printTable(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

function replacePrinted(text: string, name: string, table: string): string {
  const [head, rest] = text.split(`<!-- printed: ${name} -->\n`);
  const end = rest?.indexOf("<!-- end -->") ?? -1;
  assert.ok(end >= 0, `docs/states.md has no place for ${name}`);
  return `${head}<!-- printed: ${name} -->\n${table}\n${rest?.slice(end)}`;
}
