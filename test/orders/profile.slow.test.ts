/** Registries differ, and their profiles say how: contacts or none, letters, prices. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestGateway, type TestGateway, type TestReseller } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { createSteeredClock } from "../harness/steered-clock.ts";
import { assertEnds, creates, place, until } from "./judge.ts";
import { operated } from "./operate.ts";
import { alarmedOrders } from "./stage.ts";

async function createFrame(gateway: TestGateway, reseller: TestReseller, name: string): Promise<string> {
  await assertEnds(gateway, reseller, await place(gateway, reseller, name), "Finished");
  const [create] = creates(gateway, name);
  return create?.xml ?? "";
}

async function refusalOf(gateway: TestGateway, reseller: TestReseller, name: string): Promise<Record<string, unknown>> {
  const body = { domain_name: name };
  const { status, body: refusal } = await gateway.send(reseller, "POST", "/domains/registrations", { body });
  assert.equal(status, 400, name);
  return refusal as Record<string, unknown>;
}

test("a thin registry is sent no contacts", async (t) => {
  const dataModel = "thin" as const;
  const gateway = await startTestGateway(t, { sandbox: { dataModel }, registry: { dataModel } });
  const reseller = await gateway.addReseller();
  assert.doesNotMatch(await createFrame(gateway, reseller, "thin.example"), /registrant|contact/);
  assert.deepEqual(gateway.registry.store.journal.entries({ command: "contact:create" }), []);
  // Only a registry with contacts means a contact by 2303: here it is a refusal.
  const refused = await place(gateway, reseller, "code-2303-1.example");
  await assertEnds(gateway, reseller, refused, "FailedValidation");
  assert.equal(creates(gateway, refused.name).length, 1);
});

test("a thick registry is sent the contacts that it requires beside the registrant", async (t) => {
  for (const contactTypes of [[], ["admin", "tech", "billing"]] as ("admin" | "tech" | "billing")[][]) {
    const gateway = await startTestGateway(t, { registry: { contactTypes } });
    const frame = await createFrame(gateway, await gateway.addReseller(), "thick.example");
    assert.match(frame, /registrant>DH[0-9A-F]{14}</);
    assert.deepEqual(
      [...frame.matchAll(/contact type="(\w+)"/g)].map(([, type]) => type),
      contactTypes,
    );
  }
});

test("a name with a price of its own is blocked unless the policy allows its price, and then ordered at that price", async (t) => {
  for (const premium of [undefined, { amountMax: 99.99, currency: "EUR" }]) {
    const gateway = await startTestGateway(t, { registry: { premium } });
    const refusal = await refusalOf(gateway, await gateway.addReseller(), "premium-1.example");
    assert.equal(refusal.error_code, "domain_availability_blocked", JSON.stringify(premium));
  }
  const gateway = await startTestGateway(t, { registry: { premium: { amountMax: 100, currency: "EUR" } } });
  const reseller = await gateway.addReseller();
  assert.doesNotMatch(await createFrame(gateway, reseller, "ordinary.example"), /fee/);
  const order = await place(gateway, reseller, "premium-1.example");
  await assertEnds(gateway, reseller, order, "Finished");
  assert.match(creates(gateway, order.name)[0]?.xml ?? "", /currency>EUR<.*fee>100\.00</);
  assert.equal((await operated(gateway, "orders", "show", order.code)).fee, "100.00 EUR");
});

for (const premiumClass of ["none", "standard"] as const) {
  test(`a name above the ordinary price is premium at a registry whose fees have the class ${premiumClass}`, async (t) => {
    for (const prices of [undefined, { create: 10, currency: "EUR" }]) {
      const gateway = await startTestGateway(t, { sandbox: { premiumClass }, registry: { prices } });
      const reseller = await gateway.addReseller();
      assert.equal((await refusalOf(gateway, reseller, "premium-1.example")).error_code, "domain_availability_blocked");
      assert.doesNotMatch(await createFrame(gateway, reseller, "ordinary.example"), /fee/);
    }
    const premium = { amountMax: 100, currency: "EUR" };
    const gateway = await startTestGateway(t, { sandbox: { premiumClass }, registry: { premium } });
    const frame = await createFrame(gateway, await gateway.addReseller(), "premium-1.example");
    assert.match(frame, /currency>EUR<.*fee>100\.00</);
  });
}

test("a registry that demands the fee of every create gets the price of the ordered years", async (t) => {
  const options = { sandbox: { feeDemanded: true } };
  const gateway = await startTestGateway(t, { ...options, registry: { createFee: "always" } });
  const reseller = await gateway.addReseller();
  assert.match(await createFrame(gateway, reseller, "one-year.example"), /fee:create.*currency>EUR<.*fee>10\.00</);
  const body = { domain_name: "three-years.example", years: 3 };
  const { headers } = await gateway.send(reseller, "POST", "/domains/registrations", { body });
  assert.equal((await gateway.settled(reseller, headers.location ?? "")).status, "Finished");
  assert.match(creates(gateway, "three-years.example")[0]?.xml ?? "", /fee>30\.00</);
  // Without its fee the create is refused.
  const other = await startTestGateway(t, options);
  const otherReseller = await other.addReseller();
  await assertEnds(other, otherReseller, await place(other, otherReseller, "no-fee.example"), "FailedValidation");
});

test("a create whose price cannot be asked is sent later, and one at a price that nobody agreed to never", async (t) => {
  const prices = { create: 10, currency: "EUR" };
  const gateway = await startTestGateway(t, {
    sandbox: { premiumClass: "none" },
    registry: { createFee: "always", prices },
  });
  const reseller = await gateway.addReseller();
  // The first check of a name is the one of the request.
  const holdCheck = (name: string) =>
    gateway.registry.hold({ command: "domain:check", name, at: "before-answer", times: 1 });
  const request = holdCheck("untold.example");
  const untold = place(gateway, reseller, "untold.example");
  await request.reached(1);
  gateway.registry.setFaults({ commands: [{ command: "domain:check", as: "refuse", code: 2306, times: 1 }] });
  request.release();
  await assertEnds(gateway, reseller, await untold, "Finished");
  const first = holdCheck("dearer.example");
  const dearer = place(gateway, reseller, "dearer.example");
  await first.reached(1);
  const second = holdCheck("dearer.example");
  first.release();
  await second.reached(1);
  prices.create = 9;
  second.release();
  await assertEnds(gateway, reseller, await dearer, "FailedValidation");
  assert.deepEqual(creates(gateway, "dearer.example"), []);
});

test("what an ordinary name costs is asked once a day and suffix, with a label that nobody wants", async (t) => {
  const clock = createSteeredClock();
  const gateway = await startTestGateway(t, { clock, sandbox: { premiumClass: "none" } });
  const reseller = await gateway.addReseller();
  const { journal } = gateway.registry.store;
  const asked = (suffix: string) =>
    journal
      .entries({ command: "domain:check" })
      .filter(({ direction, name }) => direction === "in" && new RegExp(`^[a-z]{20}\\.${suffix}$`).test(name ?? ""));
  await createFrame(gateway, reseller, "one.example");
  await createFrame(gateway, reseller, "two.example");
  assert.deepEqual([asked("example").length, asked("test").length], [1, 0]);
  await createFrame(gateway, reseller, "one.test");
  clock.skip(25);
  await createFrame(gateway, reseller, "three.example");
  assert.deepEqual([asked("example").length, asked("test").length], [2, 1]);
});

test("an order whose name costs more than it agreed to ends without a create", async (t) => {
  const premium = { amountMax: 1_000, currency: "EUR" };
  // With 0, the registry is asked again after the request.
  const gateway = await startTestGateway(t, { registry: { premium }, context: { checkFreshMs: 0 } });
  const reseller = await gateway.addReseller();
  await createFrame(gateway, reseller, "premium-1.example");
  const cheaper = `CREATE FUNCTION cheaper() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN NEW.fee_amount := 99; RETURN NEW; END $$;
    CREATE TRIGGER cheaper BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION cheaper()`;
  await runSql(gateway.databaseUrl, cheaper);
  const order = await place(gateway, reseller, "premium-2.example");
  await assertEnds(gateway, reseller, order, "FailedValidation");
  assert.deepEqual(creates(gateway, order.name), []);
});

for (const [period, inFrame] of [
  ["years", /period unit="y">1</],
  ["months", /period unit="m">12</],
  ["none", /^(?!.*period)/],
] as const) {
  test(`a create gives its period as the registry takes it: ${period}`, async (t) => {
    const gateway = await startTestGateway(t, { sandbox: { period }, registry: { period } });
    assert.match(await createFrame(gateway, await gateway.addReseller(), "term.example"), inFrame);
  });
}

for (const authInfo of ["registry", "none"] as const) {
  test(`after a lost answer a name is ours by its registrar and crDate where the authInfo is: ${authInfo}`, async (t) => {
    const gateway = await startTestGateway(t, { sandbox: { authInfo }, registry: { authInfo } });
    const reseller = await gateway.addReseller();
    const order = await place(gateway, reseller, "drop-after-1.example");
    await assertEnds(gateway, reseller, order, "Finished");
    assert.equal(creates(gateway, order.name).length, 1);
  });
}

test("a name that we held before an order's first create needs an operator, even if its authInfo says nothing", async (t) => {
  const gateway = await startTestGateway(t, { registry: { authInfo: "registry" } });
  const reseller = await gateway.addReseller();
  await createFrame(gateway, reseller, "any.example");
  const { domains } = gateway.registry.store;
  const [any] = domains.values();
  const hold = gateway.registry.hold({ command: "domain:create", name: "older.example", at: "before-execution" });
  const order = await place(gateway, reseller, "older.example");
  await hold.reached(1);
  domains.put({ ...any!, name: "older.example", crDate: new Date(Date.parse(any!.crDate) - 3_600_000).toISOString() });
  hold.release();
  await until("it needs an operator", async () => (await alarmedOrders(gateway)).length > 0);
  assert.deepEqual(await alarmedOrders(gateway), [order.code]);
  assert.equal(creates(gateway, order.name).length, 1);
});

test("a name may only have letters that the registry allows under its suffix, and the answer names the one that it does not", async (t) => {
  const idn = { example: ["00E0-00F6", "00F8-00FF"] };
  const gateway = await startTestGateway(t, { registry: { idn } });
  const reseller = await gateway.addReseller();
  await createFrame(gateway, reseller, "xn--mller-kva.example");
  const cases: [name: string, text: RegExp][] = [
    ["łódź.example", /^The name has the character U\+0142, which the registry of \.example does not accept\.$/],
    ["müller.test", /^The name has letters other than a to z, which the registry of \.test does not accept\.$/],
  ];
  for (const [name, text] of cases) {
    const refusal = await refusalOf(gateway, reseller, name);
    assert.equal(refusal.error_code, "bad_request");
    const [error] = refusal.validation_errors as { field: string; error_text: string }[];
    assert.equal(error?.field, "domain_name");
    assert.match(error.error_text, text);
  }
});
