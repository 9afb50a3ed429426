import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { test } from "node:test";
import type { TSchema } from "typebox";
import { eventCatalogue } from "#events/catalogue.ts";
import { replacePrinted } from "../harness/printed-page.ts";

const path = new URL("../../docs/events.md", import.meta.url);

/** A type's fields; those that are not always there in brackets. */
const fieldsOf = ({ properties, required = [] }: { properties: Record<string, TSchema>; required?: string[] }) =>
  Object.keys(properties)
    .map((name) => (required.includes(name) ? `\`${name}\`` : `[\`${name}\`]`))
    .join(", ");

test("docs/events.md has the types of the catalogue", async () => {
  const rows = Object.entries(eventCatalogue).map(
    ([type, { when, data }]) => `| \`${type}\` | ${when} | ${fieldsOf(data)} |`,
  );
  const table = ["| type | when | data |", "|---|---|---|", ...rows].join("\n");
  const page = await readFile(path, "utf8");
  const printed = replacePrinted(page, "events", table);
  if (process.env.UPDATE_GOLDEN) await writeFile(path, printed);
  else assert.equal(page, printed, "print it with UPDATE_GOLDEN=1");
});
