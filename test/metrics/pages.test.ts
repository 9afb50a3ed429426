/** The documents and files for those who watch: complete, and about what there is. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { alarmKinds } from "#alarms.ts";
import { type MetricName, type MetricRow, metricRows } from "#lib/measure/metrics-table.ts";
import { metricPrefix } from "#metrics/metrics.ts";
import { replacePrinted } from "../harness/printed-page.ts";
import { dashboards, file, ofPanels, ofRules, read, rules, unknownIn } from "./expressions.ts";

function printMetrics(): string {
  const row = ([name, { type, labels, from, help }]: [MetricName, MetricRow]) =>
    `| \`${metricPrefix}${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(", ")} | ${from} | ${help} |`;
  return ["| metric | type | labels | from | what |", "|---|---|---|---|---|", ...metricRows.map(row)].join("\n");
}

/** Its columns: kind, what it is about, what to do, what resolves it. */
function printAlarms(): string {
  const rows = read("docs/operating.md").matchAll(/^\| `([a-z-]+)` \| (.*) \| (.*) \| (.*) \|$/gm);
  const sections = [...rows].flatMap(([, kind, about, todo, end]) => [
    `### ${kind}`,
    "",
    `It is about ${about}.`,
    "",
    `- **Do**: ${todo}.`,
    `- **Ends with**: ${end}.`,
    "",
  ]);
  return sections.join("\n").replaceAll("](#", "](operating.md#").trim();
}

const pages = { "docs/metrics.md": ["metrics", printMetrics()], "docs/runbook.md": ["alarms", printAlarms()] } as const;
for (const [path, [name, table]] of Object.entries(pages)) {
  test(`${path} shows what the code and the operator's page have`, () => {
    const printed = replacePrinted(read(path), name, table);
    if (process.env.UPDATE_GOLDEN) writeFileSync(file(path), printed);
    else assert.equal(read(path), printed, "run UPDATE_GOLDEN=1 npm test -- test/metrics/pages.test.ts");
  });
}

const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name!);

test("the runbook has a section for each rule and each kind of alarm, and no other", () => {
  const sections = [...read("docs/runbook.md").matchAll(/^### (.+)$/gm)].map(([, name]) => name);
  assert.deepEqual(sections.toSorted(), [...alerts, ...alarmKinds].toSorted());
  const urls = [...rules.matchAll(/runbook_url: docs\/runbook\.md#(.+)/g)].map(([, heading]) => heading);
  assert.deepEqual(
    urls,
    alerts.map((name) => name.toLowerCase()),
  );
});

/** Those of prom-client that we use. */
const foreign = ["nodejs_eventloop_lag_p99_seconds", "process_resident_memory_bytes"];

test("rules and dashboards name only metrics and labels that there are", () => {
  const known = new Map<string, readonly string[]>(foreign.map((name) => [name, []]));
  for (const [name, { labels, type }] of metricRows) {
    const ends = type === "histogram" ? ["_bucket", "_sum", "_count"] : [""];
    for (const end of ends) known.set(metricPrefix + name + end, end === "_bucket" ? [...labels, "le"] : labels);
  }
  assert.equal(ofRules.length, alerts.length);
  assert.ok(dashboards.length === 4 && ofPanels.length > 20);
  for (const expression of [...ofRules, ...ofPanels]) assert.deepEqual(unknownIn(expression, known), [], expression);
  assert.deepEqual(unknownIn('max by (kind, shop) (deedhouse_alarms_open{name="a"}) or deedhouse_alarm_open', known), [
    "deedhouse_alarms_open{name}",
    "deedhouse_alarm_open",
    "by shop",
  ]);
});

test("a fact of the database, which every process shows, counts once in rules and on dashboards", () => {
  const facts = metricRows.filter(([, { from }]) => from === "database").map(([name]) => metricPrefix + name);
  const once = (expression: string) => expression.replaceAll(/\b(?:max|min)(?: by \([^)]*\))? ?\([^()]*\)/g, "");
  const isSeveral = (expression: string) => facts.some((name) => new RegExp(`\\b${name}\\b`).test(once(expression)));
  assert.deepEqual([...ofRules, ...ofPanels].filter(isSeveral), []);
  assert.ok(isSeveral("sum(deedhouse_workers)"));
});

test("each metric of ours is in a rule or on a dashboard", () => {
  const shown = [rules, ...dashboards.map(read)].join();
  const unseen = metricRows.map(([name]) => metricPrefix + name).filter((name) => !shown.includes(name));
  assert.deepEqual(unseen, []);
});

const cannotRun = spawnSync("promtool", ["--version"]).error !== undefined && "prometheus is not installed";
for (const check of [
  ["check", "rules", "rules.yml"],
  ["test", "rules", "rules.test.yml"],
]) {
  test(`promtool ${check.join(" ")}`, { skip: cannotRun }, () => {
    const { status, stdout, stderr } = spawnSync("promtool", check, { cwd: file("ops/prometheus"), encoding: "utf8" });
    assert.equal(status, 0, stdout + stderr);
  });
}

test("promtool tests each rule", () => {
  const tested = [...read("ops/prometheus/rules.test.yml").matchAll(/alertname: (\w+)/g)].map(([, name]) => name!);
  for (const alert of alerts) assert.equal(tested.filter((name) => name === alert).length, 2, alert);
});
