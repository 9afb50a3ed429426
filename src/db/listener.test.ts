import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createListener, type Listener } from "#db/listener.ts";
import { systemClock } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { testDatabase } from "../../test/harness/database.ts";
import { endSessions, runSql } from "../../test/harness/sql.ts";

function listen(t: TestContext, url: string): Listener {
  const listener = createListener({ url, clock: systemClock, log: createLog("test", "silent"), heartbeatMs: 20 });
  t.after(() => listener.close());
  return listener;
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await nextTurn();
}

/** Resolves when a heartbeat sent after this call is answered. */
async function nextHeartbeat(listener: Listener): Promise<void> {
  const now = systemClock.monotonicMs();
  await until(() => (listener.aliveAsOf() ?? 0) >= now);
}

test("an answered heartbeat means that every notification committed before it has been delivered", async (t) => {
  const { url } = await testDatabase(t);
  const listener = listen(t, url);
  const heard: string[] = [];
  listener.on("thing", (payload) => heard.push(payload));
  await nextHeartbeat(listener);
  for (let round = 0; round < 20; round++) {
    await runSql(url, "SELECT pg_notify('thing', $1)", [String(round)]);
    await nextHeartbeat(listener);
    assert.equal(heard.at(-1), String(round));
  }
});

test("each channel has its own handlers, and a removed handler is not called", async (t) => {
  const { url } = await testDatabase(t);
  const listener = listen(t, url);
  const heard: string[] = [];
  listener.on("Quoted-Channel", (payload) => heard.push(`quoted ${payload}`));
  const remove = listener.on("thing", (payload) => heard.push(`removed ${payload}`));
  listener.on("thing", (payload) => heard.push(`kept ${payload}`));
  remove();
  await nextHeartbeat(listener);
  await runSql(url, "SELECT pg_notify('Quoted-Channel', ''), pg_notify('thing', 'a')");
  await nextHeartbeat(listener);
  assert.deepEqual(heard, ["quoted ", "kept a"]);
});

test("says when PostgreSQL listens on every channel: notifications from then on arrive", async (t) => {
  const { url } = await testDatabase(t);
  const listener = listen(t, url);
  const heard: string[] = [];
  for (const channel of ["one", "two", "three"]) {
    listener.on(channel, (payload) => heard.push(payload));
    await listener.listening();
    await runSql(url, "SELECT pg_notify($1, $1)", [channel]);
  }
  // A connection that ends takes with it what PostgreSQL has not sent yet.
  await nextHeartbeat(listener);
  await endSessions(url, "deedhouse-listener");
  await until(() => listener.aliveAsOf() === undefined);
  await listener.listening();
  await runSql(url, "SELECT pg_notify('three', 'again')");
  await nextHeartbeat(listener);
  assert.deepEqual(heard, ["one", "two", "three", "again"]);
});

test("a channel added to an open connection is announced once PostgreSQL listens on it", async (t) => {
  const { url } = await testDatabase(t);
  const listener = listen(t, url);
  await nextHeartbeat(listener);
  const heard: string[] = [];
  const announced = Promise.withResolvers<void>();
  listener.onReconnect(announced.resolve);
  listener.on("late", (payload) => heard.push(payload));
  await announced.promise;
  await runSql(url, "SELECT pg_notify('late', 'a')");
  await nextHeartbeat(listener);
  assert.deepEqual(heard, ["a"]);
});

test("when its session ends it reconnects, says so, and listens as before", async (t) => {
  const { url } = await testDatabase(t);
  const listener = listen(t, url);
  const heard: string[] = [];
  listener.on("thing", (payload) => heard.push(payload));
  await nextHeartbeat(listener);
  const vouchedDuringReconnect: (number | undefined)[] = [];
  listener.onReconnect(() => vouchedDuringReconnect.push(listener.aliveAsOf()));
  await endSessions(url, "deedhouse-listener");
  await until(() => vouchedDuringReconnect.length > 0);
  await nextHeartbeat(listener);
  assert.deepEqual(vouchedDuringReconnect, [undefined]);
  await runSql(url, "SELECT pg_notify('thing', 'after')");
  await nextHeartbeat(listener);
  assert.deepEqual(heard, ["after"]);
});

test("a connection that has gone silent does not count as alive", async (t) => {
  const { url } = await testDatabase(t);
  const wire = await proxyTo(t, url);
  const listener = listen(t, wire.url);
  await nextHeartbeat(listener);
  wire.freeze();
  const frozenAt = systemClock.monotonicMs();
  await until(() => listener.aliveAsOf() === undefined || systemClock.monotonicMs() - frozenAt > 100);
  assert.ok((listener.aliveAsOf() ?? 0) <= frozenAt);
});

test("is not alive without a database", async () => {
  const log = createLog("test", "silent");
  const listener = createListener({ url: "postgres://nobody@127.0.0.1:1/none", clock: systemClock, log });
  assert.equal(listener.aliveAsOf(), undefined);
  await listener.close();
  assert.equal(listener.aliveAsOf(), undefined);
});

/** A route to the database that can stop transmitting without closing. */
async function proxyTo(t: TestContext, target: string): Promise<{ url: string; freeze(): void }> {
  const { hostname, port } = new URL(target);
  const sockets: Socket[] = [];
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    sockets.push(near, far);
    near.pipe(far).pipe(near);
    near.on("error", () => far.destroy());
    far.on("error", () => near.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const url = new URL(target);
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    freeze: () => {
      for (const socket of sockets) socket.unpipe().pause();
    },
  };
}
