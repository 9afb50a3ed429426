import assert from "node:assert/strict";
import { after, test } from "node:test";
import { systemClock, unixSeconds } from "#lib/clock.ts";
import { assertError, assertFullForm } from "../harness/assert-reply.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { newNonce, type SignedRequestOptions } from "../harness/signed-request.ts";

const gateway = await startTestGateway({ after }, { proxy: true, worker: false });
const { proxy } = gateway;
const reseller = await gateway.addReseller();
const pack = await gateway.addPack();

const calls: [string, string, SignedRequestOptions?][] = [
  ["GET", "/domains"],
  ["GET", "/v1/domains/a.example"],
  ["POST", "/domains/registrations", { body: { domain_name: "a.example" } }],
  ["GET", "/domains/registrations/REG-00000000-000"],
  ["GET", "/hostingaccounts"],
  ["GET", "/hostingaccounts/a.example"],
  ["POST", "/hostingaccounts", { body: { servicepack_id: pack, identifier: "a.example", password: "12characters" } }],
  ["GET", "/servicepacks"],
];

test("while the database is away every call is 503 with retry-after", async () => {
  assert.equal((await gateway.send(reseller, "GET", "/domains")).status, 200);
  proxy.cut();
  for (const [method, target, options] of calls) {
    const reply = await gateway.send(reseller, method, target, options);
    assertError(reply, "service_unavailable");
    assert.doesNotMatch(reply.text, /sql|postgres|connect|127\.0\.0\.1/i);
  }
  // Answers that need no database stay the same.
  const unsigned = await gateway.send(reseller, "GET", "/domains", { authorization: null });
  assertError(unsigned, "auth_authorization_header_invalid_format");
  proxy.restore();
});

test("it recovers automatically, and the header of a refused request can be sent again, once", async () => {
  proxy.cut();
  const timestamp = unixSeconds(gateway.context.clock);
  const nonces = calls.map(() => newNonce());
  const sendAll = () =>
    Promise.all(
      calls.map(([method, target, options], index) =>
        gateway.send(reseller, method, target, { ...options, nonce: nonces[index] ?? "", timestamp }),
      ),
    );
  for (const reply of await sendAll()) assertError(reply, "service_unavailable");
  proxy.restore();
  while ((await gateway.send(reseller, "GET", "/domains")).status === 503);

  const statuses = [];
  for (const reply of await sendAll()) {
    assertFullForm(reply);
    statuses.push(reply.status);
  }
  // No worker, so the registration is unavailable for another reason.
  assert.deepEqual(statuses, [200, 404, 503, 404, 200, 403, 202, 200]);
  const again = await sendAll();
  assert.deepEqual(
    again.map(({ status }) => status),
    [401, 401, 503, 401, 401, 401, 202, 401],
  );
});

/** Half of a statement's limit, after which a silent server would be noticed anyway. In service it takes 3 s. */
const silenceMsMax = 5_000;

test("a database that neither answers nor resets is noticed by requests in progress and by new ones, and used when it is back", async () => {
  const all = () =>
    Promise.all(calls.map(([method, target, options]) => gateway.send(reseller, method, target, options)));
  await all();
  proxy.dropRoute();
  const droppedMs = systemClock.monotonicMs();
  for (const reply of await all()) assertError(reply, "service_unavailable");
  const noticedMs = systemClock.monotonicMs();
  assert.ok(noticedMs - droppedMs < silenceMsMax, `${noticedMs - droppedMs} ms`);
  for (const [method, target, options] of calls) {
    assertError(await gateway.send(reseller, method, target, options), "service_unavailable");
  }
  const refusedMs = systemClock.monotonicMs() - noticedMs;
  assert.ok(refusedMs < silenceMsMax, `${refusedMs} ms for ${calls.length} requests one after the other`);
  proxy.restore();
  while ((await gateway.send(reseller, "GET", "/domains")).status === 503);
  assert.equal((await gateway.send(reseller, "GET", "/servicepacks")).status, 200);
});
