import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";

test("a registration is accepted, finishes, and the name is in the portfolio with the registry's expiry date", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  const accepted = await gateway.send(reseller, "POST", "/v1/domains/registrations", {
    body: { domain_name: "Hello.Example" },
  });
  assert.equal(accepted.status, 202, accepted.text);
  assert.match(accepted.headers.location ?? "", /^\/v1\/domains\/registrations\/REG-[0-9A-Z]{8}-[0-9A-Z]{3}$/);
  assert.equal(accepted.headers["check-after"], "10");
  assert.equal(accepted.headers["content-length"], "0");
  assert.equal(accepted.headers["content-type"], undefined);

  const order = await gateway.settled(reseller, accepted.headers.location!);
  assert.equal(order.status, "Finished");

  const { body } = await gateway.send(reseller, "GET", "/domains");
  const held = gateway.registry.store.domains.find("hello.example");
  assert.ok(held);
  assert.deepEqual(
    (body as Record<string, unknown>[]).map(({ domain_name, expiration_date, will_renew }) => [
      domain_name,
      expiration_date,
      will_renew,
    ]),
    [["hello.example", held.exDate, true]],
  );
});

test("check-after is the estimate of the registry's profile until enough registrations were measured", async (t) => {
  const quick = { id: "quick", suffixes: ["quick"], profile: { expectedSeconds: 1 } };
  const gateway = await startTestGateway(t, { moreRegistries: [quick] });
  const reseller = await gateway.addReseller();
  const body = { domain_name: "hello.quick" };
  const accepted = await gateway.send(reseller, "POST", "/domains/registrations", { body });
  assert.deepEqual([accepted.status, accepted.headers["check-after"]], [202, "1"], accepted.text);
  // Back to an order in progress: its status says the same.
  await gateway.stopWorker();
  await runSql(gateway.databaseUrl, "UPDATE orders SET status = 'Pending', ended_at = NULL");
  const { headers } = await gateway.send(reseller, "GET", accepted.headers.location!);
  assert.equal(headers["check-after"], "1");
});
