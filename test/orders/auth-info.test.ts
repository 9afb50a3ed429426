import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { place } from "./judge.ts";

test("the authInfo of a registration is erased at its order's end, however it ends", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  const ends = { "done.example": "Finished", "code-2308-refused.example": "FailedValidation" };
  for (const [name, status] of Object.entries(ends)) {
    const order = await place(gateway, reseller, name);
    assert.equal((await gateway.settled(reseller, order.location)).status, status);
  }
  // Whichever statement ends it.
  await runSql(
    gateway.databaseUrl,
    `INSERT INTO orders (order_code, reseller_id, domain_name, suffix, registry_id, period_years, auth_info_sealed,
       status, created_at, updated_at, ended_at)
     VALUES ('REG-00000000-000', $1, 'old.example', 'example', 'elsewhere', 1, 'sealed', 'Errors', now(), now(), now())`,
    [reseller.id],
  );
  const kept = "SELECT domain_name FROM orders WHERE auth_info_sealed IS NOT NULL";
  assert.deepEqual(await runSql(gateway.databaseUrl, kept), []);
});
