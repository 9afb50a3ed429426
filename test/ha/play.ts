/** Parts of the database's cluster fail one after the other, while clients register names. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { migrate } from "#db/migrate.ts";
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
/** After 2 s without an answer of the database, a process gives its connections up. */
export const answerMsMax = 3_000;
/** Acknowledged registrations before a fault, and after it. */
const acknowledgedMin = 12;
const repeatedReads = 5;

interface Stage {
  cluster: Cluster;
  /** Between the processes and HAProxy. */
  path: DatabaseProxy;
}

export interface Fault {
  name: string;
  /** How long nothing can bring the service back; the bound is what it takes from then on. Default 0. */
  lastsMs?: number;
  /** Resolves when the service should come back by itself. @returns what repairs the machine, when it has */
  cause(stage: Stage): Promise<() => Promise<unknown>>;
  /** What is special about the answers meanwhile. @param attempts those that began while the fault lasted, and had time to end then */
  check?(attempts: readonly Attempt[]): void;
}

/** What uses another part is closed before it. */
function inReverse(t: TestContext): Scope {
  const closers: (() => unknown)[] = [];
  t.after(async () => {
    for (const close of closers.reverse()) await close();
  });
  return { after: (close) => void closers.push(close) };
}

/** One part, which closes its own parts in the order in which it names them. */
function inOrder(scope: Scope): Scope {
  const closers: (() => unknown)[] = [];
  scope.after(async () => {
    for (const close of closers) await close();
  });
  return { after: (close) => void closers.push(close) };
}

async function startService(scope: Scope, cluster: Cluster): Promise<Service & { path: DatabaseProxy }> {
  await migrate(cluster.url);
  const path = await startDatabaseProxy(cluster.url);
  scope.after(() => path.close());
  const workers = await startWithWorkers(inOrder(scope), {
    databaseUrl: cluster.url,
    profile: { transformTimeoutMs: 5_000 },
  });
  const { gateway } = workers;
  const environment = { DEEDHOUSE_DATABASE_SYNCHRONOUS: "1", DEEDHOUSE_NONCES: "database" };
  await workers.start({ databaseUrl: path.url, environment });
  const startApi = () => startApiProcess(scope, gateway, path.url, environment);
  return { gateway, apis: [await startApi(), await startApi()], reseller: await gateway.addReseller(), path };
}

/** Signed reads that were answered. @returns what sends the same bytes to each api again, which must refuse them */
async function readSome(service: Service): Promise<() => Promise<void>> {
  const call = { method: "GET", target: "/domains" };
  const { clock } = service.gateway.context;
  const used = Array.from({ length: repeatedReads }, () => authorize({ ...call, key: service.reseller.key, clock }));
  for (const authorization of used) {
    assert.equal((await tryToSend(service, call.method, call.target, { authorization }))?.status, 200);
  }
  return async () => {
    for (const authorization of used) {
      for (const _ of service.apis) {
        const again = await tryToSend(service, call.method, call.target, { authorization });
        assertError(again!, "authorization_nonce_reused");
      }
    }
  };
}

async function play(
  t: TestContext,
  fault: Fault,
  prefix: string,
  service: Service & { path: DatabaseProxy },
  cluster: Cluster,
) {
  const clients = startClients(service, prefix);
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
  for (const { url } of service.apis) {
    await until("each api serves again", async () => (await fetch(`${url}/readyz`)).status === 200);
  }
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
  assert.ok(gapMs <= gapMsMax + (fault.lastsMs ?? 0), `no registration was acknowledged for ${gapMs} ms`);
}

/** Plays them in this order. The file has five minutes for them. */
export function testFaults(title: string, faults: readonly Fault[]): void {
  test(title, { skip: noCluster }, async (t) => {
    const scope = inReverse(t);
    const cluster = await startCluster(scope);
    const service = await startService(scope, cluster);
    const reader = startReader(service);
    scope.after(() => reader.stop());
    for (const fault of faults)
      await t.test(fault.name, (part) => play(part, fault, `f${faults.indexOf(fault)}`, service, cluster));

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
}
