/** What a client library does when the service or the network fails, against a stand-in that can be told to fail. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import {
  accepted,
  apiKey,
  apiSecret,
  type Canned,
  refuse,
  type StandInService,
  startStandInService,
} from "../../client/testing/stand-in-service.ts";
import { type Fields, type ForeignOptions, type Language, startForeignClient } from "./foreign-client.ts";

interface Vector {
  name: string;
  method: string;
  target: string;
  body: string;
  nonce: string;
  timestamp: number;
  string_to_sign: string;
  authorization: string;
}

const vectors: { key: string; secret: string; valid: Vector[] } = JSON.parse(
  readFileSync(new URL("../vectors/signing.json", import.meta.url), "utf8"),
);
/** The others of the same name are of clients that decode the target or write it in lower case. */
const unchanged = vectors.valid.filter(
  (vector, at) => vectors.valid.findIndex(({ name }) => name === vector.name) === at,
);

const registrations = "POST /v1/domains/registrations";
const orderTarget = "GET /v1/orders/REG-00000000-001";
const placed = accepted("/v1/domains/registrations/REG-00000000-001", 10);
const domain = { domain_name: "example.com", expiration_date: "2027-04-18T07:45:21.187Z", will_renew: true };

async function startClient(t: TestContext, language: Language, options: Partial<ForeignOptions> = {}) {
  const service = await startStandInService();
  t.after(() => service[Symbol.asyncDispose]());
  const client = await startForeignClient(t, language, {
    url: service.url,
    apiKey,
    apiSecret,
    isInstant: true,
    ...options,
  });
  return { client, service };
}

const authorizations = ({ seen }: StandInService) => seen.map(({ headers }) => headers.authorization);
const idempotencyKeys = ({ seen }: StandInService) => seen.map(({ headers }) => headers["idempotency-key"]);
const order = (status: string, checkAfter?: number): Canned => ({
  status: 200,
  body: { order_code: "REG-00000000-001", status },
  ...(checkAfter !== undefined && { headers: { "check-after": String(checkAfter) } }),
});
const held = (canned: Canned): Canned => ({
  ...canned,
  headers: { ...canned.headers, "preference-applied": "wait=30" },
});

export function testRetries(language: Language): void {
  const rule = (name: string, run: (t: TestContext) => Promise<void>) =>
    test(`${language.name}: ${name}`, { skip: language.skip }, run);
  testRefusals(language, rule);
  testFailures(language, rule);
  testWaiting(language, rule);
}

type Rule = (name: string, run: (t: TestContext) => Promise<void>) => void;

function testRefusals(language: Language, rule: Rule): void {
  rule("signs every request of the vectors as independent clients do", async (t) => {
    const { client } = await startClient(t, language);
    assert.equal(unchanged.length, 8);
    for (const { method, target, body, nonce, timestamp, ...wanted } of unchanged) {
      const given = { apiKey: vectors.key, apiSecret: vectors.secret, method, target, body, nonce, timestamp };
      const signed = await client.get("sign", given);
      assert.deepEqual(
        signed,
        { stringToSign: wanted.string_to_sign, authorization: wanted.authorization },
        wanted.name,
      );
    }
  });

  rule("never repeats a refusal, and says all that the service says", async (t) => {
    const { client, service } = await startClient(t, language);
    service.faults.push({
      status: 400,
      headers: { location: "/v1/domains/registrations/REG-1" },
      body: {
        error_code: "bad_request",
        error_text: "Send a name.",
        validation_errors: [{ error_code: "required", error_text: "Is missing.", field: "domain_name" }],
      },
    });
    assert.deepEqual(await client.fail("registerDomain", { domainName: "example.com" }), {
      type: "Api",
      message: "Send a name. (bad_request, HTTP 400)",
      status: 400,
      errorCode: "bad_request",
      errorText: "Send a name.",
      errors: [{ errorCode: "required", errorText: "Is missing.", field: "domain_name" }],
      requestId: "req-1",
      retryAfterSeconds: null,
      location: "/v1/domains/registrations/REG-1",
    });
    assert.equal(service.seen.length, 1);
  });

  rule("says when another service answers", async (t) => {
    const { client, service } = await startClient(t, language, { retriesMax: 0 });
    for (const { status, body } of [
      { status: 502, body: "<h1>Bad gateway</h1>" },
      { status: 302, body: "<h1>Moved</h1>" },
      { status: 200, body: "<h1>Welcome</h1>" },
      { status: 200, body: [] },
    ]) {
      service.faults.push({ status, body, headers: { location: "/" } });
      const { type, errorCode } = await client.fail("getDomain", { domainName: "example.com" });
      assert.deepEqual([type, errorCode], ["Api", "unexpected_response"], `${status}`);
    }
    service.faults.push({ status: 202 });
    assert.equal((await client.fail("registerDomain", { domainName: "a.com" })).errorCode, "unexpected_response");
  });

  rule("refuses settings and keys that cannot be right", async (t) => {
    const { client, service } = await startClient(t, language);
    for (const idempotencyKey of ["", "two words", "line\r\nbreak: x", "é", "x".repeat(256)]) {
      const { message } = await client.fail("restoreDomain", { domainName: "example.com", idempotencyKey });
      assert.match(String(message), /^an idempotency key has 1 to 255 printable ASCII characters without spaces$/);
    }
    assert.equal(service.seen.length, 0);
    for (const [wrong, why] of [
      [{ url: "api.example.com" }, /is not of the form https:\/\/host/],
      [{ url: "ftp://api.example.com" }, /is not of the form https:\/\/host/],
      [{ url: "https://me:pw@api.example.com" }, /must not carry a user/],
      [{ url: "https://api.example.com/v1?x=1" }, /must not carry a user/],
      [{ apiKey: apiKey.toUpperCase() }, /32 lower-case hex digits/],
      [{ apiSecret: "" }, /the API secret is empty/],
      [{ userAgent: "shop\r\nx-a: b" }, /printable ASCII/],
    ] as const) {
      const { error } = await client.say("open", { url: service.url, apiKey, apiSecret, ...wrong });
      assert.match(error?.message ?? "no error", why);
    }
  });
}

function testFailures(language: Language, rule: Rule): void {
  rule("sends the identical request again after a 5xx, with growing delays", async (t) => {
    const { client, service } = await startClient(t, language);
    service.answers[registrations] = placed;
    service.faults.push(refuse(500, "internal_error"), refuse(503, "service_unavailable"));
    const { result, slept, retries } = await client.say("registerDomain", { domainName: "exämple.com", years: 2 });
    assert.deepEqual([result?.orderCode, result?.checkAfterSeconds, result?.status], ["REG-00000000-001", 10, 202]);
    assert.equal(new Set(authorizations(service)).size, 1);
    assert.match(String(idempotencyKeys(service)[0]), /^[0-9a-f]{32}$/);
    assert.equal(new Set(idempotencyKeys(service)).size, 1);
    const bodies = service.seen.map(({ body }) => JSON.parse(body));
    for (const body of bodies) assert.deepEqual(body, { domain_name: "exämple.com", years: 2 });
    assert.deepEqual(retries, [1, 2]);
    assert.ok(slept[0]! >= 0.25 && slept[0]! <= 0.5, `${slept}`);
    assert.ok(slept[1]! >= 0.5 && slept[1]! <= 1, `${slept}`);
  });

  rule("signs a read again when its lost answer has used up the nonce", async (t) => {
    const { client, service } = await startClient(t, language);
    service.answers["GET /v1/domains/example.com"] = { status: 200, body: domain };
    service.faults.push("drop");
    assert.deepEqual(await client.data("getDomain", { domainName: "example.com" }), domain);
    const [first, resend, signedAgain] = authorizations(service);
    assert.equal(service.seen.length, 3);
    assert.equal(first, resend);
    assert.notEqual(resend, signedAgain);
  });

  rule("keeps the idempotency key when a write must be signed again", async (t) => {
    const { client, service } = await startClient(t, language);
    service.answers[registrations] = placed;
    service.faults.push("drop", refuse(409, "idempotency_in_progress"));
    await client.get("registerDomain", { domainName: "example.com", idempotencyKey: "order-17" });
    assert.ok(new Set(authorizations(service)).size > 1);
    assert.deepEqual([...new Set(idempotencyKeys(service))], ["order-17"]);
  });

  rule("gives every write its own random idempotency key, and reads none", async (t) => {
    const { client, service } = await startClient(t, language);
    service.answers[registrations] = placed;
    service.answers["PUT /v1/hostingaccounts/a.example/password"] = { status: 202 };
    service.answers["DELETE /v1/hostingaccounts/a.example"] = { status: 202 };
    service.answers["GET /v1/domains/example.com"] = { status: 200, body: domain };
    await client.get("registerDomain", { domainName: "example.com" });
    await client.get("registerDomain", { domainName: "example.com" });
    await client.get("setHostingPassword", { identifier: "a.example", password: "x" });
    await client.get("deleteHostingAccount", { identifier: "a.example" });
    await client.get("getDomain", { domainName: "example.com" });
    const keys = idempotencyKeys(service);
    assert.equal(keys.pop(), undefined);
    assert.equal(new Set(keys).size, 4);
    for (const key of keys) assert.match(String(key), /^[0-9a-f]{32}$/);
  });

  rule("waits for retry-after after 429, and gives a longer one than two minutes to the caller", async (t) => {
    const { client, service } = await startClient(t, language);
    service.answers["GET /v1/domains?take=10"] = { status: 200, body: [] };
    service.faults.push(refuse(429, "rate_limit_exceeded", { "retry-after": "42" }));
    assert.deepEqual((await client.say("listDomains", { take: 10 })).slept, [42]);
    assert.equal(new Set(authorizations(service)).size, 1);
    service.faults.push(refuse(503, "service_unavailable", { "retry-after": "3600" }));
    const { error, slept } = await client.say("listDomains", { take: 10 });
    assert.deepEqual([error?.status, error?.retryAfterSeconds, slept], [503, 3600, []]);
  });

  rule("gives up after the greatest number of retries, with the last error", async (t) => {
    const { client, service } = await startClient(t, language, { retriesMax: 2 });
    for (let count = 0; count < 5; count++) service.faults.push(refuse(503, "service_unavailable"));
    assert.equal((await client.fail("listDomains")).errorCode, "service_unavailable");
    assert.equal(service.seen.length, 3);
  });

  rule("signs once more in a later second when the timestamp is refused, but not twice", async (t) => {
    const { client, service } = await startClient(t, language);
    service.answers["GET /v1/domains"] = { status: 200, body: [] };
    service.faults.push(refuse(401, "authorization_timestamp_invalid"));
    await client.get("listDomains");
    const [before, after] = authorizations(service).map((header) => Number(header?.split(":").at(-1)));
    assert.ok(after! > before!);
    service.faults.push(refuse(401, "authorization_timestamp_invalid"), refuse(401, "authorization_timestamp_invalid"));
    assert.equal((await client.fail("listDomains")).errorCode, "authorization_timestamp_invalid");
  });

  rule("an unreachable service is an error that says why", async (t) => {
    const { client, service } = await startClient(t, language);
    await service[Symbol.asyncDispose]();
    const { error, slept } = await client.say("listDomains");
    assert.equal(error?.type, "NoAnswer");
    assert.match(String(error?.message), /^no answer from http:\/\/127\.0\.0\.1:\d+: .*(refused|connect)/i);
    assert.equal(slept.length, 4);
  });

  rule("a late answer is an error", async (t) => {
    const silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    t.after(() => silent.close());
    t.after(() => silent.closeAllConnections());
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const { client } = await startClient(t, language, { url, timeoutSeconds: 0.05, retriesMax: 0 });
    const { type, message } = await client.fail("listDomains");
    assert.deepEqual([type, message], ["NoAnswer", `no answer from ${url} within 0.05 s`]);
  });
}

function testWaiting(language: Language, rule: Rule): void {
  const startWaiting = async (t: TestContext, ...answers: Canned[]) => {
    const { client, service } = await startClient(t, language);
    service.answers[registrations] = accepted("/v1/domains/registrations/REG-00000000-001", 7);
    service.answers[orderTarget] = answers;
    const wait = (given: Fields = {}) => client.say("finished", { order: "REG-00000000-001", ...given });
    return { client, service, wait };
  };

  rule("leaves check-after between looks, asks the service to hold its answer, and reports changes", async (t) => {
    const { service, wait } = await startWaiting(
      t,
      order("NotProvisioned", 3),
      order("Processing", 2),
      order("Processing", 4),
      order("Finished"),
    );
    const { result, slept } = await wait();
    assert.deepEqual(result?.statuses, ["NotProvisioned", "Processing", "Finished"]);
    assert.deepEqual(slept, [0, 3, 2, 4]);
    assert.deepEqual(
      service.seen.map(({ headers }) => headers.prefer),
      Array.from({ length: 4 }, () => "wait=30"),
    );
  });

  rule("looks at once after a change where answers are held", async (t) => {
    const { wait } = await startWaiting(
      t,
      held(order("NotProvisioned", 10)),
      held(order("Processing", 10)),
      order("Finished"),
    );
    assert.deepEqual((await wait()).slept, [0, 0, 0]);
  });

  rule("does not look in a tight loop when a service says that it holds answers and does not", async (t) => {
    const { wait } = await startWaiting(t, held(order("Processing", 0)));
    const { error, slept } = await wait({ timeoutSeconds: 3 });
    assert.equal(error?.type, "WaitTimeout");
    assert.deepEqual(slept, [0, 0, 1, 1, 1]);
  });

  rule("leaves the check-after of what was placed between looks where no other answer has one", async (t) => {
    const { client, wait } = await startWaiting(t, order("Processing"), order("Finished"));
    await client.get("registerDomain", { domainName: "example.com" });
    assert.deepEqual((await wait({ order: "placed!" })).slept, [0, 7]);
  });

  rule("takes a last look when the time runs out, then reports the status", async (t) => {
    const { wait } = await startWaiting(t, order("Processing", 8), order("Pending", 86_400));
    const { error, slept } = await wait({ timeoutSeconds: 10 });
    assert.deepEqual([error?.type, error?.lastStatus, error?.checkAfterSeconds], ["WaitTimeout", "Pending", 86_400]);
    assert.deepEqual(slept, [0, 8, 2]);
  });

  rule("survives an outage while it waits, but does not wait for an order that does not exist", async (t) => {
    const { service, wait } = await startWaiting(t, order("Finished"));
    service.faults.push(refuse(503, "service_unavailable", { "retry-after": "200" }));
    const { result, slept } = await wait();
    assert.deepEqual(result?.statuses, ["Finished"]);
    assert.deepEqual(slept, [0, 200]);
    service.faults.push(refuse(404, "order_not_found"));
    assert.equal((await wait()).error?.errorCode, "order_not_found");
  });

  rule("fails when an order or an account does", async (t) => {
    const { client, service, wait } = await startWaiting(t, {
      status: 200,
      body: { order_code: "REG-00000000-001", status: "Errors", error_text: "Somebody else has it." },
    });
    const { error } = await wait();
    assert.deepEqual([error?.type, error?.status], ["Unsuccessful", "Errors"]);
    assert.equal(error?.message, "the order REG-00000000-001 ended as Errors: Somebody else has it.");
    const account = { identifier: "site.example", status: "Provisioning" };
    service.answers["GET /v1/hostingaccounts/site.example"] = [
      { status: 200, headers: { "check-after": "4" }, body: account },
      { status: 200, body: { ...account, status: "Failed" } },
    ];
    const failed = await client.say("provisioned", { account: "site.example" });
    assert.equal(failed.error?.message, "the account site.example ended as Failed");
    assert.deepEqual(failed.slept, [0, 4]);
  });
}
