/** Registries that renew automatically do so for a year, and from their own date. */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { runSql } from "../harness/sql.ts";
import { until } from "../orders/judge.ts";
import {
  commands,
  executed,
  giveNames,
  portfolioEntry,
  renewalOf,
  startStage,
  untilRenewalIs,
  yearsLater,
} from "./stage.ts";

const dayMs = 24 * 60 * 60_000;

/** How the registry's date differed from ours before it renewed the name, and for how long we renew. */
const registries: [is: string, offDays: number, renewalYears: number][] = [
  ["renews for one year where we renew for two", 0, 2],
  ["had an earlier date than ours", -20, 1],
  ["had a later date than ours", 5, 1],
];

for (const [is, offDays, renewalYears] of registries) {
  describe(`at a registry that ${is}`, async () => {
    const { gateway, reseller } = await startStage({ after }, { registry: { renewalYears } });
    const nowMs = Math.floor(gateway.context.clock.now().getTime() / 1000) * 1000;
    const expirationDate = new Date(nowMs - 10 * dayMs);
    const itsDate = new Date(expirationDate.getTime() + offDays * dayMs);
    const registryExDate = new Date(yearsLater(itsDate.toISOString(), 1));
    const [wanted, unwanted] = ["wanted.example", "unwanted.example"];
    await giveNames(
      gateway,
      reseller,
      new Map([
        [wanted, { expirationDate, registryExDate }],
        [unwanted, { expirationDate, registryExDate, willRenew: false }],
      ]),
    );

    test("a name that it has renewed counts as renewed, and no other period is paid for", async () => {
      await untilRenewalIs(gateway, wanted, "Renewed");
      assert.deepEqual(commands(gateway, wanted, "domain:renew"), []);
      const { expiration_date } = await portfolioEntry(gateway, reseller, wanted);
      assert.equal(expiration_date, registryExDate.toISOString());
      const alarms = "SELECT subject FROM alarms WHERE kind = 'renewal-dates' AND resolved_at IS NULL";
      assert.equal((await runSql(gateway.databaseUrl, alarms)).length, offDays === 0 ? 0 : 1);
    });

    test("a name that is switched off is deleted once it has renewed it", async () => {
      await untilRenewalIs(gateway, unwanted, "Ended");
      assert.equal(executed(gateway, unwanted, "domain:delete"), 1);
    });
  });
}

test("a name that was renewed for several years is not deleted as an automatic renewal", async (t) => {
  const { gateway, reseller } = await startStage(t);
  const name = "by-hand.example";
  const expirationDate = new Date(gateway.context.clock.now().getTime() - dayMs);
  const registryExDate = new Date(yearsLater(expirationDate.toISOString(), 3));
  await giveNames(gateway, reseller, new Map([[name, { expirationDate, registryExDate, willRenew: false }]]));
  await untilRenewalIs(gateway, name, "Attention");
  assert.match((await renewalOf(gateway, name))?.reason ?? "", /more than the year/);
  assert.deepEqual(commands(gateway, name, "domain:delete"), []);
});

test("the grace period for a delete counts from the registry's own date", async (t) => {
  const { gateway, reseller } = await startStage(t);
  const inDays = (days: number) => new Date(gateway.context.clock.now().getTime() + days * dayMs);
  const name = "earlier.example";
  const registryExDate = new Date(yearsLater(inDays(-46).toISOString(), 1));
  await giveNames(
    gateway,
    reseller,
    new Map([[name, { expirationDate: inDays(-1), registryExDate, willRenew: false }]]),
  );
  await untilRenewalIs(gateway, name, "Attention");
  assert.match((await renewalOf(gateway, name))?.reason ?? "", /is over/);
  assert.deepEqual(commands(gateway, name, "domain:delete"), []);
});

test("a name whose registry moves its date between two looks is renewed once, from the newer date", async (t) => {
  const { gateway, reseller } = await startStage(t);
  const name = "renew-once-2104-moved.example";
  const expirationDate = new Date(gateway.context.clock.now().getTime() + 20 * dayMs);
  const refused = gateway.registry.hold({ command: "domain:renew", name, at: "before-answer", times: 1 });
  await giveNames(gateway, reseller, new Map([[name, { expirationDate }]]));
  await refused.reached(1);
  const { domains } = gateway.registry.store;
  const exDate = new Date(expirationDate.getTime() - 10 * dayMs).toISOString();
  domains.put({ ...domains.find(name)!, exDate });
  refused.release();
  await untilRenewalIs(gateway, name, "Renewed");
  assert.equal(executed(gateway, name, "domain:renew"), 1);
  assert.equal((await portfolioEntry(gateway, reseller, name)).expiration_date, yearsLater(exDate, 1));
});

test("a name whose registry has a date a year before ours is renewed for the missing year, and then for the next one", async (t) => {
  const { gateway, reseller } = await startStage(t, { registry: { renewalLeadDays: 500 } });
  const name = "shorter.example";
  const inDays = gateway.context.clock.now().getTime() + 400 * dayMs;
  const expirationDate = new Date(Math.floor(inDays / 1000) * 1000);
  const registryExDate = new Date(yearsLater(expirationDate.toISOString(), -1));
  await giveNames(gateway, reseller, new Map([[name, { expirationDate, registryExDate }]]));
  const renewed = yearsLater(expirationDate.toISOString(), 1);
  const hasNextTerm = async () => (await portfolioEntry(gateway, reseller, name)).expiration_date === renewed;
  await until("it has the next term", hasNextTerm);
  assert.equal(executed(gateway, name, "domain:renew"), 2);
});
