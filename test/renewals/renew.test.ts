import assert from "node:assert/strict";
import { test } from "node:test";
import { assertRenewedOnce, commands, own, portfolioEntry, renewalOf, startStage, untilRenewalIs } from "./stage.ts";

test("a name is renewed once, thirty days before its term is over", async (t) => {
  const stage = await startStage(t);
  const { gateway, reseller } = stage;
  const name = "once.example";
  await own(stage, name);
  const { expiration_date: before } = await portfolioEntry(gateway, reseller, name);
  await stage.travelTo(name, 31);
  await untilRenewalIs(gateway, name, "Scheduled");
  assert.deepEqual(commands(gateway, name, "domain:renew"), []);
  await stage.travel(1);
  await assertRenewedOnce(stage, name, before);
  const [renew] = commands(gateway, name, "domain:renew");
  assert.equal(renew?.clTRID, `${(await renewalOf(gateway, name))?.renewal_code}-1`);
});
