/** A registry whose `<info>` does not show whose a name is (the clID, which RFC 5731 §3.1.2 requires). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { assertEnds, creates, place, statusOf, until } from "./judge.ts";
import { assertRefused, operated } from "./operate.ts";
import { countEvents } from "./stage.ts";

const nothingShown = { infoShowsRegistrar: "none", infoShowsAuthInfo: false } as const;

const undecided = [
  { sandbox: nothingShown, says: /does not show whose the name is \(infoWithoutRegistrar/ },
  {
    sandbox: { infoShowsRegistrar: "none" },
    registry: { infoWithoutRegistrar: "others" },
    says: /shows an authInfo of the name but no registrar/,
  },
] as const;

for (const { says, ...options } of undecided) {
  test(`a create whose answer was lost is neither believed nor sent again while the registry ${says.source.split(" \\(")[0]}`, async (t) => {
    const gateway = await startTestGateway(t, options);
    const reseller = await gateway.addReseller();
    const name = "drop-after-hidden.example";
    const order = await place(gateway, reseller, name);
    await until("it was asked about twice", async () => (await countEvents(gateway, order, "look-lost")) >= 2);
    assert.equal(await statusOf(gateway, reseller, order), "Processing");
    assert.equal(creates(gateway, name).length, 1);
    await assertRefused(gateway, ["orders", "settle", order.code, "--as", "registered", "--note", "seen"], 3, says);
  });
}

test("an authInfo that the registry shows unasked says that the name is ours", async (t) => {
  const gateway = await startTestGateway(t, { sandbox: { infoShowsRegistrar: "none" } });
  const reseller = await gateway.addReseller();
  const name = "drop-after-secret.example";
  await assertEnds(gateway, reseller, await place(gateway, reseller, name), "Finished");
  assert.equal(creates(gateway, name).length, 1);
});

test("the profile says that a name without a registrar is ours, and another's is never created over", async (t) => {
  const gateway = await startTestGateway(t, { sandbox: nothingShown, registry: { infoWithoutRegistrar: "ours" } });
  const reseller = await gateway.addReseller();
  const name = "drop-after-ours.example";
  await assertEnds(gateway, reseller, await place(gateway, reseller, name), "Finished");
  assert.equal(creates(gateway, name).length, 1);
});

test("the profile says that a name without a registrar is another's, and an order for it fails", async (t) => {
  const registry = { infoWithoutRegistrar: "others" } as const;
  const gateway = await startTestGateway(t, { sandbox: { infoShowsRegistrar: "sponsor" }, registry });
  const reseller = await gateway.addReseller();
  const lost = await place(gateway, reseller, "race-lost.example");
  await assertEnds(gateway, reseller, lost, "Errors");
  const won = await place(gateway, reseller, "drop-after-won.example");
  await assertEnds(gateway, reseller, won, "Finished");
});

test("a registration that the registry has answered, or confirms by a message, needs no other sign", async (t) => {
  const gateway = await startTestGateway(t, {
    sandbox: { ...nothingShown, createShowsExDate: false, pendingDelayMs: 200 },
  });
  const reseller = await gateway.addReseller();
  for (const name of ["undated.example", "pending-approve-told.example"]) {
    await assertEnds(gateway, reseller, await place(gateway, reseller, name), "Finished");
    assert.equal(creates(gateway, name).length, 1);
  }
});

test("a name of a portfolio stays in it, and orders about it wait, while nothing shows whose it is", async (t) => {
  const registry = { renewalIntervalMs: 50 };
  const gateway = await startTestGateway(t, { sandbox: nothingShown, registry });
  const reseller = await gateway.addReseller();
  const name = "kept.example";
  await assertEnds(gateway, reseller, await place(gateway, reseller, name), "Finished");
  const { domains } = gateway.registry.store;
  domains.put({ ...domains.find(name)!, clID: "rival" });
  const ordered = await gateway.send(reseller, "PUT", `/domains/${name}/nameservers`, {
    body: { name_servers: [{ name: "ns1.elsewhere.net" }, { name: "ns2.elsewhere.net" }] },
  });
  assert.equal(ordered.status, 202, ordered.text);
  const asked = () => gateway.registry.store.journal.entries({ name, command: "domain:info", direction: "in" }).length;
  const before = asked();
  await until("it was looked at", () => asked() > before + 1);
  const { registry: shown } = await operated<{ registry: { is: string; reason: string } }>(
    gateway,
    "domains",
    "show",
    name,
  );
  assert.equal(shown.is === "unknown" || shown.is === "held-back", true, JSON.stringify(shown));
  assert.equal((await gateway.send(reseller, "GET", `/domains/${name}`)).status, 200);
  const sent = gateway.registry.store.journal.entries({ name, command: "domain:update", direction: "in" });
  assert.equal(sent.length, 0);
  assert.deepEqual(await runSql(gateway.databaseUrl, "SELECT FROM domains WHERE gone_since IS NOT NULL"), []);
});
