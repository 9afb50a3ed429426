/** What the sweep does each minute: no name is passed over, and none holds up the others. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "#lib/clock.ts";
import type { TestGateway } from "../harness/gateway.ts";
import { insertDomains } from "../harness/insert-domains.ts";
import { runSql } from "../harness/sql.ts";
import { until } from "../orders/judge.ts";
import { giveNames, own, renewalOf, startStage, untilRenewalIs } from "./stage.ts";

const dayMs = 24 * 60 * 60_000;
const inDays = (days: number) => new Date(systemClock.now().getTime() + days * dayMs);

const alarmsOf = async ({ databaseUrl }: TestGateway, name: string) =>
  runSql<{ note: string }>(databaseUrl, "SELECT note FROM alarms WHERE kind = 'renewal' AND subject = $1", [name]);

test("a name whose term ends some microseconds after a millisecond is renewed like any other", async (t) => {
  const stage = await startStage(t);
  const { gateway, reseller } = stage;
  await gateway.stopWorker();
  const dates = { expirationDate: inDays(20) };
  await giveNames(gateway, reseller, new Map([["micro.example", dates]]));
  await giveNames(gateway, reseller, new Map([["other.example", { expirationDate: inDays(21) }]]));
  await runSql(
    gateway.databaseUrl,
    "UPDATE domains SET expiration_date = expiration_date + interval '123 us' WHERE domain_name = 'micro.example'",
  );
  await gateway.startWorker();
  // The sweep comes to the other name later.
  await until("the other name is scheduled", async () => (await renewalOf(gateway, "other.example")) !== undefined);
  assert.ok(await renewalOf(gateway, "micro.example"), "it is scheduled");
  await untilRenewalIs(gateway, "micro.example", "Renewed");
});

test("an alarm that is due some microseconds after a millisecond is raised, and once only", async (t) => {
  const stage = await startStage(t);
  const { gateway } = stage;
  await own(stage, "renew-code-2400-x.example");
  await stage.travelTo("renew-code-2400-x.example", 31);
  await untilRenewalIs(gateway, "renew-code-2400-x.example", "Scheduled");
  await runSql(gateway.databaseUrl, "UPDATE renewals SET alarm_at = $1::timestamptz + interval '123 us'", [
    stage.clock.now(),
  ]);
  await stage.travel(0.001);
  await until("it is raised", async () => (await alarmsOf(gateway, "renew-code-2400-x.example")).length > 0);
  const [alarm] = await runSql<{ count: number }>(
    gateway.databaseUrl,
    "SELECT count FROM alarms WHERE kind = 'renewal'",
  );
  assert.equal(alarm!.count, 1);
});

test("five hundred names that cannot be scheduled are alarms, and hold up no name after them", async (t) => {
  const { gateway, reseller } = await startStage(t);
  await gateway.stopWorker();
  // A renewal of theirs was left open, which an index allows only once.
  await runSql(
    gateway.databaseUrl,
    `INSERT INTO renewals (renewal_code, reseller_id, domain_name, registry_id, period_years, term_ends_at, due_at, status,
       next_step_at, list_key, created_at, updated_at)
     SELECT 'REN-' || n, $1, 'bad-' || n || '.example', 'sandbox', 1, now(), now(), 'Scheduled', now(), n::text, now(), now()
     FROM generate_series(1, 501) AS n`,
    [reseller.id],
  );
  const expiresAt = inDays(10).toISOString();
  const bad = Array.from({ length: 501 }, (_, at) => ({ name: `bad-${at + 1}.example`, expiresAt }));
  await insertDomains(gateway.databaseUrl, reseller, bad);
  await giveNames(gateway, reseller, new Map([["good.example", { expirationDate: inDays(11) }]]));
  await gateway.startWorker();
  await untilRenewalIs(gateway, "good.example", "Renewed");
  const [alarm] = await alarmsOf(gateway, "bad-501.example");
  assert.match(alarm?.note ?? "", /cannot be scheduled: .*renewals_live_name/);
});
