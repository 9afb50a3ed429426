import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { routes } from "#api/routes.ts";
import { v2Routes } from "#api/v2/routes.ts";
import { assertError } from "../harness/assert-reply.ts";
import { assertDescribed } from "../harness/described.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { createManualClock } from "../harness/manual-clock.ts";
import type { Reply, SignedRequestOptions } from "../harness/signed-request.ts";

// What openapi.json says is compared with every answer of every test (test/harness/described.ts). This is about how it is served,
// and about that comparison.

const clock = createManualClock(1_900_000_000);
const gateway = await startTestGateway({ after }, { clock, worker: false, server: { sourceFailuresMax: 3 } });
const reseller = await gateway.addReseller();
let addresses = 1;
/** Requests of one source do not use up another's limits. */
const newAddress = () => `127.0.3.${addresses++}`;

const unsigned = (target: string, options: SignedRequestOptions = {}, method = "GET") =>
  gateway.send(reseller, method, target, { authorization: null, localAddress: newAddress(), ...options });

interface Document {
  openapi: string;
  paths: Record<string, Record<string, { operationId: string }>>;
}

test("openapi.json has every route, and each operation has an id of its own", async () => {
  const { paths } = (await unsigned("/openapi.json")).body as Document;
  const listed = [...routes, ...v2Routes].map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, "{$1}")}`);
  const operations = Object.entries(paths).flatMap(([path, at]) =>
    Object.entries(at)
      .filter(([method]) => method !== "servers")
      .map(([method, { operationId }]) => ({ name: `${method.toUpperCase()} ${path}`, operationId })),
  );
  assert.deepEqual(operations.map(({ name }) => name).toSorted(), [...listed, "GET /openapi.json"].toSorted());
  const ids = operations.map(({ operationId }) => operationId);
  assert.equal(new Set(ids).size, ids.length, "two operations have one id");
});

test("openapi.json needs no signature, bare, under /v1 and under /v2, and clients may keep it", async () => {
  const [bare, v1, v2] = await Promise.all(
    ["/openapi.json", "/v1/openapi.json", "/v2/openapi.json?x=1"].map((target) => unsigned(target)),
  );
  assert.equal(bare?.status, 200);
  assert.equal((bare.body as Document).openapi, "3.1.0");
  assert.equal(bare?.headers["cache-control"], "public, max-age=3600");
  assert.equal(bare?.headers["content-type"], "application/json; charset=utf-8");
  assert.deepEqual([v1?.text, v2?.text], [bare?.text, bare?.text]);
  const signed = await gateway.send(reseller, "GET", "/openapi.json");
  assert.equal(signed.text, bare?.text);
});

test("deedhouse openapi prints the same", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["bin/deedhouse.ts", "openapi"], {
    maxBuffer: 10_000_000,
  });
  assert.deepEqual(JSON.parse(stdout), (await unsigned("/openapi.json")).body);
});

test("a client that has the document gets 304 without a body", async () => {
  const { headers } = await unsigned("/openapi.json");
  for (const known of [headers.etag, `W/${headers.etag}`, `"other", ${headers.etag}`, "*"]) {
    const reply = await unsigned("/openapi.json", { headers: { "if-none-match": known! } });
    assert.equal(reply.status, 304);
    assert.equal(reply.text, "");
    assert.equal(reply.headers.etag, headers.etag);
    assert.equal(reply.headers["content-length"], undefined);
  }
  assert.equal((await unsigned("/openapi.json", { headers: { "if-none-match": '"other"' } })).status, 200);
});

test("another method on its path is answered like anywhere else", async () => {
  for (const method of ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"]) {
    assert.equal((await unsigned("/openapi.json", {}, method)).status, 401, method);
    const signed = await gateway.send(reseller, method, "/v1/openapi.json");
    assert.deepEqual([signed.status, signed.headers.allow], [405, "GET"], method);
  }
  assertError(await gateway.send(reseller, "GET", "/openapi.yaml"), "resource_not_found");
});

test("a source gets as many unsigned requests as its limit allows, and signed ones do not count", async () => {
  const localAddress = newAddress();
  const replies: Reply[] = [];
  for (let count = 0; count < 61; count++) replies.push(await unsigned("/openapi.json", { localAddress }));
  assert.equal(replies[59]?.status, 200);
  assert.equal(replies[59]?.headers["x-ratelimit-remaining"], "0");
  assertError(replies[60]!, "rate_limit_exceeded");
  assert.equal((await gateway.send(reseller, "GET", "/domains", { localAddress })).status, 200);
  assert.equal((await unsigned("/openapi.json")).status, 200);
  clock.advance(60_000);
  assert.equal((await unsigned("/openapi.json", { localAddress })).status, 200);
});

test("a source without failures left still gets what needs no signature", async () => {
  const localAddress = newAddress();
  for (let count = 0; count < 3; count++) await unsigned("/domains", { localAddress });
  assertError(await unsigned("/domains", { localAddress }), "rate_limit_exceeded");
  assert.equal((await unsigned("/openapi.json", { localAddress })).status, 200);
});

test("an answer that openapi.json does not have fails the test that gets it", async () => {
  const good = await gateway.send(reseller, "GET", "/domains");
  const compare = (change: Partial<Reply>) =>
    assertDescribed({ method: "GET", target: "/domains" }, { ...good, ...change });
  const domain = {
    domain_name: "a.example",
    expiration_date: "2027-11-21T01:39:27.687Z",
    will_renew: true,
    registration_date: "2026-11-21T01:39:27.687Z",
    state: "active",
    status: "ok",
    name_servers: [],
    dnssec: null,
    statuses: ["ok"],
    transfer_locked: false,
  };
  compare({ body: [domain] });
  const { status: _status, ...without } = domain;
  const { "x-paging-take": _take, ...headers } = good.headers;
  for (const [change, says] of [
    [{ status: 202 }, /does not have this status/],
    [{ headers: { ...good.headers, "x-new": "1" } }, /does not have these headers/],
    [{ headers }, /has these headers, too/],
    [{ body: [{ ...domain, more: 1 }] }, /additional properties/],
    [{ body: [without] }, /required properties/],
    [{ body: [{ ...domain, expiration_date: "tomorrow" }] }, /format/],
    [{ body: undefined }, /whether there is a body/],
    [
      { status: 404, body: { error_code: "order_not_found", error_text: "x" } },
      /does not have these headers|not have this error/,
    ],
  ] as [Partial<Reply>, RegExp][]) {
    assert.throws(() => compare(change), says);
  }
});
