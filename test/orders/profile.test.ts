/** Registries differ, and their profiles say how: contacts or none, letters, prices. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestGateway, type TestGateway, type TestReseller } from "../harness/gateway.ts";
import { assertEnds, creates, place } from "./judge.ts";
import { operated } from "./operate.ts";

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
