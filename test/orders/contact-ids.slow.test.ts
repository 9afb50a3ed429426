/** Registries that choose the ids of contacts, whatever id a create asks for. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestGateway, type TestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { assertEnds, creates, place, until } from "./judge.ts";
import { operated } from "./operate.ts";
import { openAlarms } from "./stage.ts";

const server = { sandbox: { contactIds: "server" }, registry: { contactIds: "server" } } as const;

function contactCreates({ registry }: TestGateway) {
  return registry.store.journal.entries({ command: "contact:create" }).filter(({ direction }) => direction === "in");
}

const contactIdIn = (xml: string | undefined) => /registrant>([^<]+)</.exec(xml ?? "")?.[1];

test("a name has the contact whose id the registry has chosen, and the next names have the same", async (t) => {
  for (const registry of [{}, server.registry]) {
    const gateway = await startTestGateway(t, { sandbox: server.sandbox, registry });
    const [one, other] = [await gateway.addReseller(), await gateway.addReseller()];
    await assertEnds(gateway, one, await place(gateway, one, "first.example"), "Finished");
    await assertEnds(gateway, one, await place(gateway, one, "second.example"), "Finished");
    await assertEnds(gateway, other, await place(gateway, other, "third.example"), "Finished");
    const ids = ["first.example", "second.example", "third.example"].map((name) => {
      const sent = creates(gateway, name);
      assert.equal(sent.length, 1, name);
      return contactIdIn(sent[0]?.xml);
    });
    assert.match(ids[0] ?? "", /^SBX/);
    assert.deepEqual([ids[1] === ids[0], ids[2] === ids[0]], [true, false]);
    assert.equal(contactCreates(gateway).length, 2);
  }
});

test("orders of one moment share the contact that the registry names", async (t) => {
  const gateway = await startTestGateway(t, server);
  const reseller = await gateway.addReseller();
  const names = Array.from({ length: 8 }, (_, index) => `shared-${index}.example`);
  const orders = await Promise.all(names.map((name) => place(gateway, reseller, name)));
  for (const order of orders) await assertEnds(gateway, reseller, order, "Finished");
  assert.equal(contactCreates(gateway).length, 1);
  assert.equal(gateway.registry.store.contacts.values().length, 1);
});

test("a contact that such a registry has lost is made again, once for all names", async (t) => {
  const gateway = await startTestGateway(t, server);
  const reseller = await gateway.addReseller();
  await assertEnds(gateway, reseller, await place(gateway, reseller, "first.example"), "Finished");
  const { contacts } = gateway.registry.store;
  for (const { id } of contacts.values()) contacts.delete(id);
  const names = ["second.example", "third.example", "fourth.example"];
  const orders = await Promise.all(names.map((name) => place(gateway, reseller, name)));
  for (const order of orders) await assertEnds(gateway, reseller, order, "Finished");
  assert.equal(contactCreates(gateway).length, 2);
});

test("after a lost answer such a contact is abandoned, and after three in a day the order waits for an operator", async (t) => {
  const registry = { ...server.registry, transformTimeoutMs: 300 };
  const gateway = await startTestGateway(t, { sandbox: server.sandbox, registry });
  const reseller = await gateway.addReseller();
  const hold = gateway.registry.hold({ command: "contact:create", at: "before-answer" });
  const order = await place(gateway, reseller, "lost.example");
  await until("the operator is called", async () => (await openAlarms(gateway)).length > 0);
  assert.deepEqual(await openAlarms(gateway), [{ kind: "contacts-lost", subject: "sandbox" }]);
  hold.release();
  assert.deepEqual([contactCreates(gateway).length, creates(gateway, order.name).length], [3, 0]);
  await operated(gateway, "orders", "retry", order.code);
  await until("it was tried in vain", async () => {
    const alarms = "SELECT FROM alarms WHERE kind = 'contacts-lost' AND count > 1";
    return (await runSql(gateway.databaseUrl, alarms)).length > 0;
  });
  assert.equal(contactCreates(gateway).length, 3);
  const [alarm] = await runSql<{ id: string }>(gateway.databaseUrl, "SELECT id FROM alarms");
  await operated(gateway, "alarms", "resolve", alarm!.id);
  await operated(gateway, "orders", "retry", order.code);
  await assertEnds(gateway, reseller, order, "Finished");
  assert.equal(contactCreates(gateway).length, 4);
});
