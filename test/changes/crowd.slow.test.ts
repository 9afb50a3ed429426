/** A thousand names get new name servers in one go, at a registry that accepts a hundred commands a second. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { runSql } from "../harness/sql.ts";
import { place, until } from "../orders/judge.ts";
import { giveNames } from "../renewals/stage.ts";
import { order, own, type Stage, startStage } from "./stage.ts";

const namesCount = 1_000;
/** Idle and busy take turns, so that a machine that is slower for a while delays both. */
const roundsCount = 5;
const ordersPerRound = 8;
const placedAtOnce = 10;
const sessionsMax = 10;
const commandsPerSecond = 100;
/** Those that were sent already, or have a session. In one queue with the changes, an order had thousands before it. */
const changeCommandsMax = 4 * sessionsMax;
const termDaysLeft = 200;
const dayMs = 24 * 60 * 60_000;
const name_servers = ["ns1.dns-host.net", "ns2.dns-host.net"];

/** Registers names one after the other. @returns the milliseconds from each request to its end */
async function registerSome({ gateway, reseller }: Stage, label: string): Promise<number[]> {
  const times: number[] = [];
  for (let number = 0; number < ordersPerRound; number++) {
    const beganMs = performance.now();
    const { location } = await place(gateway, reseller, `${label}-${number}.example`);
    assert.equal((await gateway.settled(reseller, location)).status, "Finished");
    times.push(performance.now() - beganMs);
  }
  return times;
}

const percentile = (times: readonly number[], share: number) =>
  times.toSorted((one, other) => one - other)[Math.ceil(share * times.length) - 1]!;

async function orderAll(stage: Stage, names: readonly string[]): Promise<string[]> {
  const waiting = names.values();
  const locations: string[] = [];
  const placeSome = async () => {
    for (const name of waiting)
      locations.push(await order(stage, "PUT", `/domains/${name}/nameservers`, { name_servers }));
  };
  await Promise.all(Array.from({ length: placedAtOnce }, placeSome));
  return locations;
}

const framesIn = ({ gateway }: Stage) =>
  gateway.registry.store.journal.entries({}).filter(({ direction }) => direction === "in");

/** How many commands the registry got between an order's check and its create. */
function commandsBefore(stage: Stage, name: string): number {
  const frames = framesIn(stage);
  const placeOf = (command: string) => frames.findIndex((entry) => entry.name === name && entry.command === command);
  const [check, create] = [placeOf("domain:check"), placeOf("domain:create")];
  assert.ok(check >= 0 && create > check);
  return create - check - 1;
}

/** How many times as long registrations took beside the changes: on a busy machine mostly a matter of its processors. */
function reportRatio(t: TestContext, share: number, idle: readonly number[], busy: readonly number[]): void {
  const [before, meanwhile] = [percentile(idle, share), percentile(busy, share)];
  const times = (meanwhile / before).toFixed(1);
  t.diagnostic(
    `${share * 100} % of the orders ended within ${before.toFixed(0)} ms idle, ${meanwhile.toFixed(0)} ms busy: ${times} times`,
  );
}

test("registrations of others come before a thousand changes that wait, and all are carried out", async (t) => {
  const patience = { transformTimeoutMs: 30_000, queryTimeoutMs: 60_000 };
  const registry = { ...patience, sessionsMax, commandsPerSecond };
  const sandbox = { journalFramesMax: 1_000_000 };
  const stage = await startStage(t, ["earlier.example"], { registry, sandbox });
  const { gateway } = stage;
  const other: Stage = { gateway, reseller: await gateway.addReseller() };
  // Then its contact exists at the registry.
  await own(other, "others-first.example");
  const names = Array.from({ length: namesCount }, (_, index) => `managed-${index}.example`);
  const expirationDate = new Date(gateway.context.clock.now().getTime() + termDaysLeft * dayMs);
  await giveNames(gateway, stage.reseller, new Map(names.map((name) => [name, { expirationDate }])));
  // The changes are held until there are many, and again in each idle round. Registrations do not ask for info.
  const holdChanges = () => gateway.registry.hold({ command: "domain:info", at: "before-answer" });
  let hold = holdChanges();
  const locations = await orderAll(stage, names);
  const idle: number[] = [];
  const busy: number[] = [];
  for (let round = 0; round < roundsCount; round++) {
    await hold.reached(sessionsMax / 2);
    idle.push(...(await registerSome(other, `idle-${round}`)));
    hold.release();
    // Until they have used what was saved up meanwhile, and more.
    const seen = framesIn(other).length;
    await until(
      "the changes take the registry's whole rate",
      () => framesIn(other).length > seen + 1.5 * commandsPerSecond,
    );
    busy.push(...(await registerSome(other, `busy-${round}`)));
    hold = holdChanges();
  }
  hold.release();
  const open = "SELECT FROM orders WHERE ended_at IS NULL";
  const left = (await runSql(gateway.databaseUrl, open)).length;
  t.diagnostic(`${left} changes were left when the last registration ended`);
  assert.ok(left > 0, "no registration has waited for the last change");
  for (const share of [0.5, 0.95]) reportRatio(t, share, idle, busy);
  const registered = Array.from({ length: roundsCount * ordersPerRound }, (_, number) => {
    return `busy-${Math.floor(number / ordersPerRound)}-${number % ordersPerRound}.example`;
  });
  const before = registered.map((name) => commandsBefore(other, name));
  t.diagnostic(`commands between check and create: ${before}`);
  assert.ok(percentile(before, 0.5) < changeCommandsMax, `commands before them: ${before}`);
  await until("all changes have ended", async () => (await runSql(gateway.databaseUrl, open)).length === 0);
  const finished = "SELECT FROM orders WHERE status = 'Finished'";
  assert.equal((await runSql(gateway.databaseUrl, finished)).length, locations.length);
  const delegated = names.filter((name) => gateway.registry.store.domains.find(name)?.delegation?.servers.length === 2);
  assert.equal(delegated.length, namesCount);
});
