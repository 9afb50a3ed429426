import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { instantClock } from "../testing/instant-clock.ts";
import {
  accepted,
  apiKey,
  apiSecret,
  refuse,
  type StandInService,
  startStandInService,
} from "../testing/stand-in-service.ts";
import { type ClientOptions, createClient } from "./client.ts";
import { ApiError, ConnectionError } from "./errors.ts";

const domain = { domain_name: "example.com", expiration_date: "2027-04-18T07:45:21.187Z", will_renew: true };

function clientFor(service: StandInService, options: Partial<ClientOptions> = {}) {
  const delaysMs: number[] = [];
  const clock = instantClock((delayMs) => delaysMs.push(delayMs));
  return { client: createClient({ url: service.url, apiKey, apiSecret, clock, ...options }), delaysMs };
}

function authorizations(service: StandInService): (string | undefined)[] {
  return service.seen.map((request) => request.headers.authorization);
}

test("resends the identical header after a 5xx, with growing delays", async () => {
  await using service = await startStandInService();
  service.answers["POST /v1/domains/registrations"] = accepted("/v1/domains/registrations/REG-00000000-001", 10);
  service.faults.push(refuse(500, "internal_error"), refuse(503, "service_unavailable"));
  const { client, delaysMs } = clientFor(service);
  const answer = await client.registerDomain("example.com");
  assert.equal(answer.data.order_code, "REG-00000000-001");
  assert.equal(answer.checkAfterSeconds, 10);
  assert.equal(new Set(authorizations(service)).size, 1);
  assert.equal(new Set(service.seen.map((request) => request.headers["idempotency-key"])).size, 1);
  assert.equal(delaysMs.length, 2);
  assert.ok(delaysMs[0]! >= 250 && delaysMs[0]! <= 500);
  assert.ok(delaysMs[1]! >= 500 && delaysMs[1]! <= 1000);
});

test("signs a read again when its lost answer has used up the nonce", async () => {
  await using service = await startStandInService();
  service.answers["GET /v1/domains/example.com"] = { status: 200, body: domain };
  service.faults.push("drop");
  const { client } = clientFor(service);
  assert.deepEqual((await client.getDomain("example.com")).data, domain);
  const [first, resend, signedAgain] = authorizations(service);
  assert.equal(service.seen.length, 3);
  assert.equal(first, resend);
  assert.notEqual(resend, signedAgain);
});

test("keeps the idempotency key when a write must be signed again", async () => {
  await using service = await startStandInService();
  service.answers["POST /v1/domains/registrations"] = accepted("/v1/domains/registrations/REG-00000000-001", 10);
  service.faults.push("drop", refuse(409, "idempotency_in_progress"));
  const { client } = clientFor(service);
  await client.registerDomain("example.com", { idempotencyKey: "order-17" });
  assert.ok(new Set(authorizations(service)).size > 1);
  for (const request of service.seen) assert.equal(request.headers["idempotency-key"], "order-17");
});

test("gives every write its own random idempotency key", async () => {
  await using service = await startStandInService();
  service.answers["POST /v1/domains/registrations"] = accepted("/v1/domains/registrations/REG-00000000-001", 10);
  const { client } = clientFor(service);
  service.answers["PUT /v1/domains/example.com/renew"] = { status: 204 };
  service.answers["DELETE /v1/hostingaccounts/a.example"] = { status: 202 };
  service.answers["GET /v1/domains/example.com"] = { status: 200, body: domain };
  await client.registerDomain("example.com");
  await client.registerDomain("example.com");
  await client.setWillRenew("example.com", true);
  await client.deleteHostingAccount("a.example");
  await client.getDomain("example.com");
  const keys = service.seen.map((request) => request.headers["idempotency-key"]);
  assert.equal(keys.pop(), undefined, "a read has none");
  for (const key of keys) assert.match(String(key), /^[0-9a-f]{32}$/);
  assert.equal(new Set(keys).size, 4);
});

test("signs a write again, with its idempotency key, before the signature is too old to be taken", async () => {
  await using service = await startStandInService();
  service.answers["POST /v1/domains/registrations"] = accepted("/v1/domains/registrations/REG-00000000-001", 10);
  for (let count = 0; count < 4; count++) {
    service.faults.push(refuse(count % 2 ? 429 : 503, "service_unavailable", { "retry-after": "100" }));
  }
  const { client, delaysMs } = clientFor(service);
  await client.registerDomain("example.com");
  assert.deepEqual(delaysMs, [100_000, 100_000, 100_000, 100_000]);
  const [first, ...others] = authorizations(service);
  const [signedAgain] = others.slice(2);
  assert.deepEqual(others, [first, first, signedAgain, signedAgain]);
  const timestampOf = (header: string | undefined) => Number(header?.split(":").at(-1));
  assert.equal(timestampOf(signedAgain) - timestampOf(first), 300);
  assert.equal(new Set(service.seen.map((request) => request.headers["idempotency-key"])).size, 1);
});

test("refuses an idempotency key that the service would read otherwise, before anything is sent", async () => {
  await using service = await startStandInService();
  const { client } = clientFor(service);
  for (const idempotencyKey of ["", "two words", "line\r\nbreak: x", "é", "x".repeat(256)]) {
    await assert.rejects(client.restoreDomain("example.com", { idempotencyKey }), {
      name: "TypeError",
      message: "an idempotency key has 1 to 255 printable ASCII characters without spaces",
    });
  }
  assert.equal(service.seen.length, 0);
});

test("waits for retry-after before it resends after 429", async () => {
  await using service = await startStandInService();
  service.answers["GET /v1/domains"] = { status: 200, body: [] };
  service.faults.push(refuse(429, "rate_limit_exceeded", { "retry-after": "42" }));
  const notices: string[] = [];
  const { client, delaysMs } = clientFor(service, {
    onRetry: (notice) => notices.push(`${notice.retry} ${notice.error.name} ${notice.delayMs}`),
  });
  await client.listDomains();
  assert.deepEqual(delaysMs, [42_000]);
  assert.deepEqual(notices, ["1 ApiError 42000"]);
  assert.equal(new Set(authorizations(service)).size, 1);
});

test("rejects at once with a 503 whose retry-after is longer than two minutes", async () => {
  await using service = await startStandInService();
  service.faults.push(refuse(503, "service_unavailable", { "retry-after": "3600" }));
  const { client, delaysMs } = clientFor(service);
  await assert.rejects(client.listDomains(), { name: "ApiError", status: 503, retryAfterSeconds: 3600 });
  assert.deepEqual(delaysMs, []);
});

test("gives up after retriesMax with the last error", async () => {
  await using service = await startStandInService();
  for (let count = 0; count < 5; count++) service.faults.push(refuse(503, "service_unavailable"));
  const { client } = clientFor(service, { retriesMax: 2 });
  await assert.rejects(client.listDomains(), { name: "ApiError", errorCode: "service_unavailable" });
  assert.equal(service.seen.length, 3);
});

test("signs once more in a later second when the timestamp is refused, and gives up after a second refusal", async () => {
  await using service = await startStandInService();
  service.answers["GET /v1/domains"] = { status: 200, body: [] };
  service.faults.push(refuse(401, "authorization_timestamp_invalid"));
  const { client } = clientFor(service);
  await client.listDomains();
  const [before, after] = authorizations(service).map((header) => Number(header?.split(":").at(-1)));
  assert.ok(after! > before!);

  service.faults.push(refuse(401, "authorization_timestamp_invalid"), refuse(401, "authorization_timestamp_invalid"));
  await assert.rejects(client.listDomains(), { errorCode: "authorization_timestamp_invalid" });
});

test("never repeats a refusal", async () => {
  await using service = await startStandInService();
  service.faults.push({
    status: 400,
    headers: { location: "/v1/domains/registrations/REG-1" },
    body: {
      error_code: "bad_request",
      error_text: "Send a name.",
      validation_errors: [{ error_code: "required", error_text: "Is missing.", field: "domain_name" }],
    },
  });
  const { client } = clientFor(service);
  await assert.rejects(client.registerDomain(""), (error) => {
    assert.ok(error instanceof ApiError);
    assert.equal(error.status, 400);
    assert.equal(error.errorText, "Send a name.");
    assert.equal(error.requestId, "req-1");
    assert.equal(error.location, "/v1/domains/registrations/REG-1");
    assert.deepEqual(error.validationErrors, [
      { errorCode: "required", errorText: "Is missing.", field: "domain_name" },
    ]);
    return true;
  });
  assert.equal(service.seen.length, 1);
});

test("an unreachable service is a ConnectionError that says why", async () => {
  const service = await startStandInService();
  const { client, delaysMs } = clientFor(service);
  await service[Symbol.asyncDispose]();
  await assert.rejects(client.listDomains(), (error) => {
    assert.ok(error instanceof ConnectionError);
    assert.match(error.message, /^no answer from http:\/\/127\.0\.0\.1:\d+: ECONNREFUSED$/);
    return true;
  });
  assert.equal(delaysMs.length, 4);
});

test("an answer that does not come within timeoutMs is a ConnectionError", async () => {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const client = createClient({ url, apiKey, apiSecret, timeoutMs: 50, retriesMax: 0 });
  await assert.rejects(client.listDomains(), { name: "ConnectionError", message: /within 0\.05 s$/ });
  silent.closeAllConnections();
  await new Promise((resolve) => silent.close(resolve));
});

test("an aborted call rejects with the signal's reason, without a retry", async () => {
  await using service = await startStandInService();
  const { client } = clientFor(service);
  const reason = new Error("changed my mind");
  await assert.rejects(client.listDomains({ signal: AbortSignal.abort(reason) }), reason);
  assert.equal(service.seen.length, 0);
});
