import assert from "node:assert/strict";
import { test } from "node:test";
import { drainPollQueue } from "#domains/messages/poll.ts";
import { newSessions } from "#domains/registry/sessions.ts";
import { openRegistryPool } from "#jobs/registry-pool.ts";
import { startTestGateway } from "../../../test/harness/gateway.ts";

test("the registry's messages are read although every session is busy with orders for a while", async (t) => {
  const gateway = await startTestGateway(t, {
    worker: false,
    registry: { sessionsMax: 2, transformTimeoutMs: 30_000 },
  });
  const lease = { registryId: "sandbox", epoch: 1, isHeld: () => true, heldMs: () => 0 };
  const context = { ...gateway.context, lease };
  const [profile = assert.fail()] = context.registries;
  const pool = await openRegistryPool(context, profile);
  t.after(() => pool.drain(0));
  const busy = await pool.acquire("transform", { waitMs: 5_000 });
  const read = drainPollQueue(newSessions(context, profile, pool, { drainMessages: drainPollQueue })).catch(String);
  // Others give up while it waits.
  await assert.rejects(pool.acquire("transform", { waitMs: 1_500 }), { reason: "pool-full" });
  busy.release();
  assert.equal(await read, true);
});
