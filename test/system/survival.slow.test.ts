import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { eventually, processesOf, type RunningSystem, startSystem, systemFolder } from "../harness/running-system.ts";

/** Below the system's ephemeral ports (ip(7)), and different for test files that run at the same time. */
const portBase = String(10_000 + (process.pid % 100) * 200);

const folder = await systemFolder({ after });
const start = () => startSystem(folder, ["--port-base", portBase, "--rate-limit", "1000000"]);
let system: RunningSystem;
/** Names that were ordered around the kills. */
const orders: string[] = [];

before(async () => {
  system = await start();
});

/** Orders a name; while the parts come back, a refusal is nothing but "not yet". */
async function order(label: string): Promise<void> {
  await eventually(`${label} is accepted`, async () => {
    const { status, headers } = await system.send("POST", "/domains/registrations", {
      body: { domain_name: `${label}.example` },
    });
    if (status === 202) orders.push(headers.location!);
    return status === 202;
  });
}

/** Kills a part, and returns when the ready file names its replacement. */
async function killAndWait(part: string): Promise<void> {
  const killed = system.ready();
  process.kill(killed.pids[part]!, "SIGKILL");
  await eventually(`${part} comes back`, () => system.ready().pids[part] !== killed.pids[part]);
  const back = system.ready();
  assert.deepEqual({ ...back, pids: undefined }, { ...killed, pids: undefined }, "all is reached where it was");
  assert.ok(processesOf(folder).includes(back.pids[part]!), `${part} runs`);
}

/** A part's environment, from the kernel. */
const environmentOf = (part: string) => readFileSync(`/proc/${system.ready().pids[part]}/environ`, "utf8").split("\0");

for (const part of ["api", "worker", "node", "registry"]) {
  test(`starts ${part} again when it is killed, and says so`, async () => {
    await order(`before-${part}`);
    await killAndWait(part);
    assert.match(system.stdout(), new RegExp(`^${part} ended \\(SIGKILL\\) and is restarted`, "m"));
    await order(`after-${part}`);
  });
}

test("gives node and registry neither the database's password nor the master key, even after a restart", () => {
  for (const part of ["node", "registry"]) {
    const secrets = environmentOf(part).filter((entry) => /^(DATABASE_URL|DEEDHOUSE_MASTER_KEY|PG)/.test(entry));
    assert.deepEqual(secrets, [], part);
  }
  assert.ok(environmentOf("api").some((entry) => entry.startsWith("DATABASE_URL=postgres://")));
});

test("answers 503 in full form while PostgreSQL is away, and continues when it is back", async () => {
  await order("before-postgres");
  const back = killAndWait("postgres");
  await eventually("the outage shows", async () => {
    const { status, headers, body } = await system.send("GET", "/domains");
    if (status === 200) return false;
    assert.equal(status, 503);
    assert.equal((body as { error_code: string }).error_code, "service_unavailable");
    const promised = ["limit", "usage", "remaining", "reset"].map((name) => `x-ratelimit-${name}`);
    for (const name of ["x-request-id", "retry-after", ...promised]) assert.ok(headers[name], name);
    assert.equal(headers["cache-control"], "no-store");
    return true;
  });
  await back;
  assert.match(system.stdout(), /^postgres ended and is restarted$/m);
  await eventually("the API answers again", async () => (await system.send("GET", "/domains")).status === 200);
  await order("after-postgres");
});

test("a killed start leaves only PostgreSQL, which the next start adopts", async () => {
  await order("before-start");
  const { pids } = system.ready();
  await system.kill("SIGKILL");
  // At once, while the processes of the killed one still end: it is to wait for them, not to fail on their ports.
  system = await start();
  const now = system.ready().pids;
  assert.equal(now.postgres, pids.postgres);
  const left = processesOf(folder);
  for (const part of ["api", "worker", "node", "registry"]) assert.ok(!left.includes(pids[part]!), part);
  await order("after-start");
});

test("finishes every order that was accepted around the kills", async () => {
  await eventually("all orders are finished", async () => {
    const statuses = await Promise.all(
      orders.map(async (location) => ((await system.send("GET", location)).body as { status: string }).status),
    );
    const ended = statuses.filter((status) => !["NotProvisioned", "Processing", "Pending"].includes(status));
    assert.deepEqual(
      ended.filter((status) => status !== "Finished"),
      [],
    );
    return ended.length === orders.length;
  });
  assert.equal((await system.client.listDomains({ take: 100 })).data.length, orders.length);
});

test("stops with no process left after all that", async () => {
  assert.equal((await system.kill("SIGTERM")).code, 0);
  assert.deepEqual(processesOf(folder), []);
});
