/** A standby that lacks the last commits takes the primary's place. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { migrate } from "#db/migrate.ts";
import { eventsBegin, noteRestore, readEvents } from "#events/log.ts";
import { sleep } from "#lib/clock.ts";
import { watchLostCommits } from "#watch/lost-commits.ts";
import { startApiProcess } from "../harness/api-process.ts";
import { assertError } from "../harness/assert-reply.ts";
import { noDebianPostgres, startDebianServer, startDebianStandby } from "../harness/debian-postgres.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { sendSigned } from "../harness/signed-request.ts";
import { runSql } from "../harness/sql.ts";
import { awaitStandby, promote, startOwnServer, startStandby } from "../harness/standby.ts";
import { startTcpRelay } from "../harness/tcp-relay.ts";

/** A port of which a load balancer decides where it leads. */
async function startRoute(t: TestContext, url: string) {
  const at = (to: string) => ({ host: "127.0.0.1", port: Number(new URL(to).port) });
  let target = at(url);
  const relay = await startTcpRelay({
    target: () => target,
    carry: (client, upstream) => void client.pipe(upstream).pipe(client),
  });
  t.after(() => relay.close());
  const own = new URL(url);
  own.port = String(relay.port);
  return {
    url: own.href,
    port: relay.port,
    cut: relay.cut,
    lead(to: string) {
      target = at(to);
      relay.join();
    },
  };
}

const eras = "SELECT era, (SELECT count(*)::int FROM event_eras) AS ended FROM event_log";
const alarms = "SELECT subject, note FROM alarms WHERE kind = 'commits-lost' AND resolved_at IS NULL";

/** The packaged PostgreSQL, and the oldest one, whose standby is made as operators make theirs. */
const servers = [
  { name: "PostgreSQL 18", skip: false, start: startOwnServer, startStandby },
  {
    name: "PostgreSQL 15",
    skip: noDebianPostgres,
    start: (t: TestContext) => startDebianServer(t),
    startStandby: startDebianStandby,
  },
];

async function startPair(t: TestContext, server: (typeof servers)[number]) {
  const primary = await server.start(t);
  await migrate(primary.url);
  const log = await startRoute(t, primary.url);
  const standby = await server.startStandby(t, primary, log.port);
  const route = await startRoute(t, primary.url);
  const gateway = await startTestGateway(t, { databaseUrl: route.url });
  await noteRestore(gateway.context);
  const watch = watchLostCommits(gateway.context, 1_000);
  t.after(() => watch.close());
  return { primary, standby, log, route, gateway, reseller: await gateway.addReseller() };
}

type Pair = Awaited<ReturnType<typeof startPair>>;

/** @param url of another api */
async function register({ gateway, reseller }: Pair, name: string, url = gateway.url): Promise<string> {
  const { key } = reseller;
  const { clock } = gateway.context;
  const body = { domain_name: name };
  const target = "/domains/registrations";
  const { status, headers } = await sendSigned({ url, key, clock, method: "POST", target, body });
  assert.equal(status, 202);
  await gateway.settled(reseller, headers.location!);
  return headers.location!;
}

/** Until a worker has the registry's sessions again. */
const mayFollow = ["service_unavailable", "domain_availability_lookuperror"];

const untilServed = async ({ gateway, reseller }: Pair) => {
  while ((await gateway.send(reseller, "GET", "/domains")).status !== 200) await sleep(50);
};

for (const server of servers)
  test(`${server.name}: a standby that is promoted without the last commits: they are found and named, and no reader passes over what came later`, {
    skip: server.skip,
  }, async (t) => {
    const pair = await startPair(t, server);
    const { primary, standby, log, route, gateway, reseller } = pair;
    const api = await startApiProcess(t, gateway, route.url);
    const kept = await register(pair, "kept.example");
    await awaitStandby(primary, standby);
    log.cut();
    const lost = [await register(pair, "lost.example"), await register(pair, "gone.example")];
    const read = (after = eventsBegin) =>
      readEvents(gateway.context, {
        resellerId: reseller.id,
        types: ["domain.registered", "order.finished"],
        after,
        limit: 100,
      });
    const elsewhere = await register(pair, "elsewhere.example", api.url);
    const { next: placeBefore } = await read();
    const [eraBefore] = await runSql<{ era: number; ended: number }>(primary.url, eras);

    route.cut();
    await promote(primary, standby);
    route.lead(standby.url);
    await untilServed(pair);
    const alarmOf = async (pid?: number) => {
      for (;;) {
        const rows = await runSql<{ subject: string; note: string }>(standby.url, alarms);
        const alarm = rows.find(({ subject }) => subject.includes(` ${pid} `));
        if (alarm) return alarm;
        await sleep(50);
      }
    };
    const alarm = await alarmOf(process.pid);
    assert.match(alarm.subject, /^timeline 2 of /);
    for (const location of lost) {
      const code = location.split("/").at(-1)!;
      assert.match(alarm.note, new RegExp(`accepted and lost:[^;]*${code}`));
      assert.match(alarm.note, new RegExp(`sent to a registry and lost:[^;]*${code}-1`));
      assertError(await gateway.send(reseller, "GET", location), "service_unavailable");
    }
    const ofApi = await alarmOf(api.pid);
    assert.match(ofApi.note, new RegExp(`accepted and lost: ${elsewhere.split("/").at(-1)}$`));
    assert.doesNotMatch(alarm.note, new RegExp(kept.split("/").at(-1)!));
    assert.equal((await gateway.send(reseller, "GET", kept)).status, 200);
    const [eraAfter] = await runSql<{ era: number; ended: number }>(standby.url, eras);
    assert.ok(eraAfter!.era > eraBefore!.era);
    assert.equal(eraAfter!.ended, eraBefore!.ended + 1, "two processes have found it, and it is one loss");
    assert.equal((await read(placeBefore)).gap, "ahead", "its events were lost, and their places were given to others");

    // Nothing is lost a second time, and an operator ends it.
    await sleep(2_000);
    assert.deepEqual(await runSql(standby.url, eras), [eraAfter]);
    await runSql(standby.url, "UPDATE alarms SET resolved_at = now() WHERE kind = 'commits-lost'");
    assertError(await gateway.send(reseller, "GET", lost[0]!), "order_not_found");
  });

for (const server of servers)
  test(`${server.name}: a promotion with every commit raises no alarm and begins no era, and the work goes on`, {
    skip: server.skip,
  }, async (t) => {
    const pair = await startPair(t, server);
    const { primary, standby, route } = pair;
    await register(pair, "before.example");
    const before = await runSql(primary.url, eras);
    await awaitStandby(primary, standby);
    route.cut();
    await promote(primary, standby);
    route.lead(standby.url);
    await untilServed(pair);
    const order = () =>
      pair.gateway.send(pair.reseller, "POST", "/domains/registrations", { body: { domain_name: "after.example" } });
    // Nobody can check names before the lease from before the failover has expired.
    for (;;) {
      const answer = await order();
      if (answer.status === 202) break;
      assert.ok(mayFollow.includes((answer.body as { error_code: string }).error_code), answer.text);
      await sleep(100);
    }
    await sleep(2_000);
    assert.deepEqual(await runSql(standby.url, alarms), []);
    assert.deepEqual(await runSql(standby.url, eras), before);
  });
