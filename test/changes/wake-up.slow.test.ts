/** An order that has waited for another one about its name goes on when that one ends, at whichever moment it was placed. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Pool } from "pg";
import { sleep } from "#lib/clock.ts";
import { change, order, received, type Stage, startStage } from "./stage.ts";

/** A lost wake-up showed in 3 of 1,000. `PAIRS=1000` plays as many, which takes minutes on two busy cores. */
const pairs = Number(process.env.PAIRS ?? 400);
const namesAtOnce = 10;
/** About as long as an order takes from its command to its end. */
const delayMsMax = 30;

const ds = (digit: string) => ({ ds: [{ key_tag: 1, algorithm: 13, digest_type: 2, digest: digit.repeat(64) }] });

/** An order that nothing will wake: it waits, and there is no other one about its name. */
const stalled = `SELECT id FROM orders AS waiting WHERE domain_name = $1 AND ended_at IS NULL
  AND next_step_at > now() + interval '5 s'
  AND NOT EXISTS (SELECT FROM orders WHERE domain_name = $1 AND ended_at IS NULL AND id <> waiting.id)`;

const open = "SELECT FROM orders WHERE domain_name = $1 AND ended_at IS NULL";

async function untilEnded({ signal }: TestContext, database: Pool, name: string): Promise<number> {
  let stalls = 0;
  while ((await database.query(open, [name])).rows.length > 0) {
    for (const { id } of (await database.query(stalled, [name])).rows) {
      stalls += 1;
      await database.query("UPDATE orders SET next_step_at = now() WHERE id = $1", [id]);
    }
    signal.throwIfAborted();
    await sleep(5);
  }
  return stalls;
}

interface Playing {
  stage: Stage;
  database: Pool;
}

/** Two orders, of which the second one is placed at about the moment at which the first one ends. */
async function playPair(t: TestContext, { stage, database }: Playing, name: string, number: number): Promise<number> {
  const sent = received(stage, name, "domain:update").length;
  await order(stage, "PUT", `/domains/${name}/transfer-lock`, { transfer_locked: number % 2 === 0 });
  while (received(stage, name, "domain:update").length === sent) {
    t.signal.throwIfAborted();
    await sleep(1);
  }
  await sleep((number * 7) % delayMsMax);
  await order(stage, "PUT", `/domains/${name}/dnssec`, ds(number % 2 === 0 ? "A" : "B"));
  return untilEnded(t, database, name);
}

test(`of ${pairs} orders placed while the one before ends, none waits for nothing`, async (t) => {
  const names = Array.from({ length: namesAtOnce }, (_, index) => `woken-${index}.example`);
  const stage = await startStage(t, names, {
    registry: { sessionsMax: 2 * namesAtOnce },
    sandbox: { sessionsMax: 1_000 },
  });
  for (const name of names) await change(stage, "PUT", `/domains/${name}/transfer-lock`, { transfer_locked: false });
  const database = new Pool({ connectionString: stage.gateway.databaseUrl, max: namesAtOnce });
  // The database goes before this pool does.
  database.on("error", () => {});
  t.after(() => database.end());
  let stalls = 0;
  await Promise.all(
    names.map(async (name) => {
      for (let number = 0; number < pairs / namesAtOnce; number++) {
        stalls += await playPair(t, { stage, database }, name, number);
      }
    }),
  );
  t.diagnostic(`${pairs} pairs, ${stalls} of the second ones were not woken`);
  assert.equal(stalls, 0);
});
