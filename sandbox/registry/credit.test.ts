import assert from "node:assert/strict";
import { test } from "node:test";
import { createFrame, renewFrame } from "./test/frames.ts";
import { textOf } from "./test/raw-client.ts";
import { startWithClient } from "./test/setup.ts";

const years = (count: number) => ({ period: `<domain:period unit="y">${count}</domain:period>` });

test("charges the years of creates and renews to a registrar's credit, and refuses with 2104 what exceeds it", async (context) => {
  const { registry, client } = await startWithClient(context);
  await registry.setCredit("gate-one", 3);
  const created = await client.ask(createFrame("a.test", years(2)));
  assert.equal(created.code, 1000);
  const renew = (count: number) => renewFrame("a.test", textOf(created, "exDate").slice(0, 10), count);
  const refused = await client.ask(renew(2));
  assert.equal(refused.code, 2104);
  assert.match(refused.xml, /2 units are needed, 1 are left/);
  assert.equal((await client.ask(renew(1))).code, 1000);
  assert.equal((await client.ask(createFrame("b.test"))).code, 2104);
  assert.equal(registry.store.domains.find("b.test"), undefined);
  await registry.setCredit("gate-one", 1);
  assert.equal((await client.ask(createFrame("b.test"))).code, 1000);
});

test("charges nothing for a command that is refused", async (context) => {
  const { registry, client } = await startWithClient(context, { creditUnits: 1 });
  await registry.seed(["held.test"]);
  assert.equal((await client.ask(createFrame("held.test"))).code, 2302);
  assert.equal((await client.ask(createFrame("a.test"))).code, 1000);
  assert.equal((await client.ask(createFrame("b.test"))).code, 2104);
});

test("charges nothing without a limit, and sets no limit for an unknown registrar", async (context) => {
  const { registry, client } = await startWithClient(context);
  assert.equal((await client.ask(createFrame("a.test", years(10)))).code, 1000);
  await assert.rejects(registry.setCredit("nobody", 1), /no registrar "nobody"/);
  await assert.rejects(registry.setCredit("gate-one", -1), /0 or more units/);
});

test("tells a registrar once that its credit is low, and once that it is not any more", async (context) => {
  const { registry, client } = await startWithClient(context, { creditUnits: 12, lowBalanceUnits: 10 });
  const told = () => registry.store.messages.values().map(({ xml = "" }) => /availableCredit>(\d+)</.exec(xml)?.[1]);
  assert.equal((await client.ask(createFrame("a.test"))).code, 1000);
  assert.deepEqual(told(), []);
  assert.equal((await client.ask(createFrame("b.test"))).code, 1000);
  assert.equal((await client.ask(createFrame("c.test"))).code, 1000);
  assert.deepEqual(told(), ["10"]);
  await registry.setCredit("gate-one", 50);
  await registry.setCredit("gate-one", 60);
  assert.deepEqual(told(), ["10", "50"]);
});
