import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { test } from "node:test";
import { startApiProcess } from "../harness/api-process.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { authorize } from "../harness/signed-request.ts";
import { runSql } from "../harness/sql.ts";

test("a list that its client does not read is cut, and its api exits with 0", async (t) => {
  const gateway = await startTestGateway(t, { worker: false });
  const api = await startApiProcess(t, gateway);
  const { key, id } = await gateway.addReseller();
  await runSql(
    gateway.databaseUrl,
    `INSERT INTO domains (domain_name, reseller_id, registry_id, registration_date, expiration_date, registry_ex_date,
       will_renew, status, statuses)
     SELECT 'long-' || n || repeat('-x', 20) || '.example', ${id}, 'sandbox', '2026-01-01', '2099-01-01', '2099-01-01', true,
       'ok', '{ok}' FROM generate_series(1, 100000) AS n`,
  );
  const target = "/domains";
  const authorization = authorize({ key, clock: gateway.context.clock, method: "GET", target });
  const asked = request(api.url + target, { headers: { authorization, accept: "text/csv" } }).end();
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  const cut = once(response, "error");
  assert.equal(await api.stop(), 0);
  // What had been sent is still there to be read.
  response.resume();
  await cut;
  assert.ok(!response.complete);
});
