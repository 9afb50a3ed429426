import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { takeLease } from "#jobs/registry-lease.ts";
import { type Clock, sleep, systemClock } from "#lib/clock.ts";
import { connectForLocks, createLockClient } from "#locks/lock-connection.ts";
import { testDatabase } from "../../test/harness/database.ts";
import { startDatabaseProxy } from "../../test/harness/database-proxy.ts";
import { runSql } from "../../test/harness/sql.ts";

async function connect(t: TestContext, url: string) {
  const client = createLockClient(url, "deedhouse-test");
  client.on("error", () => {});
  await connectForLocks(client);
  t.after(() => client.connection.stream.destroy());
  return client;
}

/** The real clock; a test advances its two times separately. */
function createSplitClock() {
  const ahead = { wallMs: 0, monotonicMs: 0 };
  const clock: Clock = {
    now: () => new Date(systemClock.now().getTime() + ahead.wallMs),
    monotonicMs: () => systemClock.monotonicMs() + ahead.monotonicMs,
  };
  return { clock, ahead };
}

for (const time of ["wallMs", "monotonicMs"] as const) {
  test(`a lease that is not renewed ends for its holder before it expires for others, by ${time} alone`, async (t) => {
    const { url } = await testDatabase(t);
    const { clock, ahead } = createSplitClock();
    const lease = await takeLease(await connect(t, url), "nic", clock);
    assert.ok(lease);
    assert.ok(lease.isHeld());
    ahead[time] += 7_000;
    assert.equal(lease.isHeld(), false);
    assert.ok(lease.lost.aborted);
    ahead[time] = 0;
    assert.equal(lease.isHeld(), false, "what is lost stays lost");
    const others = "SELECT FROM registry_leases WHERE expires_at > now()";
    assert.equal((await runSql(url, others)).length, 1, "the database still counts");
  });
}

test("a lease is renewed until another owner takes it, with the next epoch", async (t) => {
  const { url } = await testDatabase(t);
  const first = await takeLease(await connect(t, url), "nic");
  assert.ok(first);
  const keeping = first.keep(new AbortController().signal);
  const second = await takeLease(await connect(t, url), "nic");
  assert.deepEqual([first.epoch, second?.epoch], [1, 2]);
  assert.ok(second && second.predecessorMs > 0, "the first one may still record answers");
  await keeping;
  assert.equal(first.isHeld(), false);
  assert.ok(second.isHeld());
});

test("a renewal that took longer than the time until the next one is followed by it at once, without a warning", async (t) => {
  const warned: string[] = [];
  const note = ({ name }: Error) => void warned.push(name);
  process.on("warning", note);
  t.after(() => process.off("warning", note));
  const { url } = await testDatabase(t);
  const { clock, ahead } = createSplitClock();
  const lease = await takeLease(await connect(t, url), "nic", clock);
  assert.ok(lease);
  const expiry = "SELECT expires_at::text AS at FROM registry_leases";
  const [before] = await runSql<{ at: string }>(url, expiry);
  ahead.monotonicMs += 5_000;
  const ended = new AbortController();
  const keeping = lease.keep(ended.signal);
  while ((await runSql<{ at: string }>(url, expiry))[0]!.at === before!.at) await sleep(20);
  ended.abort();
  await keeping;
  assert.ok(lease.isHeld());
  assert.deepEqual(warned, []);
});

test("a holder whose database does not answer loses its lease, which expires in the database", async (t) => {
  const { url } = await testDatabase(t);
  const proxy = await startDatabaseProxy(url);
  t.after(() => proxy.close());
  const lease = await takeLease(await connect(t, proxy.url), "nic");
  proxy.silence();
  await lease?.keep(new AbortController().signal);
  assert.equal(lease?.isHeld(), false);
  const left = "SELECT extract(epoch FROM expires_at - now())::float8 AS seconds FROM registry_leases";
  const [row] = await runSql<{ seconds: number }>(url, left);
  assert.ok(row && row.seconds < 10);
});

test("a released lease is free at once; a yielded one is reserved for the worker it was yielded to", async (t) => {
  const { url } = await testDatabase(t);
  const [one, other] = [await connect(t, url), await connect(t, url)];
  const lease = await takeLease(one, "nic");
  const { rows } = await other.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  await runSql(url, "UPDATE registry_leases SET yielded_at = now(), yielded_to = $1", [rows[0]?.pid]);
  await lease?.release();
  assert.equal((await runSql(url, "SELECT FROM registry_leases WHERE expires_at > now()")).length, 0);
  assert.equal(await takeLease(one, "nic"), undefined);
  assert.equal((await takeLease(other, "nic"))?.epoch, 2);
});

test("after a failover, the holder of the lock waits until the lease from before has expired", async (t) => {
  const { url } = await testDatabase(t);
  const before = await takeLease(await connect(t, url), "nic");
  // This is what a promoted standby has: the row, and no lock.
  const [row] = await runSql<{ expires_at: Date }>(
    url,
    "UPDATE registry_leases SET timeline = 'FFFFFFFF', expires_at = clock_timestamp() + interval '1500 ms' RETURNING expires_at",
  );
  const after = await takeLease(await connect(t, url), "nic");
  const [taken] = await runSql<{ since: Date }>(url, "SELECT since FROM registry_leases");
  assert.ok(taken!.since >= row!.expires_at, `taken at ${taken!.since}, expired at ${row!.expires_at}`);
  assert.ok(after!.epoch > before!.epoch + 1, "no epoch of the old primary that the standby lacks is given to another");
  assert.equal(after!.predecessorMs, 0);
  const again = await takeLease(await connect(t, url), "nic");
  assert.equal(again!.epoch, after!.epoch + 1, "on one timeline the lock says that the owner has ended");
});
