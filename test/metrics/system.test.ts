/** A whole system, with traffic and a fault of each kind: what is scraped is what table, rules and dashboards name. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { systemClock } from "#lib/clock.ts";
import { metricRows } from "#lib/measure/metrics-table.ts";
import { Secret } from "#lib/secret.ts";
import { metricPrefix } from "#metrics/metrics.ts";
import { eventually, type RunningSystem, startSystem, systemFolder } from "../harness/running-system.ts";
import { sendSigned } from "../harness/signed-request.ts";
import { endSessions, runSql } from "../harness/sql.ts";
import { startReceiver } from "../webhooks/stage.ts";
import { ofPanels, ofRules, unknownIn } from "./expressions.ts";

const roles = ["api", "worker", "node"] as const;
const ends: (() => unknown)[] = [];
const scope = { after: (work: () => unknown) => void ends.push(work) };
let system: RunningSystem;

before(async () => {
  const folder = await systemFolder(scope);
  const channel = join(folder, "alarms");
  await writeFile(channel, (await startReceiver(scope)).url, { mode: 0o600 });
  const env = { ...process.env, DEEDHOUSE_DATABASE_SYNCHRONOUS: "1", DEEDHOUSE_ALARMS_SLACK_FILE: channel };
  system = await startSystem(folder, [], { env });
});
after(async () => {
  for (const end of ends.toReversed()) await end();
});

const page = async (role: string) => (await fetch(system.ready().metrics_urls[role]!)).text();

/** The labels of each metric, of all processes. */
async function scrape(): Promise<Map<string, Set<string>>> {
  const known = new Map<string, Set<string>>();
  for (const body of await Promise.all(roles.map(page))) {
    for (const [, name, labels = ""] of body.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
      const names = known.get(name!) ?? new Set();
      for (const [, label] of labels.matchAll(/(\w+)="/g)) names.add(label!);
      known.set(name!, names);
    }
  }
  return known;
}

const missingIn = (known: ReadonlyMap<string, unknown>) =>
  metricRows.flatMap(([name, { type }]) => {
    const shown = metricPrefix + name + (type === "histogram" ? "_count" : "");
    return known.has(shown) ? [] : [shown];
  });

test("shows each metric of the table after traffic and faults, and each that a rule or a panel names", async () => {
  const { database_url: databaseUrl, url, api_key: id } = system.ready();
  const receiver = await startReceiver(scope);
  await system.client.webhooks.create(receiver.url);
  // The registry decides the second one never, so it is an open order whenever somebody looks.
  for (const domain_name of ["seen.example", "pending-never-seen.example"]) {
    const { status, body } = await system.send("POST", "/domains/registrations", { body: { domain_name } });
    assert.equal(status, 202, String(body));
  }
  const forged = await sendSigned({
    url,
    key: { id, secret: new Secret("not the secret") },
    clock: systemClock,
    method: "GET",
    target: "/domains",
  });
  assert.equal(forged.status, 401);
  await runSql(databaseUrl, "ALTER TABLE webhooks RENAME TO webhooks_hidden");
  assert.equal((await system.send("GET", "/webhooks")).status, 500);
  await runSql(databaseUrl, "ALTER TABLE webhooks_hidden RENAME TO webhooks");
  await endSessions(databaseUrl, "deedhouse-listener");
  await runSql(
    databaseUrl,
    "INSERT INTO alarms (kind, subject, note, since, last_at, count) VALUES ('order', 'REG-1', 'for the test', now(), now(), 1)",
  );
  let known = await scrape();
  await eventually("each metric is shown", async () => {
    known = await scrape();
    return missingIn(known).length === 0;
  }).catch(() => {});
  assert.deepEqual(missingIn(known), []);
  for (const expression of [...ofRules, ...ofPanels]) assert.deepEqual(unknownIn(expression, known), [], expression);
});

test("each process shows what it does, and only the node has no database", async () => {
  const [api, worker, node] = await Promise.all(roles.map(page));
  const assertShows = (shown: string, line: RegExp) => assert.ok(line.test(shown), String(line));
  assertShows(api!, /http_refusals_total\{reason="signature"\} 1/);
  assertShows(api!, /nonce_write_seconds_count\{mode="journal"\} \d/);
  assertShows(api!, /statement_errors_total\{statement="[a-z-]*webhook[a-z-]*"\} 1/);
  assertShows(worker!, /order_duration_seconds_count\{kind="create",registry="sandbox",status="Finished"\} 1/);
  assertShows(worker!, /epp_commands_total\{registry="sandbox",command="domain:create",code="1000"\} 1/);
  assertShows(worker!, /epp_commands_total\{registry="sandbox",command="login",code="1000"\} [1-9]/);
  assertShows(worker!, /epp_command_duration_seconds_count\{registry="sandbox",command="login"\} [1-9]/);
  assertShows(worker!, /webhook_deliveries_total\{outcome="delivered"\} \d/);
  for (const shown of [api!, worker!]) {
    assertShows(shown, /^deedhouse_workers 1$/m);
    assertShows(shown, /^deedhouse_database_synchronous 0$/m);
    assertShows(shown, /^deedhouse_database_reconnects_total\{pool="notifications"\} \d/m);
  }
  assertShows(node!, /ready\{role="node",version="[^"]+"\} 1/);
  assert.ok(!/^deedhouse_(database_up|workers|pool_)/m.test(node!), "it reads no database");
});
