import assert from "node:assert/strict";
import { test } from "node:test";
import { unixSeconds } from "#lib/clock.ts";
import { startApiProcess } from "../harness/api-process.ts";
import { assertError } from "../harness/assert-reply.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { newNonce, type SignedRequestOptions, sendSigned } from "../harness/signed-request.ts";
import { runSql } from "../harness/sql.ts";

test("a write that was committed before the api was killed is answered at its resend", async (t) => {
  const gateway = await startTestGateway(t, { proxy: true });
  const api = await startApiProcess(t, gateway, gateway.proxy.url);
  const { key } = await gateway.addReseller();
  const { clock } = gateway.context;
  const timestamp = unixSeconds(clock);
  const send = (method: string, target: string, options: SignedRequestOptions) =>
    sendSigned({ url: api.url, key, clock, method, target, timestamp, ...options });
  const write = { nonce: newNonce(), body: { domain_name: "killed.example" } };
  const read = { nonce: newNonce() };

  assert.equal((await send("GET", "/domains", read)).status, 200);
  const committed = gateway.proxy.holdNextCommitAnswer("orders-insert");
  const unanswered = assert.rejects(send("POST", "/domains/registrations", write));
  await Promise.race([committed, unanswered]);
  await api.kill();
  await unanswered;

  await api.start();
  const [order, ...more] = await runSql<{ order_code: string }>(gateway.databaseUrl, "SELECT order_code FROM orders");
  assert.deepEqual(more, []);
  const resent = await send("POST", "/domains/registrations", write);
  assert.equal(resent.status, 202, resent.text);
  assert.equal(resent.headers.location, `/domains/registrations/${order?.order_code}`);
  const other = { ...write, body: { domain_name: "another.example" } };
  assertError(await send("POST", "/domains/registrations", other), "authorization_nonce_reused");
  // A read that was answered before the kill stays answered once.
  assertError(await send("GET", "/domains", read), "authorization_nonce_reused");
});
