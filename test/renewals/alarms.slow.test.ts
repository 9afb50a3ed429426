import assert from "node:assert/strict";
import { test } from "node:test";
import { runSql } from "../harness/sql.ts";
import { holdAt } from "../orders/hold.ts";
import { until } from "../orders/judge.ts";
import { giveNames, own, renewalOf, type Stage, setWillRenew, startStage, untilRenewalIs } from "./stage.ts";

interface AlarmRow {
  kind: string;
  subject: string;
  note: string;
  count: number;
}

const openAlarms = ({ gateway }: Stage, kind: string) =>
  runSql<AlarmRow>(
    gateway.databaseUrl,
    "SELECT kind, subject, note, count FROM alarms WHERE kind = $1 AND resolved_at IS NULL",
    [kind],
  );

/** Waits until the alarm about the name was raised `count` times, and returns its note. */
async function untilRaised(stage: Stage, name: string, count: number): Promise<string> {
  let note = "";
  await until(`alarm ${count} is raised`, async () => {
    const alarm = (await openAlarms(stage, "renewal")).find(({ subject }) => subject === name);
    note = alarm?.note ?? "";
    return alarm?.count === count;
  });
  return note;
}

test("a renewal that is not proven raises an alarm 30, 7 and 1 days before the end of the term", async (t) => {
  const stage = await startStage(t);
  const name = "unproven.example";
  await own(stage, name);
  stage.gateway.registry.pause();
  await stage.travelTo(name, 29.97);
  await untilRenewalIs(stage.gateway, name, "Processing");
  assert.deepEqual(await openAlarms(stage, "renewal"), [], "a renewal that has just begun is no alarm");
  await stage.travelTo(name, 29.9);
  assert.match(await untilRaised(stage, name, 1), /in 29 days.*not proven/);
  await stage.travelTo(name, 7.1);
  assert.equal((await openAlarms(stage, "renewal"))[0]?.count, 1);
  await stage.travelTo(name, 6.9);
  assert.match(await untilRaised(stage, name, 2), /in 6 days/);
  await stage.travelTo(name, 0.9);
  assert.match(await untilRaised(stage, name, 3), /in 0 days/);
  stage.gateway.registry.resume();
  await untilRenewalIs(stage.gateway, name, "Renewed");
  assert.deepEqual(await openAlarms(stage, "renewal"), [], "it is resolved");
});

test("a name whose renewal cannot be scheduled is an alarm until it is scheduled, and delays no other", async (t) => {
  const stage = await startStage(t);
  const [name, other] = ["unscheduled.example", "other.example"];
  await own(stage, name);
  await own(stage, other);
  const { databaseUrl } = stage.gateway;
  const refuse = `CREATE FUNCTION test_refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not this one'; END $$;
    CREATE TRIGGER test_refuse BEFORE INSERT ON renewals FOR EACH ROW WHEN (NEW.domain_name = '${name}')
      EXECUTE FUNCTION test_refuse()`;
  await runSql(databaseUrl, refuse);
  await stage.travelTo(name, 80);
  await until("it is an alarm", async () => (await openAlarms(stage, "renewal")).length > 0);
  assert.match((await openAlarms(stage, "renewal"))[0]!.note, /cannot be scheduled: not this one/);
  await untilRenewalIs(stage.gateway, other, "Scheduled");
  await runSql(databaseUrl, "DROP TRIGGER test_refuse ON renewals");
  await untilRenewalIs(stage.gateway, name, "Scheduled");
  assert.deepEqual(await openAlarms(stage, "renewal"), []);
});

test("a name whose renewal is switched off raises no alarm", async (t) => {
  const stage = await startStage(t);
  const name = "unwanted.example";
  await own(stage, name);
  await setWillRenew(stage, name, false);
  await stage.travelTo(name, 31);
  await untilRenewalIs(stage.gateway, name, "Scheduled");
  await stage.travelTo(name, 0.5);
  const passed = "SELECT FROM renewals WHERE status = 'Lapsing' AND alarm_at IS NULL";
  await until("all three days are over", async () => (await runSql(stage.gateway.databaseUrl, passed)).length === 1);
  assert.deepEqual(await openAlarms(stage, "renewal"), []);
});

test("a name that is switched off while alarms are being raised gets none", async (t) => {
  const stage = await startStage(t);
  const { gateway, reseller } = stage;
  const inDays = (days: number) => new Date(gateway.context.clock.now().getTime() + days * 24 * 60 * 60_000);
  gateway.registry.pause();
  const names = { "first.example": inDays(35), "second.example": inDays(36) };
  const given = Object.entries(names).map(([name, expirationDate]) => [name, { expirationDate }] as const);
  await giveNames(gateway, reseller, new Map(given));
  for (const name of Object.keys(names)) await untilRenewalIs(gateway, name, "Scheduled");
  const isFirst = "NEW.domain_name = 'first.example' AND NEW.alarm_at IS DISTINCT FROM OLD.alarm_at";
  const hold = await holdAt(t, gateway.databaseUrl, { table: "renewals", on: "UPDATE", when: isFirst });
  await stage.travel(10);
  await hold.reached();
  assert.equal(await setWillRenew(stage, "second.example", false), 204);
  await hold.release();
  const moved = "SELECT FROM renewals WHERE domain_name = 'second.example' AND alarm_at > due_at + interval '1 day'";
  await until("its time is over", async () => (await runSql(gateway.databaseUrl, moved)).length === 1);
  assert.deepEqual(
    (await openAlarms(stage, "renewal")).map(({ subject }) => subject),
    ["first.example"],
  );
});

test("switching a name off ends the alarm about it", async (t) => {
  const stage = await startStage(t);
  const name = "given-up.example";
  await own(stage, name);
  await stage.travelTo(name, 31);
  await untilRenewalIs(stage.gateway, name, "Scheduled");
  stage.gateway.registry.pause();
  await stage.travelTo(name, 20);
  await untilRaised(stage, name, 1);
  await setWillRenew(stage, name, false);
  stage.gateway.registry.resume();
  await untilRenewalIs(stage.gateway, name, "Lapsing");
  assert.deepEqual(await openAlarms(stage, "renewal"), []);
});

test("renewals without credit raise one alarm for the registry, and continue when there is credit", async (t) => {
  const stage = await startStage(t);
  const names = ["renew-code-2104-a.example", "renew-code-2104-b.example"];
  await own(stage, ...names, "solvent.example");
  await stage.travelTo("solvent.example", 31);
  // Its renew would prove that there is credit.
  await setWillRenew(stage, "solvent.example", false);
  await stage.travel(2);
  for (const name of names) {
    await until(`${name} waits`, async () => ((await renewalOf(stage.gateway, name))?.reason ?? "").includes("2104"));
  }
  const [alarm, ...others] = await openAlarms(stage, "renewal-credit");
  assert.deepEqual([alarm?.subject, others], ["sandbox", []]);
  await setWillRenew(stage, "solvent.example", true);
  await untilRenewalIs(stage.gateway, "solvent.example", "Renewed");
  const resolved = "SELECT FROM alarms WHERE kind = 'renewal-credit' AND resolved_at IS NOT NULL";
  await until("it was resolved", async () => (await runSql(stage.gateway.databaseUrl, resolved)).length > 0);
});

test("a registry with another expiry date than the portfolio's raises an alarm, and the name is renewed from the registry's date", async (t) => {
  const stage = await startStage(t);
  const { gateway } = stage;
  const name = "elsewhere.example";
  await own(stage, name);
  const domain = gateway.registry.store.domains.find(name)!;
  const exDate = new Date(Date.parse(domain.exDate) + 20 * 24 * 60 * 60_000);
  gateway.registry.store.domains.put({ ...domain, exDate: exDate.toISOString() });
  await stage.travelTo(name, 29);
  await untilRenewalIs(gateway, name, "Renewed");
  exDate.setUTCFullYear(exDate.getUTCFullYear() + 1);
  assert.equal(gateway.registry.store.domains.find(name)?.exDate, exDate.toISOString());
  assert.equal((await openAlarms(stage, "renewal-dates"))[0]?.subject, name);
});
