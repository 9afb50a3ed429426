/** A standby takes the primary's place: what the workers' ownership of a registry does then. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { migrate } from "#db/migrate.ts";
import { takeLease } from "#jobs/registry-lease.ts";
import { connectForLocks, createLockClient } from "#locks/lock-connection.ts";
import { tryOwnerLock } from "#locks/owner-lock.ts";
import { runSql } from "../harness/sql.ts";
import { failOver, startOwnServer, startStandby } from "../harness/standby.ts";

test("after a promotion, the free lock of a registry gives no lease before the one of the old primary has expired", async (t) => {
  const primary = await startOwnServer(t);
  await migrate(primary.url);
  const standby = await startStandby(t, primary);
  const connect = async (url: string) => {
    const client = createLockClient(url, "deedhouse-test");
    client.on("error", () => {});
    await connectForLocks(client);
    t.after(() => client.connection.stream.destroy());
    return client;
  };
  const owner = await takeLease(await connect(primary.url), "nic");
  await failOver(primary, standby);
  const [lease] = await runSql<{ expires_at: Date }>(standby.url, "SELECT expires_at FROM registry_leases");
  const next = await connect(standby.url);
  const { rows } = await next.query<{ is_owner: boolean }>(tryOwnerLock, ["nic"]);
  assert.equal(rows[0]?.is_owner, true, "the standby has no lock");
  const taken = await takeLease(next, "nic");
  const [row] = await runSql<{ since: Date; timeline: string }>(
    standby.url,
    "SELECT since, timeline FROM registry_leases",
  );
  assert.ok(row!.since >= lease!.expires_at);
  assert.ok(taken!.epoch > owner!.epoch + 1);
  assert.equal(row!.timeline, "00000002");
});
