import assert from "node:assert/strict";
import { test } from "node:test";
import { createListener } from "#db/listener.ts";
import { waitForNotification } from "#db/wait.ts";
import { systemClock } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { testDatabase } from "../../test/harness/database.ts";
import { runSql } from "../../test/harness/sql.ts";

const waitMs = 60_000;
const timersRunning = () => process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length;

test("a wait ends with its notification, and leaves no timer that would keep a process running", async (t) => {
  const { url } = await testDatabase(t);
  const listener = createListener({ url, clock: systemClock, log: createLog("test", "silent"), heartbeatMs: waitMs });
  try {
    let value = 0;
    let reads = 0;
    const before = timersRunning();
    const waited = waitForNotification({ listener }, "thing_changed", "this one", {
      read: async () => {
        reads += 1;
        return value;
      },
      isAwaited: (now) => now === 2,
      waitMs,
      signal: new AbortController().signal,
    });
    for (const change of [1, 2]) {
      value = change;
      // The first notification may come before the connection listens; connecting counts as a missed notification.
      await runSql(url, "SELECT pg_notify('thing_changed', 'another one'), pg_notify('thing_changed', 'this one')");
    }
    assert.equal(await waited, 2);
    assert.ok(reads >= 2);
    assert.ok(timersRunning() <= before + 1, "only the listener's heartbeat may be waiting");
  } finally {
    await listener.close();
  }
});

test("a wait whose notification is lost reads again by itself", async (t) => {
  const { url } = await testDatabase(t);
  const listener = createListener({ url, clock: systemClock, log: createLog("test", "silent"), heartbeatMs: waitMs });
  try {
    await listener.listening();
    let reads = 0;
    // The first connection and the new channel count as missed notifications.
    const readsWithoutPoll = 3;
    const last = await waitForNotification({ listener }, "thing_changed", "this one", {
      read: async () => ++reads,
      isAwaited: (read) => read > readsWithoutPoll + 1,
      waitMs,
      signal: new AbortController().signal,
    });
    assert.equal(last, readsWithoutPoll + 2);
  } finally {
    await listener.close();
  }
});
