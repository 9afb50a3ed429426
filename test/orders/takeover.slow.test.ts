/**
 * An owner of a registry's sessions that hangs, or is cut off from the database or the registry, loses them to another worker.
 * The registry's journal says what was sent; a command that was on its way is never executed twice.
 */
import assert from "node:assert/strict";
import { hostname } from "node:os";
import { type TestContext, test } from "node:test";
import { lockConnectionName } from "#jobs/registry-succession.ts";
import { sleep } from "#lib/clock.ts";
import { type DatabaseProxy, startDatabaseProxy } from "../harness/database-proxy.ts";
import type { TestGateway, TestReseller } from "../harness/gateway.ts";
import { countSessions, runSql } from "../harness/sql.ts";
import { startTcpRelay, type TcpRelay } from "../harness/tcp-relay.ts";
import { assertEnds, creates, type PlacedOrder, place, until } from "./judge.ts";
import { startWithLateNetwork } from "./late-command.ts";
import { startWithWorkers, type WorkersOptions } from "./worker-process.ts";

const ordersBefore = 6;
const ordersAfter = 6;
/** Between two requests of a reseller who keeps ordering. */
const pauseMs = 50;

interface Lease {
  epoch: string;
  holder: string;
  is_valid: boolean;
  since: Date;
  has_yielded: boolean;
}

async function leaseOf({ databaseUrl }: TestGateway): Promise<Lease | undefined> {
  const sql = `SELECT epoch, holder, since, expires_at > now() AS is_valid, yielded_at IS NOT NULL AS has_yielded
    FROM registry_leases`;
  return (await runSql<Lease>(databaseUrl, sql))[0];
}

async function untilOwnedBy(gateway: TestGateway, pid: number | undefined): Promise<Lease> {
  let lease: Lease | undefined;
  await until(`process ${pid} owns the registry`, async () => {
    lease = await leaseOf(gateway);
    return lease?.is_valid === true && lease.holder === `process ${pid} on ${hostname()}`;
  });
  return lease!;
}

/** The connections with a login so far. */
const connectionsOf = ({ registry }: TestGateway) =>
  new Set(registry.store.journal.entries({ command: "login" }).map(({ connection }) => connection));

/** Relays a port, until it is cut. */
function relayTo(port: number, onReset: () => void = () => {}): Promise<TcpRelay> {
  return startTcpRelay({
    target: () => ({ host: "127.0.0.1", port }),
    carry(client, upstream) {
      client.on("error", (error: NodeJS.ErrnoException) => error.code === "ECONNRESET" && onReset());
      client.pipe(upstream);
      upstream.pipe(client);
    },
  });
}

/** A reseller who keeps ordering, whatever the answers are. */
function keepOrdering(gateway: TestGateway, reseller: TestReseller) {
  const accepted: PlacedOrder[] = [];
  const stopped = new AbortController();
  const run = async () => {
    for (let number = 0; !stopped.signal.aborted; number++) {
      const name = `${number % 3 === 0 ? "slow-150-" : ""}load-${number}.example`;
      const { status, headers } = await gateway.send(reseller, "POST", "/domains/registrations", {
        body: { domain_name: name },
      });
      const location = headers.location ?? "";
      const code = location.slice(location.lastIndexOf("/") + 1);
      if (status === 202) accepted.push({ name, location, code });
      else assert.ok([400, 503].includes(status), `${name}: ${status}`);
      await sleep(pauseMs, stopped.signal);
    }
  };
  const running = run();
  return {
    accepted,
    async stop() {
      stopped.abort();
      await running;
    },
  };
}

interface Cut {
  what: string;
  /** Called while both workers run, and the first owns the registry. */
  hurt(): void;
}

/**
 * Keeps placing orders while the owner is disturbed: each accepted order ends, with at most one create executed.
 * @returns the lease of the second worker, and the connections of the first
 */
async function takeOver(gateway: TestGateway, pid: number | undefined, { what, hurt }: Cut) {
  const reseller = await gateway.addReseller();
  const load = keepOrdering(gateway, reseller);
  await until("orders are accepted", () => load.accepted.length >= ordersBefore);
  const ofFirst = connectionsOf(gateway);
  hurt();
  const lease = await untilOwnedBy(gateway, pid);
  const acceptedBefore = load.accepted.length;
  await until(`orders are accepted after ${what}`, () => load.accepted.length >= acceptedBefore + ordersAfter);
  await load.stop();
  for (const order of load.accepted) {
    await assertEnds(gateway, reseller, order, "Finished");
    const executed = creates(gateway, order.name).filter((entry) => entry.executed);
    assert.equal(executed.length, 1, order.name);
  }
  assert.equal(lease.epoch, "2");
  return { lease, ofFirst };
}

const quick = { queryTimeoutMs: 2_000, takeoverSettleMs: 500 } as const;

async function startTwo(t: TestContext, own: (gateway: TestGateway) => Promise<object>, options: WorkersOptions = {}) {
  const { gateway, start } = await startWithWorkers(t, { ...options, profile: { ...quick, ...options.profile } });
  const first = await start(await own(gateway));
  await untilOwnedBy(gateway, first.pid);
  return { gateway, first, second: await start() };
}

test("an owner that is suspended loses the registry, and sends nothing when it resumes", async (t) => {
  let resets = 0;
  const { gateway, first, second } = await startTwo(t, async ({ registry }) => {
    const relay = await relayTo(registry.port, () => {
      resets += 1;
    });
    t.after(() => relay.close());
    return { profile: { port: relay.port } };
  });
  const { lease, ofFirst } = await takeOver(gateway, second.pid, { what: "the stop", hurt: first.freeze });
  const stuck = "SELECT FROM alarms WHERE kind = 'worker-stuck' AND subject = 'sandbox' AND resolved_at IS NULL";
  await until("it is an alarm", async () => (await runSql(gateway.databaseUrl, stuck)).length > 0);
  const { journal } = gateway.registry.store;
  const [lastFrame] = journal.entries().slice(-1);
  first.thaw();
  await until("the alarm is over", async () => (await runSql(gateway.databaseUrl, stuck)).length === 0);
  const late = journal.entries({ after: lastFrame!.number, direction: "in" });
  assert.deepEqual(
    late.filter(({ connection }) => connection !== undefined && ofFirst.has(connection)),
    [],
  );
  await until("its connections are reset", () => resets > 0);
  const begun = "SELECT cl_trid FROM attempts WHERE epoch = 1 AND committed_at > $1";
  assert.deepEqual(await runSql(gateway.databaseUrl, begun, [lease.since]), []);
  await untilOwnedBy(gateway, second.pid);
});

test("a worker that was suspended while it waited does not keep the registry from the next one", async (t) => {
  const { gateway, start } = await startWithWorkers(t, { profile: quick });
  const first = await start();
  await untilOwnedBy(gateway, first.pid);
  const hanging = await start();
  const third = await start();
  const connected = () => countSessions(gateway.databaseUrl, lockConnectionName("sandbox"));
  await until("both wait", async () => (await connected()) === 3);
  hanging.freeze();
  await first.kill();
  await untilOwnedBy(gateway, third.pid);
});

for (const way of ["cut", "silence"] as const) {
  test(`an owner whose link to the database is lost (${way}) loses the registry`, async (t) => {
    let proxy: DatabaseProxy | undefined;
    const { gateway, second } = await startTwo(t, async (started) => {
      proxy = await startDatabaseProxy(started.databaseUrl);
      t.after(() => proxy?.close());
      return { databaseUrl: proxy.url };
    });
    await takeOver(gateway, second.pid, { what: "the cut", hurt: () => proxy?.[way]() });
  });
}

test("an owner that is cut off from the registry releases it for a worker that can connect", async (t) => {
  let link: TcpRelay | undefined;
  const { gateway, first, second } = await startTwo(t, async ({ registry }) => {
    link = await relayTo(registry.port);
    t.after(() => link?.close());
    return { profile: { port: link.port } };
  });
  const { lease } = await takeOver(gateway, second.pid, { what: "the cut", hurt: () => link?.cut() });
  assert.ok(lease.has_yielded);
  link?.join();
  await first.stop();
});

test("a create that arrives after the takeover is not sent again, neither within the settle time nor before another look", async (t) => {
  const { gateway, start, network, killWithCommandOnItsWay } = await startWithLateNetwork(t);
  const { databaseUrl, registry } = gateway;
  const reseller = await gateway.addReseller();
  await assertEnds(gateway, reseller, await place(gateway, reseller, "first.example"), "Finished");
  const second = await start();
  const name = "late-frame.example";
  const order = await killWithCommandOnItsWay("true", () => place(gateway, reseller, name));
  const waits = "SELECT FROM order_history WHERE event = 'look-lost' AND note LIKE '%still on its way%'";
  await until(
    "its order waits after a look that did not find the name",
    async () => (await runSql(databaseUrl, waits)).length > 0,
  );
  const looked = registry.hold({ command: "domain:info", name, at: "before-answer", times: 1 });
  await looked.reached(1);
  assert.deepEqual(creates(gateway, name), [], "it was sent again within the settle time");
  network.deliver();
  await until("the first one arrives", () => creates(gateway, name).length > 0);
  looked.release();
  await assertEnds(gateway, reseller, order, "Finished");
  assert.equal(creates(gateway, name).length, 1, "it was sent again without another look");
  await untilOwnedBy(gateway, second.pid);
});
