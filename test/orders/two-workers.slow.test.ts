import assert from "node:assert/strict";
import { test } from "node:test";
import { endSessions, runSql } from "../harness/sql.ts";
import { assertEnds, creates, place, until } from "./judge.ts";
import { cancel } from "./operate.ts";
import { startWithWorkers } from "./worker-process.ts";

const ordersAtOnce = 12;
const validLeases = "SELECT FROM registry_leases WHERE expires_at > now()";

test("a registry has one owner at a time, and killing it loses no order and repeats no create", async (t) => {
  const { gateway, start } = await startWithWorkers(t);
  const untilOwned = () =>
    until("one owns it", async () => (await runSql(gateway.databaseUrl, validLeases)).length === 1);
  const first = await start();
  await untilOwned();
  await start();
  const reseller = await gateway.addReseller();
  const logins = () =>
    new Set(gateway.registry.store.journal.entries({ command: "login" }).map(({ connection }) => connection)).size;
  const orders = await Promise.all(
    Array.from({ length: ordersAtOnce }, (_, index) =>
      // Some orders are in each step when the owner is killed.
      place(gateway, reseller, `${index % 3 === 0 ? "slow-150-" : ""}two-${index}.example`),
    ),
  );
  assert.ok(logins() <= 4, "the second worker opened sessions beside the owner's");
  await until("some creates were executed", () => orders.some(({ name }) => creates(gateway, name).length > 0));
  await first.kill();
  await untilOwned();
  await Promise.all(orders.map((order) => assertEnds(gateway, reseller, order, "Finished")));
});

test("a worker that is stopped hands its orders over without loss", async (t) => {
  const { gateway, start } = await startWithWorkers(t, { sandbox: { lateMs: 200 } });
  const first = await start();
  const reseller = await gateway.addReseller();
  const order = await place(gateway, reseller, "late-stopped.example");
  await until("the create is executed", () => creates(gateway, order.name).length > 0);
  await first.stop();
  const settled = await runSql<{ status: string }>(gateway.databaseUrl, "SELECT status FROM orders");
  assert.deepEqual(settled, [{ status: "Finished" }], "it did not wait for the answer to its command");
  const refused = gateway.send(reseller, "POST", "/domains/registrations", { body: { domain_name: "no.example" } });
  assert.equal((await refused).status, 503, "without an owner nothing is accepted");
  await start();
  await assertEnds(gateway, reseller, order, "Finished");
});

test("a delete whose worker was killed may still be executed: nothing is believed or sent before the settle time is over", async (t) => {
  // The settle time is a minute.
  const { gateway, start } = await startWithWorkers(t, { profile: { transformTimeoutMs: 30_000 } });
  const [first, reseller] = [await start(), await gateway.addReseller()];
  const name = "deleted.example";
  const [created, deleted] = [
    gateway.registry.hold({ command: "domain:create", name, at: "before-answer" }),
    gateway.registry.hold({ command: "domain:delete", name, at: "before-execution", times: 1 }),
  ];
  const order = await place(gateway, reseller, name);
  await created.reached(1);
  assert.notEqual(await cancel(gateway, order.code), "Cancelled");
  created.release();
  await deleted.reached(1);
  await first.kill();
  await start();
  const since = `SELECT event FROM order_history WHERE id > (
    SELECT id FROM order_history WHERE event = 'held-unwanted') ORDER BY id`;
  await until("the successor has looked", async () => (await runSql(gateway.databaseUrl, since)).length > 0);
  const [next] = await runSql<{ event: string }>(gateway.databaseUrl, since);
  assert.equal(next?.event, "unanswered");
  const sent = "SELECT answered_at FROM attempts WHERE command = 'domain:delete'";
  assert.deepEqual(await runSql(gateway.databaseUrl, sent), [{ answered_at: null }]);
});

test("an owner that has lost its lock sends nothing new, because it may have a successor", async (t) => {
  // There is one session for creates, and no order gives up waiting for it.
  const { gateway, start } = await startWithWorkers(t, { profile: { sessionsMax: 2, transformTimeoutMs: 120_000 } });
  const { databaseUrl, registry } = gateway;
  await start();
  const reseller = await gateway.addReseller();
  await assertEnds(gateway, reseller, await place(gateway, reseller, "first.example"), "Finished");
  await start();
  const hold = registry.hold({ command: "domain:create", name: "sent.example", at: "before-answer" });
  const sent = await place(gateway, reseller, "sent.example");
  await hold.reached(1);
  const waiting = await place(gateway, reseller, "waiting.example");
  const attempts = `SELECT answered_at FROM attempts JOIN orders AS o ON o.id = order_id
    WHERE domain_name = 'waiting.example'`;
  const attempt = async () => (await runSql<{ answered_at: string | null }>(databaseUrl, attempts))[0];
  await until("the next waits for the session", async () => (await attempt()) !== undefined);
  const ofFirst = new Set(registry.store.journal.entries({ command: "login" }).map(({ connection }) => connection));
  // The connection that waits for the registry's lock is not idle.
  await endSessions(databaseUrl, "deedhouse-lease-sandbox", "idle");
  await until("the next gives up", async () => (await attempt())?.answered_at !== null);
  hold.release();
  // The first one waits for its answer as long as its lease would have lasted; then the second one waits until it may ask.
  const known = `SELECT FROM order_history JOIN orders AS o ON o.id = order_id
    WHERE domain_name = 'sent.example' AND event IN ('created', 'unanswered')`;
  await until("the answer is written, or lost", async () => (await runSql(databaseUrl, known)).length > 0);
  assert.equal(creates(gateway, sent.name).length, 1);
  await assertEnds(gateway, reseller, await place(gateway, reseller, "successors.example"), "Finished");
  await assertEnds(gateway, reseller, waiting, "Finished");
  const [create, ...others] = creates(gateway, waiting.name);
  assert.ok(create && !ofFirst.has(create.connection), "the first one sent it");
  assert.deepEqual(others, []);
});
