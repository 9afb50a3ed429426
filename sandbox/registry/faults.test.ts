import assert from "node:assert/strict";
import { connect } from "node:net";
import { type TestContext, test } from "node:test";
import type { FaultSettings } from "./faults.ts";
import type { SandboxRegistry } from "./server.ts";
import { checkFrame, createFrame, helloFrame, infoFrame, loginFrame } from "./test/frames.ts";
import { RawClient } from "./test/raw-client.ts";
import { startFor, startWithClient } from "./test/setup.ts";

function codeIn(frame: string | undefined): number {
  return Number(/<result code="(\d{4})"/.exec(frame ?? "")?.[1]);
}

async function greeted(context: TestContext, registry: SandboxRegistry): Promise<RawClient> {
  const client = await RawClient.connect(registry.port, registry.caFile);
  context.after(() => client.close());
  await client.receive();
  return client;
}

/** What the registry answers to the beginning of a TLS handshake. */
async function handshakeAnswer(registry: SandboxRegistry): Promise<Buffer> {
  const socket = connect(registry.port, "127.0.0.1");
  socket.write(Buffer.from([22, 3, 1, 0, 200, 1]));
  const bytes = await new Promise<Buffer>((resolve) => socket.once("data", resolve));
  socket.destroy();
  return bytes;
}

test("refuses the given number of connections with the given code instead of a greeting", async (context) => {
  const registry = await startFor(context);
  for (const code of [2500, 2501, 2502] as const) {
    registry.setFaults({ connect: { as: `refuse-${code}`, times: 1 } });
    const client = await RawClient.connect(registry.port, registry.caFile);
    assert.equal(codeIn(await client.receive()), code);
    assert.equal(await client.receive(), undefined);
    (await RawClient.login(registry)).close();
  }
});

test("accepts a connection and hangs: before TLS, in its handshake, or without a greeting", async (context) => {
  const registry = await startFor(context);
  for (const as of ["hang-accept", "hang-tls"] as const) {
    registry.setFaults({ connect: { as, times: 1 } });
    const hanging = RawClient.connect(registry.port, registry.caFile);
    // Connections are accepted in order: once this one is served, the one before it is hanging.
    (await RawClient.login(registry)).close();
    registry.closeSessions();
    await assert.rejects(hanging);
  }
  registry.setFaults({ connect: { as: "hang-greeting", times: 1 } });
  const client = await RawClient.connect(registry.port, registry.caFile);
  client.send(loginFrame("gate-one", "secret-1"));
  (await RawClient.login(registry)).close();
  registry.closeSessions();
  assert.equal(await client.receive(), undefined);
  const logins = registry.store.journal.entries({ command: "login" }).filter(({ direction }) => direction === "in");
  assert.equal(logins.length, 3, "the login of the silent connection was never read");
});

test("starts a TLS handshake and never completes it", async (context) => {
  const registry = await startFor(context, { faults: { connect: { as: "hang-tls" } } });
  const bytes = await handshakeAnswer(registry);
  assert.deepEqual([bytes[0], bytes.length], [22, 6], "a record of the handshake, cut off");
});

test("resets new connections and keeps existing sessions", async (context) => {
  const { registry, client } = await startWithClient(context);
  registry.setFaults({ connect: { as: "reset" } });
  await assert.rejects(RawClient.connect(registry.port, registry.caFile), /ECONNRESET|disconnected/);
  assert.equal((await client.ask(checkFrame("a.test"))).code, 1000);
});

for (const code of [2002, 2200, 2202] as const) {
  test(`forgets a login after the given number of commands: every command is ${code} until a new login`, async (context) => {
    const registry = await startFor(context, { faults: { logout: { afterCommands: 1, code } } });
    const client = await greeted(context, registry);
    for (let round = 0; round < 2; round += 1) {
      assert.equal((await client.ask(loginFrame("gate-one", "secret-1"))).code, 1000);
      assert.equal((await client.ask(checkFrame("a.test"))).code, 1000);
      assert.equal((await client.ask(createFrame("a.test"))).code, code);
      assert.equal((await client.ask(checkFrame("a.test"))).code, code);
      client.send(helloFrame);
      assert.match((await client.receive()) ?? "", /<greeting>/, "a hello proves no login");
    }
  });
}

test("forgets a login after the given time of the registry's clock", async (context) => {
  const { registry, client } = await startWithClient(context, { faults: { logout: { afterMs: 60_000, code: 2200 } } });
  assert.equal((await client.ask(checkFrame("a.test"))).code, 1000);
  await registry.advance(60_000);
  assert.equal((await client.ask(checkFrame("a.test"))).code, 2200);
});

test("answers the command after the last allowed one with 2500 and does not execute it", async (context) => {
  const { registry, client } = await startWithClient(context, { faults: { commandsMax: 3 } });
  assert.equal((await client.ask(checkFrame("a.test"))).code, 1000);
  assert.equal((await client.ask(createFrame("a.test"))).code, 2500);
  assert.equal(await client.receive(), undefined);
  assert.equal(registry.store.domains.find("a.test"), undefined);
});

test("ends idle and old sessions, with or without the given notice", async (context) => {
  const ends: [Partial<FaultSettings>, number][] = [
    [{ idleMs: 1 }, Number.NaN],
    [{ idleMs: 1, endNoticeCode: 1500 }, 1500],
    [{ ageMs: 1 }, Number.NaN],
    [{ ageMs: 1, endNoticeCode: 2502 }, 2502],
  ];
  for (const [faults, code] of ends) {
    const { registry, client } = await startWithClient(context);
    registry.setFaults(faults);
    const notice = await client.receive();
    assert.equal(codeIn(notice), code);
    if (notice !== undefined) assert.equal(await client.receive(), undefined);
  }
});

test("answers the frame in progress before an old session ends", async (context) => {
  const { registry, client } = await startWithClient(context);
  const hold = registry.hold({ command: "domain:create", at: "before-answer" });
  client.send(createFrame("a.test"));
  await hold.reached(1);
  registry.setFaults({ ageMs: 1, endNoticeCode: 1500 });
  const younger = await RawClient.connect(registry.port, registry.caFile);
  while ((await younger.receive()) !== undefined);
  hold.release();
  assert.equal(codeIn(await client.receive()), 1000);
  assert.equal(codeIn(await client.receive()), 1500);
  assert.equal(await client.receive(), undefined);
});

test("does not count a client that waits for its answer as idle", async (context) => {
  const { registry, client } = await startWithClient(context);
  const hold = registry.hold({ command: "domain:create", at: "before-answer" });
  client.send(createFrame("a.test"));
  await hold.reached(1);
  registry.setFaults({ idleMs: 1 });
  const idle = await RawClient.connect(registry.port, registry.caFile);
  while ((await idle.receive()) !== undefined);
  registry.setFaults({ idleMs: null });
  hold.release();
  assert.equal(codeIn(await client.receive()), 1000);
  assert.equal((await client.ask(checkFrame("a.test"))).code, 1000);
});

test("applies a new limit of sessions to the next login", async (context) => {
  const { registry } = await startWithClient(context);
  registry.setFaults({ sessionsMax: 1 });
  await assert.rejects(RawClient.login(registry), /2502/);
  registry.setFaults({ sessionsMax: null });
  (await RawClient.login(registry)).close();
});

test("refuses a clTRID that its registrar has used before with 2306, if that is switched on", async (context) => {
  const { registry, client } = await startWithClient(context);
  assert.equal((await client.ask(infoFrame("a.test"))).code, 2303);
  assert.equal((await client.ask(infoFrame("a.test"))).code, 2303);
  registry.setFaults({ uniqueClTRIDs: true });
  const again = await client.ask(createFrame("a.test"));
  assert.deepEqual([again.code, again.clTRID], [2306, "test-1"]);
  assert.match(again.xml, /the clTRID was used before/);
  assert.equal((await client.ask(createFrame("a.test", { clTRID: "test-2" }))).code, 1000);
  const other = await RawClient.login(registry, "gate-two", "secret-2");
  assert.equal((await other.ask(infoFrame("a.test"))).code, 1000, "another registrar's clTRIDs are its own");
  other.close();
});

test("is down for maintenance by its clock, and refuses or resets commands", async (context) => {
  const start = "2026-03-01T12:00:00Z";
  const window = { from: "2026-03-01T13:00:00Z", until: "2026-03-01T14:00:00Z" };
  for (const answer of [2500, 2502, "reset"] as const) {
    const faults = { maintenance: { ...window, answer } };
    const { registry, client } = await startWithClient(context, { faults, now: () => new Date(start) });
    assert.equal((await client.ask(checkFrame("a.test"))).code, 1000);
    await registry.advance(60 * 60_000);
    client.send(createFrame("a.test"));
    assert.equal(codeIn(await client.receive()), answer === "reset" ? Number.NaN : answer);
    assert.equal(registry.store.domains.find("a.test"), undefined);
    if (answer === "reset") await assert.rejects(RawClient.connect(registry.port, registry.caFile));
    else assert.equal(codeIn(await (await RawClient.connect(registry.port, registry.caFile)).receive()), answer);
    await registry.advance(60 * 60_000);
    (await RawClient.login(registry)).close();
  }
});

test("restores the faults of the start at a reset", async (context) => {
  const registry = await startFor(context, { faults: { commandsMax: 5 } });
  registry.setFaults({ commandsMax: 1, uniqueClTRIDs: true });
  await registry.reset();
  assert.equal(registry.faults.current.commandsMax, 5);
  assert.equal(registry.faults.current.uniqueClTRIDs, false);
});

test("names the mistake in a fault and changes nothing", async (context) => {
  const registry = await startFor(context);
  const cases: [unknown, RegExp][] = [
    [{ connect: { as: "explode" } }, /connect\.as must be one of reset, hang-accept/],
    [{ nothing: 1 }, /nothing is not known/],
    [{ logout: { afterCommands: 1 } }, /logout needs code/],
    [{ sessionsMax: -1 }, /sessionsMax must be >= 0/],
    [{ maintenance: { from: "tomorrow", answer: 2500 } }, /"tomorrow" is not a time/],
  ];
  for (const [faults, sentence] of cases) {
    assert.throws(() => registry.setFaults({ commandsMax: 1, ...(faults as object) }), sentence);
  }
  assert.equal(registry.faults.current.commandsMax, null);
});
