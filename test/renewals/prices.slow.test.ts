/** What the schedule pays for a renewal (RFC 8748): the ordinary price; about a premium one somebody has to decide. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RegistryProfile } from "#registry/registries.ts";
import type { Scope } from "../harness/database.ts";
import { until } from "../orders/judge.ts";
import { openAlarms } from "../orders/stage.ts";
import {
  assertRenewedOnce,
  commands,
  own,
  portfolioEntry,
  renewalOf,
  type Stage,
  type StageOptions,
  startStage,
  untilRenewalIs,
} from "./stage.ts";

const premiumName = "renew-premium-1.example";
const premium = { amountMax: 100, currency: "EUR" };

/** A gateway with a name whose renewal is due. @returns the end of its term, too */
async function startDue(scope: Scope, name: string, options: StageOptions = {}) {
  const stage = await startStage(scope, options);
  await own(stage, name);
  const { expiration_date: before } = await portfolioEntry(stage.gateway, stage.reseller, name);
  await stage.travelTo(name, 29);
  return { stage, before };
}

const feeOf = ({ gateway }: Stage, name: string) =>
  /fee:renew.*currency>(\w+)<.*fee>([\d.]+)</s.exec(commands(gateway, name, "domain:renew")[0]?.xml ?? "")?.slice(1);

const renewalAlarms = async ({ gateway }: Stage) =>
  (await openAlarms(gateway)).filter(({ kind }) => kind === "renewal").map(({ subject }) => subject);

test("a renewal agrees to the ordinary price, so that a registry that demands its fee executes it", async (t) => {
  const name = "ordinary.example";
  const demanded = { sandbox: { feeDemanded: true }, registry: { createFee: "always" } } as const;
  const { stage, before } = await startDue(t, name, demanded);
  await assertRenewedOnce(stage, name, before);
  assert.deepEqual(feeOf(stage, name), ["EUR", "10.00"]);
});

const cases: [when: string, registry: Partial<RegistryProfile>][] = [
  ["without a policy", {}],
  ["with a policy about orders", { premium }],
  ["with a lower maximum for renewals", { premium: { ...premium, renewalAmountMax: 99 } }],
  ["above the profile's ordinary price", { prices: { renew: 99.99, currency: "EUR" } }],
];
for (const [when, registry] of cases) {
  test(`a premium price is not paid by the schedule, but shown to an operator: ${when}`, async (t) => {
    const { stage } = await startDue(t, premiumName, { registry });
    await untilRenewalIs(stage.gateway, premiumName, "Attention");
    assert.match(
      (await renewalOf(stage.gateway, premiumName))?.reason ?? "",
      /costs 100\.00 EUR, and it is [\d.]+ EUR for/,
    );
    assert.deepEqual(await renewalAlarms(stage), [premiumName]);
    // Hours later it is still not paid.
    stage.clock.skip(2);
    await until("it was looked at again", async () => {
      const checks = stage.gateway.registry.store.journal.entries({ name: premiumName, command: "domain:check" });
      return checks.filter(({ direction, xml }) => direction === "in" && xml?.includes('name="renew"')).length > 1;
    });
    assert.deepEqual(commands(stage.gateway, premiumName, "domain:renew"), []);
  });
}

test("a premium price is paid by the schedule if the policy says so", async (t) => {
  const registry = { premium: { ...premium, renewalAmountMax: 100 } };
  const { stage, before } = await startDue(t, premiumName, { registry });
  await assertRenewedOnce(stage, premiumName, before);
  assert.deepEqual(feeOf(stage, premiumName), ["EUR", "100.00"]);
});

test("while the schedule asks about a premium price, the reseller can renew the name by hand, where the policy allows that", async (t) => {
  const { stage, before } = await startDue(t, premiumName, { registry: { premium } });
  const { gateway, reseller } = stage;
  await untilRenewalIs(gateway, premiumName, "Attention");
  const body = { years: 1, expiration_date: before };
  const reply = await gateway.send(reseller, "POST", `/domains/${premiumName}/renewals`, { body });
  assert.equal(reply.status, 202, reply.text);
  assert.equal((await gateway.settled(reseller, reply.headers.location ?? "")).status, "Finished");
  await assertRenewedOnce(stage, premiumName, before);
  assert.deepEqual(await renewalAlarms(stage), []);
});

test("without the registry's price nothing is sent, and an operator is called only if it refuses to tell it", async (t) => {
  const name = "untold.example";
  const stage = await startStage(t);
  await own(stage, name);
  const { gateway, reseller } = stage;
  const { expiration_date: before } = await portfolioEntry(gateway, reseller, name);
  const refuse = (code: number) =>
    gateway.registry.setFaults({ commands: [{ command: "domain:check", as: "refuse", code }] });
  refuse(2400);
  await stage.travelTo(name, 31);
  await stage.travelTo(name, 29.5);
  await until("it waits", async () => /could not be asked.*2400/.test((await renewalOf(gateway, name))?.reason ?? ""));
  assert.notEqual((await renewalOf(gateway, name))?.status, "Attention");
  refuse(2306);
  await untilRenewalIs(gateway, name, "Attention");
  assert.deepEqual(commands(gateway, name, "domain:renew"), []);
  gateway.registry.setFaults({ commands: [] });
  stage.clock.skip(2);
  await assertRenewedOnce(stage, name, before);
});
