/** A renew whose answer was lost may arrive late: whatever was sent meanwhile, the name is renewed once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "#lib/clock.ts";
import { runSql } from "../harness/sql.ts";
import { until } from "../orders/judge.ts";
import { startWithLateNetwork } from "../orders/late-command.ts";
import {
  commands,
  executed,
  giveNames,
  own,
  portfolioEntry,
  renewalOf,
  setWillRenew,
  startStage,
  untilRenewalIs,
} from "./stage.ts";

const dayMs = 24 * 60 * 60_000;

const curExpDates = (frames: readonly { xml?: string | undefined }[]) =>
  frames.map(({ xml }) => /curExpDate>([^<]+)</.exec(xml ?? "")?.[1]);

test("a renew that arrives after the takeover is repeated only after the settle time and from the same date, so one is executed", async (t) => {
  const { gateway, start, network, killWithCommandOnItsWay } = await startWithLateNetwork(t, {
    renewalIntervalMs: 100,
  });
  const { databaseUrl } = gateway;
  await start();
  const reseller = await gateway.addReseller();
  const name = "late-renew.example";
  const expirationDate = new Date(Math.floor(systemClock.now().getTime() / 1_000) * 1_000 + 10 * dayMs);
  await killWithCommandOnItsWay("NEW.order_id IS NOT NULL", () =>
    giveNames(gateway, reseller, new Map([[name, { expirationDate }]])),
  );
  const waits = "SELECT FROM order_history WHERE event = 'look-lost' AND note LIKE '%still on its way%'";
  await until(
    "the renewal waits after a look that did not show the renew",
    async () => (await runSql(databaseUrl, waits)).length > 0,
  );
  assert.deepEqual(commands(gateway, name, "domain:renew"), [], "it was repeated within the settle time");
  await until("it is repeated", () => executed(gateway, name, "domain:renew") > 0);
  network.deliver();
  await until("the first one arrives", () => commands(gateway, name, "domain:renew").length > 1);
  await untilRenewalIs(gateway, name, "Renewed");
  const frames = commands(gateway, name, "domain:renew");
  assert.equal(executed(gateway, name, "domain:renew"), 1);
  const [one, other] = curExpDates(frames);
  assert.ok(one);
  assert.equal(one, other);
});

test("a renew that may still arrive is not repeated from another date before the next day", async (t) => {
  const stage = await startStage(t, { registry: { settleMs: 50 } });
  const { gateway, reseller } = stage;
  const { registry } = gateway;
  const name = "moved-date.example";
  await own(stage, name);
  const hold = registry.hold({ command: "domain:renew", name, at: "before-execution", times: 1 });
  await stage.travelTo(name, 30);
  await hold.reached(1);
  const domain = registry.store.domains.find(name);
  assert.ok(domain);
  const exDate = new Date(Date.parse(domain.exDate) + 40 * dayMs).toISOString();
  registry.store.domains.put({ ...domain, exDate });
  registry.closeSessions();
  await hold.abandoned(1);
  hold.release({ execute: false });
  await untilRenewalIs(gateway, name, "Attention");
  assert.match((await renewalOf(gateway, name))?.reason ?? "", /may still arrive/);
  assert.equal(commands(gateway, name, "domain:renew").length, 1);
  await stage.travel(1.1);
  await untilRenewalIs(gateway, name, "Renewed");
  assert.equal(executed(gateway, name, "domain:renew"), 1);
  assert.ok((await portfolioEntry(gateway, reseller, name)).expiration_date > exDate);
});

test("a delete that arrives after it counted as lost and was sent again is executed once, and the name leaves", async (t) => {
  const stage = await startStage(t, { registry: { settleMs: 50 } });
  const { gateway } = stage;
  const name = "late-delete.example";
  await own(stage, name);
  assert.equal(await setWillRenew(stage, name, false), 204);
  const hold = gateway.registry.hold({ command: "domain:delete", name, at: "before-execution", times: 2 });
  await stage.travelTo(name, -1);
  await hold.reached(1);
  gateway.registry.closeSessions();
  await hold.abandoned(1);
  await hold.reached(2);
  hold.release();
  await untilRenewalIs(gateway, name, "Ended");
  assert.equal(commands(gateway, name, "domain:delete").length, 2);
  assert.equal(executed(gateway, name, "domain:delete"), 1);
});
