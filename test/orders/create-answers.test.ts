import assert from "node:assert/strict";
import { test } from "node:test";
import { circuitSettingsDefault } from "#registry/epp/pool/circuit.ts";
import { startTestGateway, type TestGateway, type TestReseller } from "../harness/gateway.ts";
import { assertEnds, creates, place } from "./judge.ts";

/** At the same time, because they are independent. */
async function assertAllEnd(
  gateway: TestGateway,
  reseller: TestReseller,
  names: string[],
  status: string,
): Promise<void> {
  const orders = await Promise.all(names.map((name) => place(gateway, reseller, name)));
  await Promise.all(orders.map((order) => assertEnds(gateway, reseller, order, status)));
}

test("2302 does not say whose the name is, so the registry is asked (row 7)", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  await assertAllEnd(gateway, reseller, ["race-1.example", "race-2.test"], "Errors");
  await assertAllEnd(gateway, reseller, ["reserved2302-1.example"], "FailedValidation");
  for (const name of ["race-1.example", "race-2.test", "reserved2302-1.example"]) {
    assert.equal(creates(gateway, name).length, 1, name);
  }
});

test("a refusal that is about this name or registrant fails the validation, after one create (row 4)", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  const names = [2001, 2003, 2004, 2005, 2304, 2305, 2306, 2308].map((code) => `code-${code}-x.example`);
  await assertAllEnd(gateway, reseller, names, "FailedValidation");
  for (const name of names) assert.equal(creates(gateway, name).length, 1, name);
});

test("a contact that the registry has lost is created again, once (row 6)", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  await assertAllEnd(gateway, reseller, ["first.example"], "Finished");
  const { contacts } = gateway.registry.store;
  for (const { id } of contacts.values()) contacts.delete(id);
  await assertAllEnd(gateway, reseller, ["second.example"], "Finished");
  assert.deepEqual(
    creates(gateway, "second.example").map(({ code }) => code),
    [2303, 1000],
  );
  await assertAllEnd(gateway, reseller, ["code-2303-x.example"], "FailedValidation");
  assert.equal(creates(gateway, "code-2303-x.example").length, 2);
});

test("what was certainly not executed is sent again with a new transaction id (row 6)", async (t) => {
  // 2200 and 2501 end the session: otherwise the next login may take a minute.
  const circuit = { ...circuitSettingsDefault, refusedDelayMs: 100 };
  const gateway = await startTestGateway(t, { registry: { circuit } });
  const reseller = await gateway.addReseller();
  const codes = [2002, 2200, 2202, 2501, 2502];
  await assertAllEnd(
    gateway,
    reseller,
    codes.map((code) => `once-${code}-x.example`),
    "Finished",
  );
  for (const code of codes) {
    const sent = creates(gateway, `once-${code}-x.example`);
    assert.deepEqual(
      sent.map((entry) => entry.code),
      [code, 1000],
    );
    assert.equal(new Set(sent.map(({ clTRID }) => clTRID)).size, 2);
  }
});

test("many orders at the same time all end correctly", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  await assertAllEnd(
    gateway,
    reseller,
    Array.from({ length: 30 }, (_, index) => `many-${index}.example`),
    "Finished",
  );
});
