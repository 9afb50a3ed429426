import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../harness/seeded-random.ts";
import { until } from "../orders/judge.ts";
import { giveNames, startStage, yearsLater } from "./stage.ts";

const namesCount = 1_000;
const dayMs = 24 * 60 * 60_000;
const seed = 7;
/** For some names the registry loses an answer. */
const labels = ["", "", "", "", "", "", "", "renew-drop-after-", "renew-drop-before-", "renew-once-2400-"];

test("a month of a thousand names renews every one that falls due, each exactly once", async (t) => {
  const random = seededRandom(seed);
  const circuit = {
    faultsMax: 10_000,
    faultWindowMs: 30_000,
    probeDelayMsMin: 10,
    probeDelayMsMax: 10,
    refusedDelayMs: 10,
  };
  const stage = await startStage(t, { registry: { circuit, sessionsMax: 8, settleMs: 50 } });
  const { gateway, reseller } = stage;
  const start = Math.floor(gateway.context.clock.now().getTime() / 1000) * 1000;
  // Terms end between 20 and 90 days from now. Due are those that end within 60: 30 days of this test and 30 days' lead.
  const names = new Map(
    Array.from({ length: namesCount }, (_, index) => {
      const label = random(10) === 0 ? labels[random(labels.length)] : "";
      const expirationDate = new Date(start + 20 * dayMs + random(70 * 24) * (dayMs / 24));
      return [`${label}m${index}.example`, { expirationDate }] as const;
    }),
  );
  await giveNames(gateway, reseller, names);
  const isDue = (date: Date, day: number) => date.getTime() <= start + (30 + day) * dayMs;
  for (let day = 0; day <= 30; day += 3) {
    const due = [...names].filter(([, { expirationDate }]) => isDue(expirationDate, day)).map(([name]) => name);
    await until(`all of day ${day} are renewed`, async () => {
      const { headers } = await gateway.send(reseller, "GET", "/renewals?status=renewed&take=1");
      return Number(headers["x-paging-totalresults"]) >= due.length;
    });
    if (day < 30) await stage.travel(3);
  }
  const journal = gateway.registry.store.journal.entries({ command: "domain:renew" });
  const executed = Map.groupBy(
    journal.filter((entry) => entry.executed),
    ({ name }) => name,
  );
  for (const [name, { expirationDate }] of names) {
    const renews = executed.get(name)?.length ?? 0;
    if (isDue(expirationDate, 30)) assert.equal(renews, 1, name);
    // Real time passes too while the days are counted.
    if (!isDue(expirationDate, 30.1)) assert.equal(renews, 0, `${name} was renewed before its time`);
    const exDate = gateway.registry.store.domains.find(name)?.exDate;
    assert.equal(exDate, yearsLater(expirationDate.toISOString(), renews), name);
  }
});
