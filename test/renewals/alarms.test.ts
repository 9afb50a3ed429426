import assert from "node:assert/strict";
import { test } from "node:test";
import { runSql } from "../harness/sql.ts";
import { until } from "../orders/judge.ts";
import { own, renewalOf, type Stage, setWillRenew, startStage, untilRenewalIs } from "./stage.ts";

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

/** Waits until the alarm about the name was raised for the so-manieth time, and returns its note. */
async function untilRaised(stage: Stage, name: string, count: number): Promise<string> {
  let note = "";
  await until(`alarm ${count} is raised`, async () => {
    const alarm = (await openAlarms(stage, "renewal")).find(({ subject }) => subject === name);
    note = alarm?.note ?? "";
    return alarm?.count === count;
  });
  return note;
}

test("a renewal that is not proven is an alarm 30, 7 and 1 days before the end of the term, until it is", async (t) => {
  const stage = await startStage(t);
  const name = "unproven.example";
  await own(stage, name);
  stage.gateway.registry.pause();
  await stage.travelTo(name, 29.97);
  await untilRenewalIs(stage.gateway, name, "Processing");
  assert.deepEqual(await openAlarms(stage, "renewal"), [], "what has just begun is no alarm");
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

test("a name that is not to be renewed raises no alarm", async (t) => {
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

test("renewals wait for credit, which is one alarm for the registry, and go on when there is some", async (t) => {
  const stage = await startStage(t);
  const names = ["renew-code-2104-a.example", "renew-code-2104-b.example"];
  await own(stage, ...names, "solvent.example");
  await stage.travelTo("solvent.example", 31);
  // Its renew would be the proof that there is credit.
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

test("a registry that has another expiry than the portfolio is an alarm, and the name is renewed from there", async (t) => {
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
