import assert from "node:assert/strict";
import { test } from "node:test";
import type { JournalEntry } from "./journal.ts";
import type { SandboxRegistry } from "./server.ts";
import { checkFrame, createFrame, infoFrame } from "./test/frames.ts";
import { RawClient, textOf } from "./test/raw-client.ts";
import { startWithClient } from "./test/setup.ts";

function url(registry: SandboxRegistry, path: string): string {
  return `http://127.0.0.1:${registry.controlPort}${path}`;
}

function post(registry: SandboxRegistry, path: string, body?: unknown, headers: Record<string, string> = {}) {
  return fetch(url(registry, path), {
    method: "POST",
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

async function journal(registry: SandboxRegistry, query: string): Promise<JournalEntry[]> {
  const answer = await fetch(url(registry, `/journal${query}`));
  return ((await answer.json()) as { entries: JournalEntry[] }).entries;
}

test("shows the journal by name, command and number", async (context) => {
  const { registry, client } = await startWithClient(context);
  await client.ask(createFrame("a.test"));
  await client.ask(createFrame("b.test"));
  const entries = await journal(registry, "?name=a.test&command=domain:create");
  assert.deepEqual(
    entries.map(({ direction, code, executed }) => [direction, code, executed]),
    [
      ["in", 1000, true],
      ["out", 1000, false],
    ],
  );
  const after = await journal(registry, `?after=${entries[1]?.number}`);
  assert.deepEqual(new Set(after.map(({ name }) => name)), new Set(["b.test"]));
});

test("shows names, and seeds names that another registrar holds", async (context) => {
  const { registry, client } = await startWithClient(context);
  assert.equal((await post(registry, "/seed", { names: ["held.test"] })).status, 200);
  assert.equal(textOf(await client.ask(infoFrame("held.test")), "clID"), "sandbox-other");
  assert.match((await client.ask(checkFrame("held.test"))).xml, /avail="0"/);
  assert.equal((await fetch(url(registry, "/domains/held.test"))).status, 200);
  assert.equal((await fetch(url(registry, "/domains/free.test"))).status, 404);
  const { domains } = (await (await fetch(url(registry, "/domains"))).json()) as { domains: unknown[] };
  assert.equal(domains.length, 1);
  assert.equal((await post(registry, "/seed", { names: ["no_name"] })).status, 400);
  assert.equal((await post(registry, "/seed", ["a.test"])).status, 400);
});

test("resets every connection while paused, and takes them again after", async (context) => {
  const { registry, client } = await startWithClient(context);
  await post(registry, "/pause");
  assert.equal(await client.receive(), undefined);
  await assert.rejects(RawClient.connect(registry.port, registry.caFile));
  await post(registry, "/resume");
  (await RawClient.login(registry)).close();
});

test("drops all sessions, and forgets everything at a reset", async (context) => {
  const { registry, client } = await startWithClient(context);
  await client.ask(createFrame("a.test"));
  await post(registry, "/sessions/close");
  assert.equal(await client.receive(), undefined);
  const second = await RawClient.login(registry);
  assert.equal((await second.ask(infoFrame("a.test"))).code, 1000);
  await post(registry, "/reset");
  assert.equal(await second.receive(), undefined);
  assert.deepEqual(await journal(registry, ""), []);
  assert.equal((await fetch(url(registry, "/domains/a.test"))).status, 404);
});

test("refuses what a web page makes a browser send, and unknown routes", async (context) => {
  const { registry } = await startWithClient(context);
  assert.equal((await post(registry, "/reset", undefined, { origin: "http://evil.test" })).status, 403);
  assert.equal((await fetch(url(registry, "/nothing"))).status, 404);
  assert.equal((await fetch(url(registry, "/journal?after=x"))).status, 400);
});
