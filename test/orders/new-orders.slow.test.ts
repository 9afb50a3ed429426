/** An order's row is the job: even if its notification is lost, the registry's owner starts it. */
import assert from "node:assert/strict";
import { hostname } from "node:os";
import { type TestContext, test } from "node:test";
import { DatabaseUnavailable } from "#db/errors.ts";
import { sealSecret } from "#domains/kinds/registration.ts";
import { Secret } from "#lib/secret.ts";
import { startTestGateway, type TestGateway } from "../harness/gateway.ts";
import { endSessions, runSql } from "../harness/sql.ts";
import { assertEnds, creates, type PlacedOrder, place, until } from "./judge.ts";
import { startWithWorkers } from "./worker-process.ts";

const hourMs = 3_600_000;

async function start(t: TestContext, pollIntervalMs: number) {
  const gateway = await startTestGateway(t, { registry: { pollIntervalMs, backoffFirstMs: hourMs } });
  const reseller = await gateway.addReseller();
  const first = await place(gateway, reseller, "first.example");
  await assertEnds(gateway, reseller, first, "Finished");
  return { gateway, reseller, first };
}

const unheardCode = "REG-00000000-001";

/** Another order like that one, without a notification. */
async function placeUnheard({ context, databaseUrl }: TestGateway, like: PlacedOrder): Promise<void> {
  const insert = `
    INSERT INTO orders (order_code, reseller_id, domain_name, suffix, registry_id, kind, input, secret_sealed, is_urgent, status,
      created_at, updated_at)
    SELECT $2, reseller_id, 'unheard.example', suffix, registry_id, kind, input, $3, is_urgent, 'NotProvisioned', now(), now()
    FROM orders WHERE order_code = $1`;
  const authInfo = sealSecret(context.sealer, unheardCode, new Secret("of-nobody-1"), undefined);
  await runSql(databaseUrl, insert, [like.code, unheardCode, authInfo]);
}

async function untilUnheardBegins(databaseUrl: string): Promise<void> {
  const begun = "SELECT FROM attempts WHERE cl_trid = $1";
  const look = () => runSql(databaseUrl, begun, [`${unheardCode}-1`]);
  await until("the order without a notification has started", async () => (await look()).length > 0);
}

test("an order whose notification was lost is found", async (t) => {
  const { gateway, first } = await start(t, 50);
  await placeUnheard(gateway, first);
  await untilUnheardBegins(gateway.databaseUrl);
});

test("an order that was placed while the owner did not listen is started as soon as it does", async (t) => {
  const { gateway, first } = await start(t, hourMs);
  await placeUnheard(gateway, first);
  await endSessions(gateway.databaseUrl, "deedhouse-listener");
  await untilUnheardBegins(gateway.databaseUrl);
});

test("a failed query for due orders is repeated", async (t) => {
  const { gateway, first } = await start(t, hourMs);
  const { database } = gateway.context;
  const query = database.query.bind(database);
  let searches = 0;
  database.query = async (asked, values) => {
    if (asked.name === "orders-first" && searches++ === 0) throw new DatabaseUnavailable();
    return query(asked, values);
  };
  await placeUnheard(gateway, first);
  await endSessions(gateway.databaseUrl, "deedhouse-listener");
  await untilUnheardBegins(gateway.databaseUrl);
});

test("an order whose first step fails is retried", async (t) => {
  const { gateway, reseller } = await start(t, hourMs);
  const broken = `
    CREATE FUNCTION test_break() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'broken'; END $$;
    CREATE TRIGGER test_break BEFORE INSERT ON attempts FOR EACH ROW EXECUTE FUNCTION test_break()`;
  await runSql(gateway.databaseUrl, broken);
  const order = await place(gateway, reseller, "second.example");
  const putOff = "SELECT FROM orders WHERE status = 'NotProvisioned' AND next_step_at > updated_at";
  await until("it backs off", async () => (await runSql(gateway.databaseUrl, putOff)).length > 0);
  assert.deepEqual(creates(gateway, order.name), []);
  await runSql(gateway.databaseUrl, "DROP FUNCTION test_break CASCADE");
  await assertEnds(gateway, reseller, order, "Finished");
  assert.equal(creates(gateway, order.name).length, 1);
});

test("orders that wait behind others when their owner is killed are started by the next one", async (t) => {
  const { gateway, start: startProcess } = await startWithWorkers(t, { profile: { sessionsMax: 2 } });
  const worker = await startProcess();
  const reseller = await gateway.addReseller();
  await assertEnds(gateway, reseller, await place(gateway, reseller, "first.example"), "Finished");
  const hold = gateway.registry.hold({ command: "domain:create", name: "held.example", at: "before-answer", times: 1 });
  const names = ["held.example", ...Array.from({ length: 30 }, (_, index) => `behind-${index}.example`)];
  const orders = await Promise.all(names.map((name) => place(gateway, reseller, name)));
  await hold.reached(1);
  await worker.kill();
  hold.release();
  await startProcess();
  for (const order of orders) await assertEnds(gateway, reseller, order, "Finished");
});

test("the successor of an owner that hangs continues all its orders, and the hanging owner is an alarm until it is gone", async (t) => {
  const { gateway, start: startProcess } = await startWithWorkers(t);
  const { databaseUrl, registry } = gateway;
  const hanging = await startProcess();
  const reseller = await gateway.addReseller();
  const first = await place(gateway, reseller, "first.example");
  await assertEnds(gateway, reseller, first, "Finished");
  await startProcess();
  const hold = registry.hold({ command: "domain:create", name: "held.example", at: "before-answer", times: 1 });
  const held = await place(gateway, reseller, "held.example");
  await hold.reached(1);
  hanging.freeze();
  await placeUnheard(gateway, first);
  await endSessions(databaseUrl, "deedhouse-lease-sandbox", "idle");
  await untilUnheardBegins(databaseUrl);
  hold.release();
  await assertEnds(gateway, reseller, held, "Finished");
  assert.equal(creates(gateway, held.name).length, 1);
  const stuck = "SELECT note FROM alarms WHERE kind = 'worker-stuck' AND subject = 'sandbox' AND resolved_at IS NULL";
  await until("it is an alarm", async () => (await runSql(databaseUrl, stuck)).length > 0);
  const [alarm] = await runSql<{ note: string }>(databaseUrl, stuck);
  assert.ok(alarm?.note.includes(`process ${hanging.pid} on ${hostname()} `), alarm?.note);
  await hanging.kill();
  await until("the alarm is over", async () => (await runSql(databaseUrl, stuck)).length === 0);
});
