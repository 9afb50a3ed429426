import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { replacePrinted } from "../../test/harness/printed-page.ts";
import { routes } from "./control-routes.ts";
import { Faults } from "./faults.ts";
import { labels } from "./labels.ts";
import { defaultSettings } from "./settings.ts";
import { styleNames } from "./style.ts";

const path = join(import.meta.dirname, "README.md");
const readme = readFileSync(path, "utf8");

test("the README shows the labels of the code", () => {
  const rows = labels.map(({ form, means }) => `| \`${form}\` | ${means} |`);
  const printed = replacePrinted(readme, "labels", ["| label | what happens |", "|---|---|", ...rows].join("\n"));
  if (process.env.UPDATE_GOLDEN) writeFileSync(path, printed);
  else assert.equal(readme, printed, "run UPDATE_GOLDEN=1 npm test -- sandbox/registry/readme.test.ts");
});

test("the README has every setting, fault, style and route", () => {
  const settings = Object.keys(defaultSettings).filter((name) => name !== "assertAnswers");
  for (const name of [...settings, ...Object.keys(new Faults().current), ...styleNames, ...Object.keys(routes)]) {
    assert.match(readme, new RegExp(`^\\|.*\`${name.replace("/", "\\/")}[\`:?]`, "m"), name);
  }
});
