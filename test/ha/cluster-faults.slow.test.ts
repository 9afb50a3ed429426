/** Machines and programs of the database's cluster fail while clients register names. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { migrate } from "#db/migrate.ts";
import { sleep } from "#lib/clock.ts";
import { startApiProcess } from "../harness/api-process.ts";
import { assertError } from "../harness/assert-reply.ts";
import type { Scope } from "../harness/database.ts";
import { type DatabaseProxy, startDatabaseProxy } from "../harness/database-proxy.ts";
import { authorize } from "../harness/signed-request.ts";
import { runSql } from "../harness/sql.ts";
import { until } from "../orders/judge.ts";
import { startWithWorkers } from "../orders/worker-process.ts";
import { type Attempt, readAll, type Service, startClients, startReader, tryToSend } from "./clients.ts";
import { type Cluster, noCluster, startCluster } from "./cluster.ts";
import { judge, longestGapMs } from "./judge.ts";

/**
 * Bounds of the contract with operators, not of this machine's speed. The leader's key lives for 20 s after the primary's last sign
 * of life, a standby sees that within a loop of 5 s, and becomes the primary in some more; then a worker waits for its lease.
 */
const gapMsMax = 30_000;
const silenceMs = 25_000;
/** What a supervisor takes to start a program again. */
const supervisorMs = 1_000;
/** After 2 s without an answer of the database, a process gives its connections up. */
const answerMsMax = 3_000;
/** Acknowledged registrations before a fault, and after it. */
const acknowledgedMin = 12;
const repeatedReads = 5;

interface Stage {
  cluster: Cluster;
  /** Between the processes and HAProxy. */
  path: DatabaseProxy;
}

interface Fault {
  name: string;
  /** Resolves when the service should come back by itself. @returns what repairs the machine, when it has */
  cause(stage: Stage): Promise<() => Promise<unknown>>;
  /** What is special about the answers meanwhile. @param attempts those that began while the fault lasted, and had time to end then */
  check?(attempts: readonly Attempt[]): void;
}

const nothing = async () => {};

const faults: Fault[] = [
  {
    name: "the primary's machine is killed",
    async cause({ cluster }) {
      const machine = await cluster.primary();
      await cluster.run("kill", machine);
      return () => cluster.run("boot", machine);
    },
  },
  {
    name: "it freezes, and comes back when another one is the primary",
    async cause({ cluster }) {
      const machine = await cluster.primary();
      await cluster.run("freeze", machine);
      return async () => {
        const successor = await cluster.primary();
        await cluster.run("thaw", machine);
        await cluster.run("wait");
        assert.equal(await cluster.primary(), successor, "it must not take over again");
      };
    },
  },
  {
    name: "a planned switchover",
    async cause({ cluster }) {
      await cluster.run("switchover");
      return nothing;
    },
  },
  {
    name: "the primary's PostgreSQL alone is killed",
    async cause({ cluster }) {
      await cluster.run("kill", await cluster.primary(), "postgres");
      return nothing;
    },
  },
  {
    name: "HAProxy is killed, and started again",
    async cause({ cluster }) {
      await cluster.run("kill", "haproxy");
      await sleep(supervisorMs);
      await cluster.run("boot", "haproxy");
      return nothing;
    },
  },
  {
    name: `the path to the database is silent for ${silenceMs / 1000} s`,
    async cause({ path }) {
      path.dropRoute();
      await sleep(silenceMs);
      path.restore();
      return nothing;
    },
    check(attempts) {
      assert.ok(attempts.length > 0);
      for (const { name, status, startedMs, endedMs } of attempts) {
        assert.equal(status, 503, name);
        assert.ok(endedMs - startedMs <= answerMsMax, `${name} was answered after ${endedMs - startedMs} ms`);
      }
    },
  },
];

/** What uses another part is closed before it. */
function inReverse(t: TestContext): Scope {
  const closers: (() => unknown)[] = [];
  t.after(async () => {
    for (const close of closers.reverse()) await close();
  });
  return { after: (close) => void closers.push(close) };
}

async function startService(scope: Scope, cluster: Cluster): Promise<Service & { path: DatabaseProxy }> {
  await migrate(cluster.url);
  const path = await startDatabaseProxy(cluster.url);
  scope.after(() => path.close());
  const workers = await startWithWorkers(scope, { databaseUrl: cluster.url, profile: { transformTimeoutMs: 5_000 } });
  const { gateway } = workers;
  const environment = { DEEDHOUSE_DATABASE_SYNCHRONOUS: "1" };
  await workers.start({ databaseUrl: path.url, environment });
  const api = await startApiProcess(scope, gateway, path.url, environment);
  return { gateway, api, reseller: await gateway.addReseller(), path };
}

/** Signed reads that were answered. @returns what sends the same bytes again, which must be refused */
async function readSome(service: Service): Promise<() => Promise<void>> {
  const call = { method: "GET", target: "/domains" };
  const { clock } = service.gateway.context;
  const used = Array.from({ length: repeatedReads }, () => authorize({ ...call, key: service.reseller.key, clock }));
  for (const authorization of used) {
    assert.equal((await tryToSend(service, call.method, call.target, { authorization }))?.status, 200);
  }
  return async () => {
    for (const authorization of used) {
      const again = await tryToSend(service, call.method, call.target, { authorization });
      assertError(again!, "authorization_nonce_reused");
    }
  };
}

async function play(t: TestContext, fault: Fault, service: Service & { path: DatabaseProxy }, cluster: Cluster) {
  const clients = startClients(service, `f${faults.indexOf(fault)}`);
  const { attempts } = clients;
  t.after(() => clients.stop());
  const acknowledgedSince = (sinceMs: number) =>
    attempts.filter(({ location, startedMs }) => location !== undefined && startedMs > sinceMs).length;
  const served = async (count = 1) => {
    const sinceMs = performance.now();
    await until("registrations are acknowledged", () => acknowledgedSince(sinceMs) >= count);
  };
  await served(acknowledgedMin);
  const repeatReads = await readSome(service);
  const beganMs = performance.now();
  const repair = await fault.cause({ cluster, path: service.path });
  const causedMs = performance.now();
  await served();
  await repair();
  await cluster.run("wait");
  await served(acknowledgedMin);
  await clients.stop();
  await repeatReads();

  const { accepted, lost, doubled } = await judge(service, cluster.url, attempts);
  const gapMs = longestGapMs(attempts, beganMs);
  const slowest = Math.max(...attempts.map(({ startedMs, endedMs }) => endedMs - startedMs));
  const count = (wanted: number | undefined) => attempts.filter(({ status }) => status === wanted).length;
  t.diagnostic(
    `| ${fault.name} | ${(gapMs / 1000).toFixed(1)} | ${accepted} | ${lost.length}, ${doubled.length} | slowest answer ${(slowest / 1000).toFixed(1)} s, ${count(503)} with 503, ${count(400)} with 400`,
  );
  assert.deepEqual({ lost, doubled }, { lost: [], doubled: [] });
  const unforeseen = attempts.filter(({ status }) => status === undefined || ![202, 400, 503].includes(status));
  assert.deepEqual(unforeseen, [], "every request is answered, and none with a defect");
  const meanwhile = ({ startedMs }: Attempt) => startedMs > beganMs && startedMs < causedMs - answerMsMax;
  fault.check?.(attempts.filter(meanwhile));
  assert.ok(gapMs <= gapMsMax, `no registration was acknowledged for ${gapMs} ms`);
}

test("the database's cluster loses a machine or a program, and no acknowledged registration", {
  skip: noCluster,
}, async (t) => {
  const scope = inReverse(t);
  const cluster = await startCluster(scope);
  const service = await startService(scope, cluster);
  const reader = startReader(service);
  for (const fault of faults) await t.test(fault.name, (part) => play(part, fault, service, cluster));

  await t.test("no event was passed over, and none came twice, to a reader who read on all the time", async () => {
    const all = await readAll(service);
    await until("the reader has the last event", () => reader.ids.includes(all.at(-1)!));
    await reader.stop();
    assert.deepEqual(reader.ids, all);
  });

  await t.test("no process found a commit missing", async () => {
    assert.deepEqual(await runSql(cluster.url, "SELECT note FROM alarms WHERE kind = 'commits-lost'"), []);
  });
});
