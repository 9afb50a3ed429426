import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import { waitAtMost } from "#lib/clock.ts";
import { connectForLocks, createLockClient, pingUntilLost } from "#locks/lock-connection.ts";
import { testDatabase } from "../../test/harness/database.ts";
import { startDatabaseProxy } from "../../test/harness/database-proxy.ts";

const patienceMs = 10_000;

test("both ends check a connection that holds locks, and it is given up when it stops answering", async (t) => {
  const { url } = await testDatabase(t);
  const proxy = await startDatabaseProxy(url);
  t.after(() => proxy.close());
  const client = createLockClient(proxy.url, "deedhouse-test");
  client.on("error", () => {});
  await connectForLocks(client);
  t.after(() => client.connection.stream.destroy());
  const { rows } = await client.query("SELECT current_setting('tcp_keepalives_idle')::int AS idle_seconds");
  assert.deepEqual(rows, [{ idle_seconds: 5 }]);
  const forgotten = proxy.holdNextCommitAnswer("SELECT 1");
  await Promise.all([forgotten, pingUntilLost(client, new AbortController().signal, 20)]);
});

test("a connection that is ended while PostgreSQL has not welcomed it yet keeps nobody waiting", async (t) => {
  const silent = createServer((socket) => {
    socket.on("error", () => {});
    socket.resume();
  });
  await once(silent.listen(0, "127.0.0.1"), "listening");
  t.after(() => silent.close());
  const { port } = silent.address() as AddressInfo;
  const client = createLockClient(`postgres://deedhouse@127.0.0.1:${port}/deedhouse`, "deedhouse-test");
  client.on("error", () => {});
  let reason: unknown;
  const connecting = connectForLocks(client).catch((error: unknown) => {
    reason = error;
  });
  await once(silent, "connection");
  await client.end();
  // A promise that stays pending would end the process, and the test with it, without a word.
  await waitAtMost(patienceMs, connecting);
  assert.match(String(reason), /ended while it was opened/);
});
