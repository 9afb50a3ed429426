import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestGateway } from "../harness/gateway.ts";

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
