/** A registry's sessions pass from one worker to another, and for a moment nobody has them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { assertError } from "../harness/assert-reply.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { until } from "./judge.ts";

const target = "/domains/registrations";
const register = (domain_name: string) => ["POST", target, { body: { domain_name } }] as const;
const orders = "SELECT domain_name FROM orders";

test("a registration that comes between two session holders waits for the next one", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  await gateway.stopWorker();
  let questions = 0;
  gateway.context.listener.on("name_check", (payload) => {
    questions += payload.split(",").length;
  });
  const sent = [1, 2, 3].map((number) => gateway.send(reseller, ...register(`between-${number}.example`)));
  const list = gateway.send(reseller, "GET", "/domains/availability?names=between.example");
  await until("the registry is asked", () => questions >= 4);
  await gateway.startWorker();
  for (const { status, headers, text } of await Promise.all(sent)) {
    assert.equal(status, 202, text);
    assert.equal((await gateway.settled(reseller, headers.location!)).status, "Finished");
  }
  assert.deepEqual((await list).body, [{ domain_name: "between.example", availability: "available" }]);
});

test("a registration that a session holder did not answer before its end is answered by the next one", async (t) => {
  const gateway = await startTestGateway(t, {
    registry: { queryTimeoutMs: 2_000 },
    context: { checkBudgetMs: 60_000 },
  });
  const reseller = await gateway.addReseller();
  const name = "asked-twice.example";
  const hold = gateway.registry.hold({ command: "domain:check", name, at: "before-execution", times: 1 });
  const sent = gateway.send(reseller, ...register(name));
  await hold.reached(1);
  await gateway.stopWorker();
  await gateway.startWorker();
  assert.equal((await sent).status, 202);
});

test("without a next session holder a registration is refused, and nothing is ordered", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  await gateway.stopWorker();
  assertError(await gateway.send(reseller, ...register("waits.example")), "service_unavailable");
  await runSql(gateway.databaseUrl, "UPDATE registry_leases SET expires_at = now() - interval '1 minute'");
  assertError(await gateway.send(reseller, ...register("at-once.example")), "service_unavailable");
  assert.deepEqual(await runSql(gateway.databaseUrl, orders), []);
});
