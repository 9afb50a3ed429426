/** A synchronous standby goes away for longer than three times what a client waits for a commit, and comes back. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { migrate } from "#db/migrate.ts";
import { startApiProcess } from "../harness/api-process.ts";
import { startTestGateway, type TestReseller } from "../harness/gateway.ts";
import { sendSigned } from "../harness/signed-request.ts";
import { countWaitingForStandby, runSql, watchSessions } from "../harness/sql.ts";
import { type OwnServer, startOwnServer, startStandby } from "../harness/standby.ts";
import { startTcpRelay } from "../harness/tcp-relay.ts";
import { until } from "../orders/judge.ts";

/** More than the api has connections: rows of one reseller wait for each other. */
const resellersCount = 24;
/** Each takes three seconds or more. */
const refusalsMin = 10;
/** Ten for transactions, two for reads and one for notifications (docs/operating.md). */
const apiSessionsMax = 13;
/** The same of a test gateway. */
const gatewaySessionsMax = 8;

async function setStandbys(server: OwnServer, names: string): Promise<void> {
  await runSql(server.url, `ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
  await runSql(server.url, "SELECT pg_reload_conf()");
}

const synchronous = "SELECT FROM pg_stat_replication WHERE sync_state = 'sync'";

async function start(t: TestContext) {
  const primary = await startOwnServer(t);
  await migrate(primary.url);
  const network = await startTcpRelay({
    target: () => ({ host: "127.0.0.1", port: primary.port }),
    carry: (client, upstream) => void client.pipe(upstream).pipe(client),
  });
  t.after(() => network.close());
  await startStandby(t, primary, network.port);
  const gateway = await startTestGateway(t, { databaseUrl: primary.url });
  const api = await startApiProcess(t, gateway, primary.url);
  const resellers: TestReseller[] = [];
  while (resellers.length < resellersCount) resellers.push(await gateway.addReseller());
  const pack = await gateway.addPack();
  await setStandbys(primary, "*");
  await until("the standby is synchronous", async () => (await runSql(primary.url, synchronous)).length === 1);
  const send = (reseller: TestReseller, method: string, target: string, body?: object) =>
    sendSigned({ url: api.url, key: reseller.key, clock: gateway.context.clock, method, target, body });
  let accounts = 0;
  return {
    primary,
    network,
    gateway,
    resellers,
    /** Orders an account, and reads. @returns the status of the order */
    async work(reseller: TestReseller): Promise<number> {
      accounts += 1;
      const account = { servicepack_id: pack, identifier: `site-${accounts}.example`, password: "three blind mice 7" };
      const [ordered, read] = await Promise.all([
        send(reseller, "POST", "/hostingaccounts", account),
        send(reseller, "GET", "/hostingaccounts"),
      ]);
      assert.equal(read.status, 200, read.text);
      return ordered.status;
    },
    async register(name: string): Promise<string | undefined> {
      const { status, headers } = await send(resellers[0]!, "POST", "/domains/registrations", { domain_name: name });
      return status === 202 ? headers.location : undefined;
    },
  };
}

test("without a standby writes are 503 and reads are served, with no more sessions than the pools have, and it heals", async (t) => {
  const { primary, network, gateway, resellers, work, register } = await start(t);
  assert.deepEqual([...new Set(await Promise.all(resellers.map(work)))], [202]);
  const endWatch = watchSessions(primary.url);
  network.cut();

  const statuses = await Promise.all(
    resellers.map(async (reseller) => {
      const taken: number[] = [];
      while (taken.length < refusalsMin) taken.push(await work(reseller));
      return taken;
    }),
  );
  assert.deepEqual([...new Set(statuses.flat())], [503]);
  const most = await endWatch();
  t.diagnostic([...most].map(([name, sessions]) => `${name}: ${sessions}`).join(", "));
  assert.ok((await countWaitingForStandby(primary.url)) > 0);
  assert.ok(most.get("deedhouse-api")! <= apiSessionsMax);
  assert.ok(most.get("deedhouse-test")! <= gatewaySessionsMax);

  network.join();
  for (const reseller of resellers) await until("it is served again", async () => (await work(reseller)) === 202);
  let location: string | undefined;
  await until("a name is taken again", async () => {
    location = await register("back.example");
    return location !== undefined;
  });
  assert.equal((await gateway.settled(resellers[0]!, location!)).status, "Finished");
  await until("nothing waits", async () => (await countWaitingForStandby(primary.url)) === 0);
});

test("a cluster that goes on without a standby serves everything", async (t) => {
  const { primary, network, gateway, resellers, work, register } = await start(t);
  network.cut();
  // What Patroni does with synchronous_mode_strict: false.
  await setStandbys(primary, "");
  for (const reseller of resellers) await until("it is served", async () => (await work(reseller)) === 202);
  const location = await register("alone.example");
  assert.equal((await gateway.settled(resellers[0]!, location!)).status, "Finished");
});
