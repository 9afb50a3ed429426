import assert from "node:assert/strict";
import { test } from "node:test";
import { startApiProcess } from "../harness/api-process.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { insertDomains } from "../harness/insert-domains.ts";
import { eventually } from "../harness/running-system.ts";
import { sendSigned } from "../harness/signed-request.ts";
import { runSql } from "../harness/sql.ts";

const held = { headers: { prefer: "wait=30" } };

test("an api that stops answers what it holds with what is known, and exits with 0", async (t) => {
  const gateway = await startTestGateway(t, { worker: false });
  const api = await startApiProcess(t, gateway);
  const reseller = await gateway.addReseller();
  const { key } = reseller;
  const domain = { name: "held.example", expiresAt: "2099-01-01", statuses: ["ok"] };
  await insertDomains(gateway.databaseUrl, reseller, [domain]);
  const { clock } = gateway.context;
  const events = sendSigned({ url: api.url, key, clock, method: "GET", target: "/events", ...held });
  const body = { transfer_locked: true };
  const target = "/domains/held.example/transfer-lock";
  const order = sendSigned({ url: api.url, key, clock, method: "PUT", target, body, ...held });
  const ended = assert.doesNotReject(Promise.all([events, order]));
  const placed = "SELECT FROM orders WHERE domain_name = 'held.example'";
  await eventually("the order is placed, and its answer held", async () => {
    return (await runSql(gateway.databaseUrl, placed)).length === 1;
  });
  assert.equal(await api.stop(), 0);
  await ended;
  assert.equal((await order).status, 202);
  assert.equal((await order).headers["preference-applied"], "wait=30");
  assert.equal((await events).status, 200);
});

test("an api that stops says so at /readyz while it still serves", async (t) => {
  const gateway = await startTestGateway(t, { worker: false });
  const api = await startApiProcess(t, gateway, gateway.databaseUrl, { DEEDHOUSE_STOP_NOTICE_SECONDS: "3" });
  const readiness = async () => (await fetch(`${api.url}/readyz`)).json() as Promise<{ status: string }>;
  assert.equal((await readiness()).status, "ready");
  const stopped = api.stop();
  await eventually("it is not ready", async () => (await readiness()).status === "stopping");
  const { key } = await gateway.addReseller();
  const { clock } = gateway.context;
  assert.equal((await sendSigned({ url: api.url, key, clock, method: "GET", target: "/domains" })).status, 200);
  assert.equal((await fetch(`${api.url}/healthz`)).status, 200);
  assert.equal(await stopped, 0);
});
