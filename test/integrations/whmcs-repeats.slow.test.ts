/** Repeats of what costs money in WHMCS: double clicks, crashes, failures. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, test } from "node:test";
import { startFaultRelay } from "../harness/fault-relay.ts";
import { startTestGateway, type TestReseller } from "../harness/gateway.ts";
import { eventually } from "../harness/running-system.ts";
import { createWhmcs, decide, decisionMs, installModules, ordersOf, skip } from "./panel.ts";

const gateway = await startTestGateway(
  { after },
  { sandbox: { pendingDelayMs: decisionMs }, registry: { pollIntervalMs: 50 } },
);
const folder = installModules({ after }, "whmcs");
const whmcsOf = async (tables = {}) => {
  const reseller = await gateway.addReseller();
  return { reseller, whmcs: createWhmcs(folder, gateway, reseller, tables) };
};
/** How many commands of a kind the registry got about a name. */
const sent = (name: string, verb: string) =>
  gateway.registry.store.journal
    .entries({ name, command: `domain:${verb}` })
    .filter(({ direction }) => direction === "in").length;
const expiryOf = async (reseller: TestReseller, name: string) => {
  const { body } = await gateway.send(reseller, "GET", `/domains/${name}`);
  return String((body as { expiration_date: string }).expiration_date).slice(0, 10);
};
const yearsLater = (date: string, years: number) => `${Number(date.slice(0, 4)) + years}${date.slice(4)}`;

test("clicks at the same time order a name once", { skip }, async () => {
  const { reseller, whmcs } = await whmcsOf();
  const clicks = [1, 2, 3, 4].map(() => whmcs.domain("RegisterDomain", "clicked.example"));
  for (const answer of await Promise.all(clicks)) assert.deepEqual(answer, { success: true });
  assert.equal((await ordersOf(gateway, reseller, "clicked.example", "create")).length, 1);
  assert.equal(sent("clicked.example", "create"), 1);
});

test("a registration that takes longer is pending, and Sync finds its end", { skip }, async () => {
  const { reseller, whmcs } = await whmcsOf();
  const name = "pending-approve-sync.example";
  const pending = await whmcs.domain("RegisterDomain", name, { WaitSeconds: "1" });
  assert.equal(pending.pending, true);
  assert.match(String(pending.pendingMessage), /still in progress \(Pending\)/);
  const undecided = { active: false, cancelled: false, transferredAway: false };
  assert.deepEqual(await whmcs.domain("Sync", name), undecided);
  await decide(gateway, reseller, name, "create");
  await eventually("the name is active", async () => {
    const synced = await whmcs.domain("Sync", name);
    assert.equal(synced.error, undefined);
    return synced.active === true;
  });
  assert.equal(sent(name, "create"), 1);
});

test("a repeat after a crash between the order and WHMCS' note continues the order", { skip }, async () => {
  const { reseller, whmcs } = await whmcsOf();
  const name = "pending-approve-crash.example";
  const { child } = whmcs.startDomain("RegisterDomain", name);
  await eventually("the order is there", async () => (await ordersOf(gateway, reseller, name, "create")).length > 0);
  child.kill("SIGKILL");
  await once(child, "close");
  const repeat = whmcs.domain("RegisterDomain", name);
  await decide(gateway, reseller, name, "create");
  assert.deepEqual(await repeat, { success: true });
  assert.equal((await ordersOf(gateway, reseller, name, "create")).length, 1);
  assert.equal(sent(name, "create"), 1);
});

test("a repeat after a lost answer continues the order, wherever the answer was lost", { skip }, async (t) => {
  const relay = await startFaultRelay(Number(new URL(gateway.url).port));
  t.after(() => relay.close());
  const url = new URL(gateway.url);
  url.port = String(relay.port);
  const { reseller, whmcs } = await whmcsOf();
  const register = (name: string) => whmcs.domain("RegisterDomain", name, { Url: url.href });
  for (let lost = 0; ; lost++) {
    const name = `lost-answer-${lost}.example`;
    relay.faults.push(...Array<"none">(lost).fill("none"), "answer lost");
    const first = await register(name);
    const isLost = relay.faults.splice(0).length === 0;
    // Waiting for the order's end outlasts a lost answer.
    if (first.error) assert.match(String(first.error), /^Deedhouse did not answer .* orders nothing twice\.$/);
    assert.deepEqual(first.error ? await register(name) : first, { success: true });
    assert.equal((await ordersOf(gateway, reseller, name, "create")).length, 1);
    assert.equal(sent(name, "create"), 1);
    if (!isLost) break;
  }
  const ordering = relay.carried.filter(({ method, fault }) => method === "POST" && fault === "answer lost");
  assert.equal(ordering.length, 2, "the answers of the check and of the order were lost");
});

test("only a failure that was read starts another attempt", { skip }, async () => {
  const { reseller, whmcs } = await whmcsOf();
  const name = "pending-deny-again.example";
  const clicks = [1, 2].map(() => whmcs.domain("RegisterDomain", name));
  await decide(gateway, reseller, name, "create");
  for (const answer of await Promise.all(clicks))
    assert.match(String(answer.error), /^Deedhouse could not carry this out \(Errors\)/);
  assert.equal((await ordersOf(gateway, reseller, name, "create")).length, 1);
  assert.match(String((await whmcs.domain("Sync", name)).error), /The registration of .* failed \(Errors\)/);
  const again = whmcs.domain("RegisterDomain", name);
  await decide(gateway, reseller, name, "create");
  assert.ok((await again).error);
  assert.equal((await ordersOf(gateway, reseller, name, "create")).length, 2);
});

test("a term is renewed once, however often it is asked for, and the next term again", { skip }, async () => {
  const { reseller, whmcs } = await whmcsOf();
  const name = "yearly.example";
  await whmcs.domain("RegisterDomain", name);
  const first = await expiryOf(reseller, name);
  const shows = (expirydate: string) => whmcs.write({ tbldomains: [{ id: 7, domain: name, expirydate }] });
  shows(first);
  const renew = () => whmcs.domain("RenewDomain", name);
  for (const answer of await Promise.all([renew(), renew(), renew()])) assert.deepEqual(answer, { success: true });
  // WHMCS crashed before it noted the new date.
  assert.deepEqual(await renew(), { success: true });
  assert.equal(sent(name, "renew"), 1);
  assert.equal(await expiryOf(reseller, name), yearsLater(first, 1));

  shows(yearsLater(first, 1));
  assert.deepEqual(await renew(), { success: true });
  assert.equal(sent(name, "renew"), 2);
  assert.equal(await expiryOf(reseller, name), yearsLater(first, 2));
});

test("a renewal that was killed in between is continued", { skip }, async () => {
  const { reseller, whmcs } = await whmcsOf();
  const name = "renew-pending-approve-crash.example";
  await whmcs.domain("RegisterDomain", name);
  whmcs.write({ tbldomains: [{ id: 7, domain: name, expirydate: await expiryOf(reseller, name) }] });
  const { child } = whmcs.startDomain("RenewDomain", name);
  await eventually("the order is there", async () => (await ordersOf(gateway, reseller, name, "renew")).length > 0);
  child.kill("SIGKILL");
  await once(child, "close");
  const repeat = whmcs.domain("RenewDomain", name);
  await decide(gateway, reseller, name, "renew");
  assert.deepEqual(await repeat, { success: true });
  assert.equal((await ordersOf(gateway, reseller, name, "renew")).length, 1);
});

test("a date that fits no term is not renewed", { skip }, async () => {
  const { reseller, whmcs } = await whmcsOf();
  const name = "unsynced.example";
  await whmcs.domain("RegisterDomain", name);
  for (const [expirydate, words] of [
    ["0000-00-00", /has no expiry date/],
    [yearsLater(await expiryOf(reseller, name), 1), /Synchronise the domain/],
  ] as const) {
    whmcs.write({ tbldomains: [{ id: 7, domain: name, expirydate }] });
    assert.match(String((await whmcs.domain("RenewDomain", name)).error), words);
  }
  assert.equal(sent(name, "renew"), 0);
});

test("an entry that registers a deleted name again gets a new registration", { skip }, async () => {
  const { reseller, whmcs } = await whmcsOf();
  const name = "again.example";
  assert.deepEqual(await whmcs.domain("RegisterDomain", name), { success: true });
  assert.deepEqual(await whmcs.domain("RequestDelete", name), { success: true });
  assert.deepEqual(await whmcs.domain("RegisterDomain", name), { success: true });
  assert.equal((await ordersOf(gateway, reseller, name, "create")).length, 2);
  assert.equal((await whmcs.domain("Sync", name)).active, true);
});
