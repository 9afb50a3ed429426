import assert from "node:assert/strict";
import { test } from "node:test";
import { connectForLocks, createLockClient, pingUntilLost } from "#locks/lock-connection.ts";
import { testDatabase } from "../../test/harness/database.ts";
import { startDatabaseProxy } from "../../test/harness/database-proxy.ts";

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
