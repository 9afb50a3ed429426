import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { test } from "node:test";
import type { JournalEntry } from "./journal.ts";
import type { SandboxRegistry } from "./server.ts";
import { checkFrame, createFrame, infoFrame, pollFrame } from "./test/frames.ts";
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

test("refuses to seed a name that no valid answer could contain", async (context) => {
  const { registry, client } = await startWithClient(context);
  const cases: [object, RegExp][] = [
    [{ exDate: "+275760-09-13T00:00:00.000Z" }, /years 1900 to 2999/],
    [{ crDate: "-000005-01-01T00:00:00.000Z" }, /years 1900 to 2999/],
    [{ authInfo: "\u0001" }, /authInfo/],
    [{ authInfo: "\ud800" }, /authInfo/],
    [{ statuses: ["clientHold", "clientHold"] }, /repeated/],
  ];
  for (const [bad, sentence] of cases) {
    const answer = await post(registry, "/seed", { domains: [{ name: "a.test", ...bad }] });
    assert.match(await answer.text(), sentence);
    assert.equal(answer.status, 400);
  }
  const emoji = { name: "b.test", registrar: "gate-one", authInfo: "\u{1f511}", exDate: "2999-12-31T00:00:00Z" };
  await post(registry, "/seed", { domains: [emoji] });
  assert.match((await client.ask(infoFrame("b.test"))).xml, /2999-12-31T.*\u{1f511}/su);
});

test("resets every connection while paused, and accepts connections after it", async (context) => {
  const { registry, client } = await startWithClient(context);
  await post(registry, "/pause");
  assert.equal(await client.receive(), undefined);
  await assert.rejects(RawClient.connect(registry.port, registry.caFile));
  await post(registry, "/resume");
  (await RawClient.login(registry)).close();
});

test("drops all sessions, and removes everything at a reset", async (context) => {
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

test("lists its routes", async (context) => {
  const { registry } = await startWithClient(context);
  const { routes } = (await (await fetch(url(registry, "/"))).json()) as { routes: Record<string, string> };
  assert.equal(routes["POST /holds"], "holds frames of a command");
});

test("filters the journal by registrar, direction, clTRID, code and execution, up to a limit", async (context) => {
  const { registry, client } = await startWithClient(context);
  const other = await RawClient.login(registry, "gate-two", "secret-2");
  await client.ask(createFrame("a.test", { clTRID: "order-1" }));
  await other.ask(createFrame("a.test", { clTRID: "order-2" }));
  const numbersOf = async (query: string) => (await journal(registry, query)).map(({ clTRID }) => clTRID);
  assert.deepEqual(await numbersOf("?registrar=gate-two&direction=in&command=domain:create"), ["order-2"]);
  assert.deepEqual(await numbersOf("?clTRID=order-1&executed=true"), ["order-1"]);
  assert.deepEqual(await numbersOf("?code=2302&direction=out"), ["order-2"]);
  assert.equal((await journal(registry, "?limit=2")).length, 2);
  other.close();
});

test("seeds a name with its registrar, dates and statuses", async (context) => {
  const { registry, client } = await startWithClient(context);
  const name = "mine.test";
  const seed = {
    name,
    registrar: "gate-one",
    exDate: "2041-05-01T00:00:00Z",
    statuses: ["clientHold"],
    authInfo: "pw-1",
  };
  assert.equal((await post(registry, "/seed", { domains: [seed] })).status, 200);
  const { xml } = await client.ask(infoFrame(name));
  for (const part of [">gate-one<", ">2041-05-01T00:00:00.000Z<", 's="clientHold"', ">pw-1<"])
    assert.ok(xml.includes(part), part);
});

test("holds a frame, shows its connection, and releases it as requested", async (context) => {
  const { registry, client } = await startWithClient(context);
  const ask = async (method: string, path: string) => (await fetch(url(registry, path), { method })).json();
  const made = await post(registry, "/holds", { command: "domain:create", at: "before-execution" });
  const { id } = (await made.json()) as { id: number };
  client.send(createFrame("a.test", { clTRID: "order-1" }));
  const held = (await ask("GET", `/holds/${id}?reached=1`)) as { reached: number; frames: unknown[] };
  const [session] = ((await ask("GET", "/sessions")) as { sessions: { connection: number }[] }).sessions;
  const frame = { ...session, clTRID: "order-1", name: "a.test", connected: true };
  assert.deepEqual([held.reached, held.frames], [1, [frame]]);
  client.close();
  await registry.holds.find(id)?.abandoned(1);
  await ask("DELETE", `/holds/${id}?execute=false`);
  assert.deepEqual(await ask("GET", "/holds"), { holds: [] });
  assert.equal(registry.store.domains.find("a.test"), undefined);
  assert.equal((await fetch(url(registry, `/holds/${id}`))).status, 404);
  await post(registry, "/holds", { command: "domain:create", at: "before-execution" });
  await ask("DELETE", "/holds");
  assert.deepEqual(await ask("GET", "/holds"), { holds: [] });
});

test("changes faults, clock and credit, and adds messages to a queue", async (context) => {
  const { registry, client } = await startWithClient(context, { now: () => new Date("2026-03-01T12:00:00Z") });
  const faults = (await (await post(registry, "/faults", { uniqueClTRIDs: true })).json()) as Record<string, unknown>;
  assert.deepEqual([faults.uniqueClTRIDs, faults.commandsMax], [true, null]);
  assert.deepEqual(await (await fetch(url(registry, "/faults"))).json(), faults);
  await post(registry, "/faults", { uniqueClTRIDs: false });

  const clock = await post(registry, "/clock", { advanceDays: 1, advanceMs: 1000 });
  assert.deepEqual(await clock.json(), { now: "2026-03-02T12:00:01.000Z" });
  assert.deepEqual(await (await fetch(url(registry, "/clock"))).json(), { now: "2026-03-02T12:00:01.000Z" });

  await post(registry, "/credit", { registrar: "gate-one", amount: 0 });
  assert.equal((await client.ask(createFrame("a.test"))).code, 2104);

  const { id } = (await (await post(registry, "/messages", { registrar: "gate-one", text: "Hear" })).json()) as {
    id: string;
  };
  assert.match((await client.ask(pollFrame)).xml, new RegExp(`id="${id}".*<msg>Hear<`));
  const { messages } = (await (await fetch(url(registry, "/messages"))).json()) as { messages: { id: string }[] };
  assert.equal(messages[0]?.id, id);
});

test("answers an invalid request with 400 and the mistake", async (context) => {
  const { registry } = await startWithClient(context);
  const cases: [string, unknown, RegExp][] = [
    ["/seed", {}, /names or domains are required/],
    ["/seed", { domains: [{ name: "a.test", exDate: "soon" }] }, /"soon" is not a time/],
    ["/seed", { domains: [{ name: "a.test", statuses: ["happy"] }] }, /"happy" is not a status/],
    ["/seed", { domains: [{ name: "a.test", registrar: "nobody" }] }, /no registrar "nobody"/],
    ["/seed", { domains: [{ name: "a.test", registrant: "nobody" }] }, /no contact "nobody"/],
    ["/seed", { names: ["a.elsewhere"] }, /under no suffix/],
    ["/faults", { connect: { as: "explode" } }, /connect.as must be one of/],
    ["/faults", ["connect"], /the body must be object/],
    ["/holds", { command: "domain:create", at: "noon" }, /at must be one of before-execution, before-answer/],
    ["/holds", { at: "before-answer" }, /the body needs command/],
    ["/messages", { registrar: "gate-one", xml: "<a>" }, /No valid answer/],
    ["/clock", { advanceMs: -1 }, /can advance by 0 to/],
    ["/clock", { advanceHours: 1 }, /advanceHours is not known/],
    ["/credit", { registrar: "gate-one", amount: -1 }, /0 or more units/],
    ["/holds", { command: "domain:crate", at: "before-answer" }, /command must be one of .*domain:create/],
  ];
  for (const [path, body, sentence] of cases) {
    const answer = await post(registry, path, body);
    const { error } = (await answer.json()) as { error: string };
    assert.equal(answer.status, 400, `${path} ${error}`);
    assert.match(error, sentence);
  }
  const noJson = await fetch(url(registry, "/holds"), { method: "POST", body: "{" });
  assert.deepEqual([noJson.status, await noJson.json()], [400, { error: "the body is not JSON" }]);
  const tooLong = await fetch(url(registry, "/seed"), { method: "POST", body: "x".repeat(2 ** 20 + 1) });
  assert.equal(tooLong.status, 400);
  for (const query of ["?after=x", "?colour=red", "?executed=maybe"]) {
    assert.equal((await fetch(url(registry, `/journal${query}`))).status, 400, query);
  }
});

/** The status of a request whose target and host are sent as they are: fetch would mend them. */
async function statusOf(registry: SandboxRegistry, path: string, host: string): Promise<number | undefined> {
  const asked = request({ host: "127.0.0.1", port: registry.controlPort, path, headers: { host } });
  const [answer] = (await once(asked.end(), "response")) as [IncomingMessage];
  answer.resume();
  return answer.statusCode;
}

test("refuses requests of web pages, also with a host name of their own, and unknown routes", async (context) => {
  const { registry } = await startWithClient(context);
  assert.equal((await post(registry, "/reset", undefined, { origin: "http://evil.test" })).status, 403);
  for (const host of ["evil.test", "evil.test:7001", "127.0.0.1.evil.test", "localhost.evil.test:1"]) {
    assert.equal(await statusOf(registry, "/domains", host), 403, host);
  }
  for (const host of ["127.0.0.1", "localhost:7001", "[::1]:7001"]) {
    assert.equal(await statusOf(registry, "/domains", host), 200, host);
  }
  assert.equal(await statusOf(registry, "//", "localhost"), 400);
  assert.equal((await fetch(url(registry, "/nothing"))).status, 404);
  assert.equal((await fetch(url(registry, "/journal?after=x"))).status, 400);
});
