/** Names that are gone from the registry, and no message has said so. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { listAlarms, resolveAlarmById } from "#alarms.ts";
import { runSql } from "../harness/sql.ts";
import { until } from "../orders/judge.ts";
import {
  assertRenewedOnce,
  commands,
  giveNames,
  own,
  portfolioEntry,
  type Stage,
  startStage,
  untilRenewalIs,
} from "../renewals/stage.ts";
import {
  departuresOf,
  dropSilently,
  isInPortfolio,
  lookNow,
  looks,
  moveSilently,
  openAlarms,
  rivalId,
  secondLookDays,
  untilLeft,
  untilNoted,
} from "./stage.ts";

const dayMs = 24 * 60 * 60_000;
const namesPerHourMax = 20;
/** How often a test asks for a result before it moves the clocks again. */
const questionsPerTravel = 100;

test("a name that is gone or was transferred leaves at the second look, a day after the first one", async (t) => {
  const stage = await startStage(t);
  const { gateway, reseller } = stage;
  const [gone, moved] = ["gone.example", "moved.example"];
  await own(stage, gone, moved);
  dropSilently(stage, gone);
  moveSilently(stage, moved);
  await stage.travelTo(moved, 30);
  await untilNoted(stage, 2);
  const before = new Map([gone, moved].map((name) => [name, looks(stage, name)]));
  await stage.travel(0.9);
  for (const name of [gone, moved]) {
    await until(`${name} was looked at again`, () => looks(stage, name) > before.get(name)!);
    await until(`the look at ${name} was judged`, () => isRenewalWaiting(stage, name));
    assert.equal(await isInPortfolio(stage, name), true, name);
  }
  await stage.travel(0.2);
  for (const name of [gone, moved]) {
    await untilLeft(stage, name);
    await untilRenewalIs(gateway, name, "Ended");
    assert.deepEqual(commands(gateway, name, "domain:renew"), []);
  }
  const departures = (await departuresOf(stage, reseller)).map(({ left_at: _, ...rest }) => rest);
  assert.deepEqual(
    departures.toSorted((one, other) => (one.domain_name < other.domain_name ? -1 : 1)),
    [
      { domain_name: gone, reason: "deleted" },
      { domain_name: moved, reason: "transferred", gaining_registrar: rivalId },
    ],
  );
  assert.deepEqual(await openAlarms(stage), []);
});

/** Its renewal has written what its last look meant. */
async function isRenewalWaiting({ gateway, clock }: Stage, name: string): Promise<boolean> {
  const waiting = "SELECT FROM renewals WHERE domain_name = $1 AND next_step_at > $2";
  return (await runSql(gateway.databaseUrl, waiting, [name, clock.now()])).length === 1;
}

test("a name that is there again before the second look stays, and is renewed once", async (t) => {
  const stage = await startStage(t);
  const { gateway, reseller } = stage;
  const name = "back.example";
  await own(stage, name);
  const { expiration_date: before } = await portfolioEntry(gateway, reseller, name);
  const domain = gateway.registry.store.domains.find(name)!;
  dropSilently(stage, name);
  await stage.travelTo(name, 30);
  await untilNoted(stage);
  gateway.registry.store.domains.put(domain);
  await stage.travel(secondLookDays);
  await assertRenewedOnce(stage, name, before);
  await untilNoted(stage, 0);
  assert.deepEqual(await departuresOf(stage, reseller), []);
});

test("looks while the registry is away say nothing about a name that seemed gone", async (t) => {
  const stage = await startStage(t);
  const name = "unknown.example";
  await own(stage, name);
  const domain = stage.gateway.registry.store.domains.find(name)!;
  dropSilently(stage, name);
  await lookNow(stage, name);
  await untilNoted(stage);
  stage.gateway.registry.pause();
  await stage.travel(secondLookDays);
  const postponed = "SELECT FROM domains WHERE look_at > $1";
  const now = stage.clock.now();
  await until("it was asked", async () => (await runSql(stage.gateway.databaseUrl, postponed, [now])).length === 1);
  stage.gateway.registry.store.domains.put(domain);
  stage.gateway.registry.resume();
  await stage.travel(secondLookDays);
  await untilNoted(stage, 0);
  assert.equal(await isInPortfolio(stage, name), true);
});

test("a name leaves whose next renewal is years away, and the names of a term that is over leave as expired", async (t) => {
  const stage = await startStage(t);
  const { gateway, reseller } = stage;
  const inDays = (days: number) => new Date(gateway.context.clock.now().getTime() + days * dayMs);
  const [far, over] = ["far.example", "over.example"];
  await giveNames(
    gateway,
    reseller,
    new Map([
      [far, { expirationDate: inDays(3_000) }],
      [over, { expirationDate: inDays(1), willRenew: false }],
    ]),
  );
  dropSilently(stage, far, over);
  await lookNow(stage, far);
  await untilNoted(stage);
  await stage.travel(secondLookDays);
  await untilLeft(stage, far);
  await untilNoted(stage);
  await stage.travel(secondLookDays);
  await untilLeft(stage, over);
  const reasons = (await departuresOf(stage, reseller)).map(({ domain_name, reason }) => [domain_name, reason]);
  // The newest departure comes first.
  assert.deepEqual(reasons, [
    [over, "expired"],
    [far, "deleted"],
  ]);
});

/** Names that the registry does not know any more, which were looked at once. */
async function startGone(t: TestContext, count: number) {
  const stage = await startStage(t);
  const { gateway, reseller } = stage;
  const expirationDate = new Date(gateway.context.clock.now().getTime() + 29 * dayMs);
  const names = Array.from({ length: count }, (_, index) => `gone-${index}.example`);
  const held = gateway.registry.hold({ command: "domain:info", at: "before-execution" });
  await giveNames(gateway, reseller, new Map(names.map((name) => [name, { expirationDate }])));
  await held.reached(1);
  const domains = names.map((name) => gateway.registry.store.domains.find(name)!);
  dropSilently(stage, ...names);
  held.release();
  await untilNoted(stage, count);
  return { stage, names, domains };
}

/** All names were looked at a day later. */
async function travelToSecondLooks(stage: Stage, names: string[]): Promise<void> {
  await stage.travel(secondLookDays);
  const before = new Map(names.map((name) => [name, looks(stage, name)]));
  await stage.travel(secondLookDays);
  await until("all were looked at", () => names.every((name) => looks(stage, name) > before.get(name)!));
}

const portfolioSize = async ({ gateway, reseller }: Stage) =>
  Number((await gateway.send(reseller, "GET", "/domains")).headers["x-paging-totalresults"]);

test("a hostile registry that answers 2303 to every info empties no portfolio: all names stay, and it is one alarm", async (t) => {
  const { stage, names, domains } = await startGone(t, namesPerHourMax + 5);
  await travelToSecondLooks(stage, names);
  assert.equal(await portfolioSize(stage), names.length);
  assert.deepEqual(await departuresOf(stage, stage.reseller), []);
  assert.deepEqual(await openAlarms(stage), [{ kind: "departures", subject: "sandbox" }]);
  // The registry was mistaken.
  for (const domain of domains) stage.gateway.registry.store.domains.put(domain);
  const renewed = "SELECT FROM renewals WHERE status = 'Renewed'";
  let asked = 0;
  await until("all are renewed", async () => {
    // A look that was in progress before the names came back waits for the next one.
    if (asked++ % questionsPerTravel === 0) await stage.travel(secondLookDays);
    return (await runSql(stage.gateway.databaseUrl, renewed)).length === names.length;
  });
  await untilNoted(stage, 0);
  assert.deepEqual(await departuresOf(stage, stage.reseller), []);
});

test("names that seemed gone at once leave after an operator has resolved the alarm, if the registry still shows none", async (t) => {
  const { stage, names } = await startGone(t, namesPerHourMax + 1);
  const { context } = stage.gateway;
  await stage.travel(0.1);
  const [alarm] = await listAlarms(context, { all: false, limit: 10 });
  assert.equal(alarm?.kind, "departures");
  assert.equal(await resolveAlarmById(context, alarm?.id ?? 0), true);
  await stage.travel(secondLookDays);
  await until("all have left", async () => (await portfolioSize(stage)) === 0);
  assert.equal((await departuresOf(stage, stage.reseller)).length, names.length);
  assert.deepEqual(await openAlarms(stage), []);
});

test("twenty names that are gone leave without an operator", async (t) => {
  const { stage } = await startGone(t, namesPerHourMax);
  await stage.travel(secondLookDays);
  await until("all have left", async () => (await portfolioSize(stage)) === 0);
  assert.deepEqual(await openAlarms(stage), []);
});
