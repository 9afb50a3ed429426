/**
 * The disk of PostgreSQL's write-ahead log alone fills up, because a slot keeps the log for a standby that is gone. PostgreSQL ends, and
 * its supervisor starts it again.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { migrate } from "#db/migrate.ts";
import { sleep } from "#lib/clock.ts";
import { type ApiProcess, startApiProcess } from "../harness/api-process.ts";
import { startTestGateway, type TestGateway, type TestReseller } from "../harness/gateway.ts";
import { sendSigned } from "../harness/signed-request.ts";
import { cannotMount, type SmallDisk, smallDisk } from "../harness/small-disk.ts";
import { runSql, watchSessions } from "../harness/sql.ts";
import { type OwnServer, startOwnServer } from "../harness/standby.ts";
import { startTcpRelay } from "../harness/tcp-relay.ts";
import { until } from "../orders/judge.ts";

/** Eight segments of the log. */
const diskBytes = 128 * 1024 * 1024;
/** More than the api has connections. */
const resellersCount = 16;
const refusalsMin = 10;
/** Ten for transactions, two for reads and one for notifications (docs/operating.md). */
const apiSessionsMax = 13;
/** The same of a test gateway. */
const gatewaySessionsMax = 8;
const restartPauseMs = 200;

interface Supervised {
  disk: SmallDisk;
  /** Leads to the server that runs. */
  url: string;
  /** What the server has logged. */
  log(): Promise<string>;
}

/** A server that is started again whenever it ends, with its log on a disk of its own. */
async function startSupervised(t: TestContext): Promise<Supervised> {
  const ended = new AbortController();
  let server: OwnServer;
  let disk: SmallDisk | undefined;
  let supervising = Promise.resolve();
  // Before the hooks of each server, which remove its folder.
  t.after(async () => {
    ended.abort();
    disk?.free();
    await server.stop();
    await supervising;
  });
  server = await startOwnServer(t);
  const { dataDir } = server;
  await migrate(server.url);
  await runSql(server.url, "SELECT pg_create_physical_replication_slot('gone', true)");
  await server.stop();
  disk = smallDisk(t, diskBytes);
  const wal = join(dataDir, "cluster", "pg_wal");
  await promisify(execFile)("mv", [wal, disk.folder]);
  await symlink(join(disk.folder, "pg_wal"), wal);
  server = await startOwnServer(t, {}, dataDir);
  supervising = (async () => {
    while (!ended.signal.aborted) {
      await server.exited;
      await sleep(restartPauseMs, ended.signal);
      if (ended.signal.aborted) return;
      // It cannot start while there is no room at all.
      server = await startOwnServer(t, {}, dataDir).catch(() => server);
    }
  })();
  const network = await startTcpRelay({
    target: () => ({ host: "127.0.0.1", port: server.port }),
    carry: (client, upstream) => void client.pipe(upstream).pipe(client),
  });
  t.after(() => network.close());
  const url = new URL(server.url);
  url.port = String(network.port);
  return { disk, url: url.href, log: () => readFile(join(dataDir, "postgres.log"), "utf8") };
}

/** Each orders accounts and reads its list, one after the other. */
function startClients(api: ApiProcess, gateway: TestGateway, resellers: TestReseller[], servicepack_id: string) {
  const stopped = new AbortController();
  const counts = new Map<string, number>();
  const accepted: string[] = [];
  const send = async (reseller: TestReseller, method: string, target: string, body?: object) => {
    const { clock } = gateway.context;
    const { status } = await sendSigned({ url: api.url, key: reseller.key, clock, method, target, body });
    const answer = `${method} ${status}`;
    counts.set(answer, (counts.get(answer) ?? 0) + 1);
    return status;
  };
  const working = resellers.map(async (reseller, number) => {
    for (let turn = 0; !stopped.signal.aborted; turn++) {
      const identifier = `site-${turn}-of-${number}.example`;
      const account = { servicepack_id, identifier, password: "three blind mice 7" };
      if ((await send(reseller, "POST", "/hostingaccounts", account)) === 202) accepted.push(identifier);
      await send(reseller, "GET", "/hostingaccounts");
    }
  });
  return {
    accepted,
    counts,
    async stop() {
      stopped.abort();
      await Promise.all(working);
    },
  };
}

test("while the disk of the log is full, requests are 503 with no more sessions than the pools have, and it heals", {
  skip: cannotMount,
}, async (t) => {
  const { disk, url, log } = await startSupervised(t);
  const gateway = await startTestGateway(t, { databaseUrl: url });
  const api = await startApiProcess(t, gateway, url);
  const resellers: TestReseller[] = [];
  while (resellers.length < resellersCount) resellers.push(await gateway.addReseller({ rateLimit: 1_000_000 }));
  const clients = startClients(api, gateway, resellers, await gateway.addPack());
  t.after(() => clients.stop());
  const seen = (answer: string, count: number) => (clients.counts.get(answer) ?? 0) >= count;
  await until("orders are accepted", () => seen("POST 202", resellersCount));
  // Refusals of a busy machine during the start say nothing about disks.
  clients.counts.clear();
  const endWatch = watchSessions(url);

  disk.fill();
  await until("PostgreSQL finds the disk full", async () => {
    await runSql(url, "SELECT pg_switch_wal()").catch(() => {});
    return /could not .*pg_wal.*No space left on device/.test(await log());
  });
  await until("orders are refused", () => seen("POST 503", refusalsMin));
  disk.free();
  clients.counts.delete("POST 202");
  await until("orders are accepted again", () => seen("POST 202", resellersCount));
  await clients.stop();

  const most = await endWatch();
  t.diagnostic([...clients.counts, ...most].map(([what, count]) => `${what}: ${count}`).join(", "));
  const answers = [...clients.counts.keys()].filter((answer) => !/^(GET 200|POST 202|(GET|POST) 503)$/.test(answer));
  assert.deepEqual(answers, []);
  assert.ok(most.get("deedhouse-api")! <= apiSessionsMax);
  assert.ok(most.get("deedhouse-test")! <= gatewaySessionsMax);
  const rows = await runSql<{ identifier: string }>(url, "SELECT identifier FROM hosting_accounts");
  const kept = new Set(rows.map(({ identifier }) => identifier));
  assert.deepEqual(
    clients.accepted.filter((identifier) => !kept.has(identifier)),
    [],
  );
  const ordered = await gateway.send(resellers[0]!, "POST", "/domains/registrations", {
    body: { domain_name: "back.example" },
  });
  assert.equal(ordered.status, 202, ordered.text);
  assert.equal((await gateway.settled(resellers[0]!, ordered.headers.location!)).status, "Finished");
});
