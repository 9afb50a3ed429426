import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { routes } from "./control-routes.ts";
import { Faults } from "./faults.ts";
import { labels } from "./labels.ts";
import { defaultSettings } from "./settings.ts";
import { styleNames } from "./style.ts";

const readme = readFileSync(join(import.meta.dirname, "README.md"), "utf8");

test("the README has every label with its meaning", () => {
  for (const { form, means } of labels) assert.ok(readme.includes(`| \`${form}\` | ${means} |`), form);
});

test("the README has every setting, fault, style and route", () => {
  const settings = Object.keys(defaultSettings).filter((name) => name !== "assertAnswers");
  for (const name of [...settings, ...Object.keys(new Faults().current), ...styleNames, ...Object.keys(routes)]) {
    assert.match(readme, new RegExp(`^\\|.*\`${name.replace("/", "\\/")}[\`:?]`, "m"), name);
  }
});
