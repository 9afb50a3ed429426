import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { startSandboxRegistry } from "./server.ts";
import {
  contactCreateFrame,
  contactUri,
  createFrame,
  deleteFrame,
  domainUri,
  hostFrame,
  hostObjects,
  hostUri,
  infoFrame,
  rgpUri,
  transferFrame,
} from "./test/frames.ts";
import { pollAll } from "./test/queue.ts";
import { RawClient, textOf } from "./test/raw-client.ts";
import { registrars } from "./test/setup.ts";

const dayMs = 24 * 60 * 60_000;
const all = { objects: [domainUri, contactUri, hostUri], extension: [rgpUri] };

async function folderFor(context: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "sandbox-registry-test-"));
  context.after(() => rm(folder, { recursive: true }));
  return folder;
}

interface Running {
  child: ChildProcess;
  port: number;
  controlPort: number;
  caFile: string;
}

/** Starts the registry as a separate process, which can be killed. */
async function startProcess(context: TestContext, dataDir: string): Promise<Running> {
  const accounts = registrars.flatMap(({ id, password }) => ["--registrar", `${id}:${password}`]);
  const entry = join(import.meta.dirname, "test/run-main.ts");
  const child = fork(entry, ["--suffix", "test", ...accounts, "--data", dataDir], { stdio: "inherit" });
  context.after(() => child.kill("SIGKILL"));
  const [ready] = (await once(child, "message")) as [Omit<Running, "child">];
  return { ...ready, child };
}

async function kill({ child }: Running): Promise<void> {
  child.kill("SIGKILL");
  await once(child, "exit");
}

/** Advances the clock and returns its time. */
async function advance({ controlPort }: Running, ms: number): Promise<number> {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ advanceMs: ms });
  const response = await fetch(`http://127.0.0.1:${controlPort}/clock`, { method: "POST", headers, body });
  assert.equal(response.status, 200);
  return Date.parse(((await response.json()) as { now: string }).now);
}

test("keeps its clock, hosts, transfers and stages of names when it is killed", async (context) => {
  const dataDir = await folderFor(context);
  const first = await startProcess(context, dataDir);
  const loser = await RawClient.login(first, "gate-one", "secret-1", all);
  await loser.ask(contactCreateFrame("reg-1"));
  await loser.ask(createFrame("a.test"));
  await loser.ask(hostFrame("create", "ns1.a.test", '<host:addr ip="v4">192.0.2.1</host:addr>'));
  await loser.ask(createFrame("b.test", { ns: hostObjects("ns1.a.test") }));
  await loser.ask(createFrame("c.test"));
  const before = await advance(first, 10 * dayMs);
  await loser.ask(deleteFrame("c.test"));
  const gainer = await RawClient.login(first, "gate-two", "secret-2", all);
  assert.equal((await gainer.ask(transferFrame("request", "a.test", "auth-1"))).code, 1001);
  await kill(first);

  const second = await startProcess(context, dataDir);
  assert.ok((await advance(second, 5 * dayMs)) >= before + 5 * dayMs);
  await kill(second);

  const third = await startProcess(context, dataDir);
  const client = await RawClient.login(third, "gate-two", "secret-2", all);
  assert.equal(textOf(await client.ask(infoFrame("a.test")), "clID"), "gate-two");
  const host = await client.ask(hostFrame("info", "ns1.a.test"));
  assert.equal(textOf(host, "clID"), "gate-two");
  assert.match(host.xml, /s="linked".*192\.0\.2\.1</);
  assert.match((await client.ask(infoFrame("c.test"))).xml, /rgpStatus s="redemptionPeriod"/);
  assert.match((await pollAll(client))[0]?.xml ?? "", /<domain:trStatus>serverApproved</);
  await advance(third, 30 * dayMs);
  assert.equal((await client.ask(infoFrame("c.test"))).code, 2303);
  client.close();
});

/** The state and events of a registry with names of every kind after three years, advanced in `steps`. */
async function threeYears(context: TestContext, steps: number[]): Promise<unknown> {
  const now = () => new Date("2028-03-01T10:00:00.000Z");
  const registry = await startSandboxRegistry({ suffixes: ["test"], registrars, now, pendingDelayMs: 40 * dayMs });
  context.after(() => registry.close());
  const client = await RawClient.login(registry, "gate-one", "secret-1", all);
  const other = await RawClient.login(registry, "gate-two", "secret-2", all);
  await client.ask(contactCreateFrame("reg-1"));
  for (const name of ["a", "b", "c", "pending-approve-d", "pending-deny-e", "pending-never-f"]) {
    await client.ask(createFrame(`${name}.test`));
  }
  await registry.advance(30 * dayMs);
  await client.ask(deleteFrame("b.test"));
  await other.ask(transferFrame("request", "c.test", "auth-1"));
  for (const days of steps) await registry.advance(days * dayMs);
  client.close();
  other.close();
  const events = registry.store.journal.entries({ direction: "event" });
  const named = events.map(({ at, command, name, registrar }) => ({ at, command, name, registrar }));
  const queued = registry.store.messages.values().map(({ queuedAt, text, name, registrar }) => ({
    ...{ queuedAt, text, name, registrar },
  }));
  return {
    named,
    queued,
    held: registry.store.domains.values().map(({ name, exDate, clID }) => ({ name, exDate, clID })),
  };
}

test("reaches the same state by one long step of the clock as by many short ones", async (context) => {
  const atOnce = await threeYears(context, [1_095]);
  assert.deepEqual(
    await threeYears(
      context,
      Array.from({ length: 219 }, () => 5),
    ),
    atOnce,
  );
  assert.deepEqual(await threeYears(context, [1, 93, 500, 0, 501]), atOnce);
});
