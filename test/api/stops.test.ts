import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { type ApiProcess, startApiProcess } from "../harness/api-process.ts";
import { startTestGateway, type TestGateway, type TestReseller } from "../harness/gateway.ts";
import { insertDomains } from "../harness/insert-domains.ts";
import { eventually } from "../harness/running-system.ts";
import { authorize, sendSigned } from "../harness/signed-request.ts";
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

test("an api that drains says so at /readyz, still serves, and closes each connection after its answer", async (t) => {
  const gateway = await startTestGateway(t, { worker: false });
  const api = await startApiProcess(t, gateway, gateway.databaseUrl, { DEEDHOUSE_DRAIN_MS: "3000" });
  const readiness = async () => {
    const answer = await fetch(`${api.url}/readyz`);
    const { status } = (await answer.json()) as { status: string };
    return { status, connection: answer.headers.get("connection") };
  };
  assert.deepEqual(await readiness(), { status: "ready", connection: "keep-alive" });
  const stopped = api.stop();
  await eventually("it drains", async () => (await readiness()).status === "draining");
  assert.equal((await readiness()).connection, "close");
  const { key } = await gateway.addReseller();
  const { clock } = gateway.context;
  const answer = await sendSigned({ url: api.url, key, clock, method: "GET", target: "/domains" });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.connection, "close");
  assert.equal((await fetch(`${api.url}/healthz`)).status, 200);
  assert.equal(await stopped, 0);
});

/** Events or a list that is sent in parts: what arrives, read when the test wants it. */
async function openParts(api: ApiProcess, gateway: TestGateway, { key }: TestReseller, target: string, accept: string) {
  const { clock } = gateway.context;
  const authorization = authorize({ key, clock, method: "GET", target });
  const asked = request(api.url + target, { headers: { authorization, accept } }).end();
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  assert.equal(response.statusCode, 200);
  return response.setEncoding("utf8");
}

test("a stream of events ends after a whole event when its api drains", async (t) => {
  const gateway = await startTestGateway(t, { worker: false });
  const api = await startApiProcess(t, gateway);
  const stream = await openParts(api, gateway, await gateway.addReseller(), "/events", "text/event-stream");
  let received = "";
  stream.on("data", (part: string) => {
    received += part;
  });
  await eventually("it has begun", () => received.endsWith("\n\n"));
  const ended = once(stream, "end");
  assert.equal(await api.stop(), 0);
  await ended;
  assert.ok(stream.complete, "the answer was not cut");
  assert.ok(received.endsWith("\n\n"));
});

test("a list as CSV is sent to its end although its api drains, and the connection closes then", async (t) => {
  const gateway = await startTestGateway(t, { worker: false });
  const api = await startApiProcess(t, gateway);
  const reseller = await gateway.addReseller();
  const rowsCount = 20_000;
  await runSql(
    gateway.databaseUrl,
    `INSERT INTO domains (domain_name, reseller_id, registry_id, registration_date, expiration_date, registry_ex_date,
       will_renew, status, statuses)
     SELECT 'long-' || n || repeat('-x', 20) || '.example', ${reseller.id}, 'sandbox', '2026-01-01', '2099-01-01', '2099-01-01', true,
       'ok', '{ok}' FROM generate_series(1, ${rowsCount}) AS n`,
  );
  // Nothing is read yet, so most of the list is not even read from the database.
  const list = await openParts(api, gateway, reseller, "/domains", "text/csv");
  const stopped = api.stop();
  await eventually("its port is closed", () =>
    fetch(`${api.url}/healthz`).then(
      () => false,
      () => true,
    ),
  );
  assert.equal((await text(list)).trimEnd().split("\n").length, rowsCount + 1);
  assert.ok(list.complete);
  assert.equal(await stopped, 0);
});

test("a second signal ends an api at once, and SIGHUP does not end it", async (t) => {
  const gateway = await startTestGateway(t, { worker: false });
  const api = await startApiProcess(t, gateway, gateway.databaseUrl, { DEEDHOUSE_DRAIN_MS: "20000" });
  process.kill(api.pid!, "SIGHUP");
  assert.equal((await fetch(`${api.url}/readyz`)).status, 200);
  const stopped = api.stop();
  await eventually("it drains", async () => (await fetch(`${api.url}/readyz`)).status === 503);
  process.kill(api.pid!, "SIGINT");
  assert.equal(await stopped, 1);
});
