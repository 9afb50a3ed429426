import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { SandboxRegistryOptions } from "./server.ts";
import {
  contactUri,
  createFrame,
  deleteFrame,
  domainUri,
  extended,
  feeUri,
  hostFrame,
  hostUri,
  infoFrame,
  renewFrame,
  rgpUri,
  transferFrame,
  updateFrame,
} from "./test/frames.ts";
import { messageText, pollAll } from "./test/queue.ts";
import { type Answer, RawClient, textOf } from "./test/raw-client.ts";
import { startWithClient } from "./test/setup.ts";

const dayMs = 24 * 60 * 60_000;
const now = () => new Date("2028-03-01T10:00:00.000Z");
const all = { objects: [domainUri, contactUri, hostUri], extension: [rgpUri, feeUri] };

/** A name "a.test" of the loser, ten days old. */
async function startWithName(context: TestContext, options: Partial<SandboxRegistryOptions> = {}) {
  const { registry, client: loser } = await startWithClient(context, { now, ...options }, all);
  await loser.ask(createFrame("a.test"));
  await registry.advance(10 * dayMs);
  const gainer = await RawClient.login(registry, "gate-two", "secret-2", all);
  context.after(() => gainer.close());
  return { registry, loser, gainer };
}

async function assertCodes(client: RawClient, cases: [number, string][]): Promise<void> {
  for (const [code, frame] of cases) assert.equal((await client.ask(frame)).code, code, frame);
}

async function transferMessages(client: RawClient): Promise<string[]> {
  return (await pollAll(client)).map((message) => `${messageText(message)}, ${textOf(message, "trStatus")}`);
}

test("accepts a transfer request only with the right authInfo, and only if the name may be transferred", async (context) => {
  const { loser, gainer } = await startWithName(context);
  const lock = (verb: string) => `<domain:${verb}><domain:status s="clientTransferProhibited"/></domain:${verb}>`;
  const twoYears = '<domain:period unit="y">2</domain:period>';
  await assertCodes(gainer, [
    [2303, transferFrame("request", "b.test", "auth-1")],
    [2003, transferFrame("request", "a.test")],
    [2202, transferFrame("request", "a.test", "guess-1")],
    [2306, transferFrame("request", "a.test", "auth-1", twoYears)],
    [2201, transferFrame("query", "a.test")],
    [2301, transferFrame("query", "a.test", "auth-1")],
    [2301, transferFrame("cancel", "a.test")],
  ]);
  await assertCodes(loser, [
    [2106, transferFrame("request", "a.test", "auth-1")],
    [1000, updateFrame("a.test", lock("add"))],
  ]);
  await assertCodes(gainer, [[2304, transferFrame("request", "a.test", "auth-1")]]);
  await assertCodes(loser, [[1000, updateFrame("a.test", lock("rem"))]]);
  const asked = await gainer.ask(transferFrame("request", "a.test", "auth-1"));
  assert.equal(asked.code, 1001);
  const shown = (answer: Answer, ...parts: string[]) => parts.map((part) => textOf(answer, part));
  assert.deepEqual(shown(asked, "trStatus", "reID", "acID", "acDate", "exDate"), [
    ...["pending", "gate-two", "gate-one"],
    ...["2028-03-16T10:00:00.000Z", "2030-03-01T10:00:00.000Z"],
  ]);
  assert.match((await loser.ask(infoFrame("a.test"))).xml, /s="pendingTransfer"/);
  await assertCodes(gainer, [
    [2300, transferFrame("request", "a.test", "auth-1")],
    [2201, transferFrame("approve", "a.test")],
    [1000, transferFrame("query", "a.test")],
  ]);
  await assertCodes(loser, [
    [2201, transferFrame("cancel", "a.test")],
    [2304, renewFrame("a.test", "2029-03-01")],
    [2304, deleteFrame("a.test")],
  ]);
});

test("moves the name and the hosts below it when the losing registrar approves", async (context) => {
  const { registry, loser, gainer } = await startWithName(context);
  await loser.ask(hostFrame("create", "ns1.a.test", '<host:addr ip="v4">192.0.2.1</host:addr>'));
  await gainer.ask(transferFrame("request", "a.test", "auth-1"));
  const approved = await loser.ask(transferFrame("approve", "a.test"));
  assert.equal(approved.code, 1000);
  assert.equal(textOf(approved, "trStatus"), "clientApproved");
  const info = await gainer.ask(infoFrame("a.test"));
  assert.equal(textOf(info, "clID"), "gate-two");
  assert.equal(textOf(info, "exDate"), "2030-03-01T10:00:00.000Z");
  assert.equal(textOf(info, "trDate"), "2028-03-11T10:00:00.000Z");
  assert.match(info.xml, /rgpStatus s="transferPeriod"/);
  assert.equal(textOf(await gainer.ask(hostFrame("info", "ns1.a.test")), "clID"), "gate-two");
  assert.deepEqual(await transferMessages(loser), ["A transfer was requested, pending"]);
  assert.deepEqual(await transferMessages(gainer), ["The transfer ended: clientApproved, clientApproved"]);
  await assertCodes(loser, [
    [2201, renewFrame("a.test", "2030-03-01")],
    [1000, transferFrame("query", "a.test")],
    [2301, transferFrame("approve", "a.test")],
  ]);
  const executed = registry.store.journal
    .entries({ name: "a.test", command: "domain:transfer" })
    .filter((entry) => entry.executed);
  assert.equal(executed.length, 2);
});

test("does not move the name when a transfer is rejected or cancelled", async (context) => {
  const { loser, gainer } = await startWithName(context);
  await gainer.ask(transferFrame("request", "a.test", "auth-1"));
  assert.equal(textOf(await loser.ask(transferFrame("reject", "a.test")), "trStatus"), "clientRejected");
  assert.deepEqual(await transferMessages(gainer), ["The transfer ended: clientRejected, clientRejected"]);
  await gainer.ask(transferFrame("request", "a.test", "auth-1"));
  assert.equal(textOf(await gainer.ask(transferFrame("cancel", "a.test")), "trStatus"), "clientCancelled");
  assert.equal((await transferMessages(loser)).at(-1), "The transfer ended: clientCancelled, clientCancelled");
  const info = await loser.ask(infoFrame("a.test"));
  assert.equal(textOf(info, "clID"), "gate-one");
  assert.equal(textOf(info, "exDate"), "2029-03-01T10:00:00.000Z");
  assert.ok(!info.xml.includes("pendingTransfer"));
});

test("approves a transfer automatically after five days without an answer", async (context) => {
  const { registry, loser, gainer } = await startWithName(context);
  await gainer.ask(transferFrame("request", "a.test", "auth-1"));
  await registry.advance(5 * dayMs - 1);
  assert.equal(textOf(await gainer.ask(infoFrame("a.test")), "clID"), "gate-one");
  await registry.advance(1);
  assert.equal(textOf(await gainer.ask(infoFrame("a.test")), "clID"), "gate-two");
  for (const client of [loser, gainer]) {
    assert.equal((await transferMessages(client)).at(-1), "The transfer ended: serverApproved, serverApproved");
  }
  assert.equal(registry.store.journal.entries({ command: "domain:transfer-approve" }).length, 1);
});

test("adds one year by a transfer, not two, to a name that was just renewed automatically", async (context) => {
  const { registry, loser, gainer } = await startWithName(context);
  await registry.advance(360 * dayMs);
  await gainer.ask(transferFrame("request", "a.test", "auth-1"));
  await loser.ask(transferFrame("approve", "a.test"));
  assert.equal(textOf(await gainer.ask(infoFrame("a.test")), "exDate"), "2030-03-01T10:00:00.000Z");
});

test("cancels a transfer when the name expires before it is decided", async (context) => {
  const { registry, loser, gainer } = await startWithName(context, { atExpiry: "expire" });
  await registry.advance(353 * dayMs);
  await gainer.ask(transferFrame("request", "a.test", "auth-1"));
  await registry.advance(5 * dayMs);
  for (const client of [loser, gainer]) {
    assert.ok((await transferMessages(client)).includes("The transfer ended: serverCancelled, serverCancelled"));
  }
  const info = await loser.ask(infoFrame("a.test"));
  assert.equal(textOf(info, "clID"), "gate-one");
  assert.ok(!info.xml.includes("pendingTransfer"));
});

test("checks the fee of a transfer that the client names", async (context) => {
  const { gainer } = await startWithName(context);
  const fee = (sum: string) =>
    extended(
      transferFrame("request", "a.test", "auth-1"),
      `<fee:transfer xmlns:fee="${feeUri}"><fee:fee>${sum}</fee:fee></fee:transfer>`,
    );
  assert.equal((await gainer.ask(fee("9.99"))).code, 2004);
  const asked = await gainer.ask(fee("10.00"));
  assert.equal(asked.code, 1001);
  assert.match(asked.xml, /<fee:trnData.*<fee:fee>10.00</);
});
