import assert from "node:assert/strict";
import { test } from "node:test";
import type { SandboxRegistry } from "./server.ts";
import { checkFrame, createFrame, deleteFrame, infoFrame, renewFrame } from "./test/frames.ts";
import { messageText, pollAll } from "./test/queue.ts";
import { textOf } from "./test/raw-client.ts";
import { startWithClient } from "./test/setup.ts";

const dayMs = 24 * 60 * 60_000;
const start = "2028-03-01T10:00:00.000Z";
const now = () => new Date(start);

/** "2029-03-01T10:00:00Z auto-renew" … for each event of the registry. */
function events(registry: SandboxRegistry, name: string): string[] {
  const own = registry.store.journal.entries({ name }).filter(({ direction }) => direction === "event");
  return own.map(({ at, command }) => `${at.slice(0, 16)} ${command}`);
}

test("renews a name automatically each time it reaches its exDate, and notifies its registrar", async (context) => {
  const { registry, client } = await startWithClient(context, { now });
  await client.ask(createFrame("a.test"));
  await registry.advance(365 * dayMs - 1);
  assert.deepEqual(events(registry, "a.test"), []);
  await registry.advance(1);
  assert.deepEqual(events(registry, "a.test"), ["2029-03-01T10:00 domain:auto-renew"]);
  assert.equal(textOf(await client.ask(infoFrame("a.test")), "exDate"), "2030-03-01T10:00:00.000Z");
  await registry.advance(2 * 366 * dayMs);
  assert.equal(textOf(await client.ask(infoFrame("a.test")), "exDate"), "2032-03-01T10:00:00.000Z");
  const messages = await pollAll(client);
  assert.deepEqual(
    messages.map((message) => textOf(message, "qDate").slice(0, 10)),
    ["2029-03-01", "2030-03-01", "2031-03-01"],
  );
  assert.match(messageText(messages[0]!), /renewed automatically until 2030-03-01/);
  assert.ok(messages.every(({ xml }) => !xml.includes("panData")));
});

test("renews a name that its registrar renewed in time on the later date only", async (context) => {
  const { registry, client } = await startWithClient(context, { now });
  await client.ask(createFrame("a.test"));
  await registry.advance(360 * dayMs);
  assert.equal((await client.ask(renewFrame("a.test", "2029-03-01"))).code, 1000);
  await registry.advance(300 * dayMs);
  assert.deepEqual(events(registry, "a.test"), []);
  assert.equal((await client.ask(renewFrame("a.test", "2030-03-01"))).code, 1000);
  assert.equal(textOf(await client.ask(infoFrame("a.test")), "exDate"), "2031-03-01T10:00:00.000Z");
});

test("frees a name at once when it is deleted in its add grace period, and not later", async (context) => {
  const { registry, client } = await startWithClient(context, { now });
  for (const name of ["a.test", "b.test"]) await client.ask(createFrame(name));
  await registry.advance(5 * dayMs - 1);
  assert.equal((await client.ask(deleteFrame("a.test"))).code, 1000);
  assert.equal((await client.ask(infoFrame("a.test"))).code, 2303);
  await registry.advance(1);
  assert.equal((await client.ask(deleteFrame("b.test"))).code, 1001);
  assert.match((await client.ask(infoFrame("b.test"))).xml, /s="pendingDelete"/);
});

test("keeps a deleted name for redemption and pendingDelete, allows nothing with it, then frees it", async (context) => {
  const { registry, client } = await startWithClient(context, { now });
  await client.ask(createFrame("a.test"));
  await registry.advance(10 * dayMs);
  const deleted = await client.ask(deleteFrame("a.test"));
  assert.equal(deleted.code, 1001);
  for (const days of [0, 29, 5]) {
    await registry.advance(days * dayMs);
    assert.equal((await client.ask(renewFrame("a.test", "2029-03-01"))).code, 2304);
    assert.equal((await client.ask(deleteFrame("a.test"))).code, 2304);
    assert.equal((await client.ask(createFrame("a.test"))).code, 2302);
    assert.match((await client.ask(checkFrame("a.test"))).xml, /avail="0"/);
    assert.deepEqual(await pollAll(client), []);
  }
  await registry.advance(dayMs);
  assert.deepEqual(events(registry, "a.test"), [
    "2028-04-10T10:00 domain:redemption-end",
    "2028-04-15T10:00 domain:purge",
  ]);
  const [message] = await pollAll(client);
  assert.ok(message?.xml.includes(`<svTRID>${deleted.svTRID}</svTRID></domain:paTRID>`));
  assert.equal((await client.ask(createFrame("a.test"))).code, 1000);
});

test("subtracts the year of an automatic renewal if the name is deleted in its grace period", async (context) => {
  const { registry, client } = await startWithClient(context, { now });
  for (const name of ["a.test", "b.test"]) await client.ask(createFrame(name));
  await registry.advance(365 * dayMs + 44 * dayMs);
  assert.equal((await client.ask(deleteFrame("a.test"))).code, 1001);
  assert.equal(textOf(await client.ask(infoFrame("a.test")), "exDate"), "2029-03-01T10:00:00.000Z");
  await registry.advance(dayMs);
  assert.equal((await client.ask(deleteFrame("b.test"))).code, 1001);
  assert.equal(textOf(await client.ask(infoFrame("b.test")), "exDate"), "2030-03-01T10:00:00.000Z");
});

test("expires a name at its exDate if names are not renewed automatically", async (context) => {
  const { registry, client } = await startWithClient(context, { now, atExpiry: "expire" });
  await client.ask(createFrame("a.test"));
  await registry.advance(365 * dayMs);
  assert.match((await client.ask(infoFrame("a.test"))).xml, /s="pendingDelete"/);
  await registry.advance(35 * dayMs);
  assert.equal((await client.ask(infoFrame("a.test"))).code, 2303);
  assert.deepEqual(events(registry, "a.test"), [
    "2029-03-01T10:00 domain:expire",
    "2029-03-31T10:00 domain:redemption-end",
    "2029-04-05T10:00 domain:purge",
  ]);
  const messages = await pollAll(client);
  assert.deepEqual(messages.map(messageText), [
    "The name a.test expired and can be restored",
    "The name a.test was deleted",
  ]);
});

test("frees a name at the moment it expires or is deleted if all periods are 0", async (context) => {
  const graceDays = { add: 0, redemption: 0, pendingDelete: 0 };
  const { registry, client } = await startWithClient(context, { now, atExpiry: "expire", graceDays });
  for (const name of ["a.test", "b.test"]) await client.ask(createFrame(name));
  assert.equal((await client.ask(deleteFrame("a.test"))).code, 1000);
  assert.equal((await client.ask(infoFrame("a.test"))).code, 2303);
  await registry.advance(365 * dayMs);
  assert.equal((await client.ask(infoFrame("b.test"))).code, 2303);
  assert.equal(messageText((await pollAll(client))[0]!), "The name b.test expired and was deleted");
});

test("answers a renew with an old date with the code of the settings", async (context) => {
  for (const oldExpDateCode of [2004, 2105, 2306] as const) {
    const { client } = await startWithClient(context, { now, oldExpDateCode });
    await client.ask(createFrame("a.test"));
    assert.equal((await client.ask(renewFrame("a.test", "2028-03-01"))).code, oldExpDateCode);
  }
});

test("runs what falls due in the order of time, across all names", async (context) => {
  const { registry, client } = await startWithClient(context, { now, pendingDelayMs: 3 * dayMs });
  await client.ask(createFrame("b.test"));
  await registry.advance(dayMs);
  await client.ask(createFrame("pending-deny-a.test"));
  await client.ask(createFrame("a.test"));
  await registry.advance(2 * 366 * dayMs);
  const own = registry.store.journal.entries().filter(({ direction }) => direction === "event");
  assert.deepEqual(
    own.map(({ at, command, name }) => `${at.slice(0, 10)} ${command} ${name}`),
    [
      "2028-03-05 domain:deny pending-deny-a.test",
      "2029-03-01 domain:auto-renew b.test",
      "2029-03-02 domain:auto-renew a.test",
      "2030-03-01 domain:auto-renew b.test",
      "2030-03-02 domain:auto-renew a.test",
    ],
  );
});

test("refuses to turn the clock back, or to advance it by an invalid time", async (context) => {
  const { registry } = await startWithClient(context, { now });
  for (const ms of [-1, 0.5, Number.NaN, 1e15]) await assert.rejects(registry.advance(ms), RangeError);
  assert.equal(registry.now().toISOString(), start);
  await registry.advance(dayMs);
  assert.equal(registry.now().toISOString(), "2028-03-02T10:00:00.000Z");
  const century = 36_525 * dayMs;
  await assert.rejects(registry.advance(century), /a hundred years in total/);
  await registry.advance(century - dayMs);
  await assert.rejects(registry.advance(1), RangeError);
  await registry.reset();
  assert.equal(registry.now().toISOString(), start);
});
