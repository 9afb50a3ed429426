import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { compareNames } from "#domains/compare/compare-names.ts";
import { newSessions } from "#domains/registry/sessions.ts";
import { openRegistryPool } from "#jobs/registry-pool.ts";
import { domainCheck } from "#registry/epp/commands/domain/check.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { createManualClock } from "../harness/manual-clock.ts";
import { runSql } from "../harness/sql.ts";
import { until } from "../orders/judge.ts";
import { giveNames } from "../renewals/stage.ts";

const dayMs = 24 * 60 * 60_000;
const commandsPerSecond = 1_000;
/** A tenth of that. */
const looksPerSecond = 100;
const secondMs = 1_000;

/** A run of the chore whose rate a test's clock steers. */
async function startRun(t: TestContext, namesCount: number) {
  const gateway = await startTestGateway(t, { worker: false, registry: { commandsPerSecond, sessionsMax: 4 } });
  const reseller = await gateway.addReseller();
  const expirationDate = new Date(gateway.context.clock.now().getTime() + 300 * dayMs);
  const names = Array.from(
    { length: namesCount },
    (_, index) => [`name-${index}.example`, { expirationDate }] as const,
  );
  await giveNames(gateway, reseller, new Map(names));
  await runSql(gateway.databaseUrl, "UPDATE domains SET looked_at = NULL");
  await runSql(
    gateway.databaseUrl,
    `INSERT INTO registry_leases (registry_id, epoch, holder, since, expires_at, lock_pid, lock_started_at)
     VALUES ('sandbox', 1, 'test', now(), now() + interval '1 hour', 1, now())`,
  );
  const lease = { registryId: "sandbox", epoch: 1, isHeld: () => true, heldMs: () => 0 };
  const context = { ...gateway.context, lease };
  const [profile = assert.fail()] = context.registries;
  const pool = await openRegistryPool(context, profile);
  t.after(() => pool.drain(0));
  const clock = createManualClock(0);
  const sessions = newSessions(context, profile, pool, { drainMessages: async () => true, lookClock: clock });
  const stop = new AbortController();
  t.after(() => stop.abort());
  return {
    gateway,
    clock,
    sessions,
    run: () => compareNames(sessions, 0, stop.signal),
    looks: () => gateway.registry.store.journal.entries({ command: "domain:info", direction: "in" }).length,
  };
}

test("a night's looks at 500 names take a tenth of the registry's rate, and no name is left out", async (t) => {
  const namesCount = 500;
  const { gateway, clock, sessions, run, looks } = await startRun(t, namesCount);
  const running = run();
  for (let allowed = looksPerSecond; allowed < namesCount; allowed += looksPerSecond) {
    await until(`${allowed} names are looked at`, () => looks() >= allowed);
    // Time enough for more of them.
    for (let round = 0; round < 5; round++) await runSql(gateway.databaseUrl, "SELECT 1");
    assert.equal(looks(), allowed);
    clock.advance(secondMs);
  }
  await running;
  assert.equal(looks(), namesCount);
  assert.equal(sessions.names.size, 0, "nothing of a name stays in memory");
  const unseen = "SELECT domain_name FROM domains WHERE shown_at IS NULL OR looked_at IS NULL";
  assert.deepEqual(await runSql(gateway.databaseUrl, unseen), []);
});

test("while sessions are busy no name is looked at, and a look that was lost ends the run", async (t) => {
  const { gateway, sessions, run, looks } = await startRun(t, 3);
  const busy = await Promise.all([1, 2].map(() => sessions.pool.acquire("transform", { waitMs: 5_000 })));
  const running = run();
  // Another session answers several commands meanwhile.
  for (let round = 0; round < 5; round++) {
    using session = await sessions.pool.acquire("check", { waitMs: 5_000 });
    await session.request(domainCheck(`other-${round}.example`), { clTRID: sessions.queryClTrid() });
  }
  assert.equal(looks(), 0);
  gateway.registry.hold({ command: "domain:info", at: "before-execution" });
  for (const session of busy) session.release();
  await running;
  const looked = "SELECT domain_name FROM domains WHERE looked_at IS NOT NULL";
  assert.equal(
    (await runSql(gateway.databaseUrl, looked)).length,
    1,
    "the next name has the first turn of the next run",
  );
});
