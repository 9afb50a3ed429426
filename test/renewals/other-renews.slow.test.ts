/** Registries whose renew command differs, or that have none: then only a delete prevents that they renew a name. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openAlarms } from "../orders/stage.ts";
import {
  assertRenewedOnce,
  commands,
  executed,
  own,
  portfolioEntry,
  setWillRenew,
  startStage,
  untilRenewalIs,
  yearsLater,
} from "./stage.ts";

test("a name is renewed by its registry and sent nothing, or deleted when it is switched off", async (t) => {
  const stage = await startStage(t, {
    sandbox: { renewCommand: false },
    registry: { renew: "none", renewalLeadDays: 0, renewalAlarmDays: [0] },
  });
  const { gateway, reseller } = stage;
  const [kept, off] = ["kept.example", "off.example"];
  await own(stage, kept, off);
  const { expiration_date: before } = await portfolioEntry(gateway, reseller, kept);
  assert.equal(await setWillRenew(stage, off, false), 204);
  await stage.travelTo(kept, 1);
  await untilRenewalIs(gateway, kept, "Scheduled");
  assert.deepEqual(await openAlarms(gateway), []);
  await stage.travel(2);
  await untilRenewalIs(gateway, kept, "Renewed");
  assert.equal((await portfolioEntry(gateway, reseller, kept)).expiration_date, yearsLater(before, 1));
  await untilRenewalIs(gateway, off, "Ended");
  assert.equal(executed(gateway, off, "domain:delete"), 1);
  for (const name of [kept, off]) assert.deepEqual(commands(gateway, name, "domain:renew"), []);
});

test("an operator who runs such a renewal early makes it wait for the registry, and sends nothing", async (t) => {
  const stage = await startStage(t, {
    sandbox: { renewCommand: false },
    registry: { renew: "none", renewalLeadDays: 20, renewalAlarmDays: [0] },
  });
  const { gateway } = stage;
  await own(stage, "early.example");
  await stage.travelTo("early.example", 19);
  await untilRenewalIs(gateway, "early.example", "Processing (renew)");
  await stage.travel(20);
  await untilRenewalIs(gateway, "early.example", "Renewed");
  assert.deepEqual(commands(gateway, "early.example", "domain:renew"), []);
});

test("a renewal by hand at such a registry ends with the reason, and sends nothing", async (t) => {
  const stage = await startStage(t, { sandbox: { renewCommand: false }, registry: { renew: "none" } });
  const { gateway, reseller } = stage;
  await own(stage, "by-hand.example");
  const { expiration_date } = await portfolioEntry(gateway, reseller, "by-hand.example");
  const body = { years: 1, expiration_date };
  const { headers } = await gateway.send(reseller, "POST", "/domains/by-hand.example/renewals", { body });
  const { status, error_text } = await gateway.settled(reseller, headers.location ?? "");
  assert.equal(status, "Errors");
  assert.match(String(error_text), /no renew command/);
  assert.deepEqual(commands(gateway, "by-hand.example", "domain:renew"), []);
});

for (const period of ["months", "none"] as const) {
  test(`a renew gives its period as the registry takes it: ${period}`, async (t) => {
    const stage = await startStage(t, { sandbox: { period }, registry: { period } });
    await own(stage, "term.example");
    const { expiration_date: before } = await portfolioEntry(stage.gateway, stage.reseller, "term.example");
    await stage.travelTo("term.example", 29);
    await assertRenewedOnce(stage, "term.example", before);
    assert.equal(commands(stage.gateway, "term.example", "domain:renew").length, 1);
  });
}
