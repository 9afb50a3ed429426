/** A whole system that sends its spans: what belongs together is one trace, and no span says what nobody else may know. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { type Collector, type ReceivedSpan, startCollector } from "../harness/collector.ts";
import { ada } from "../harness/contacts.ts";
import { eventually, type RunningSystem, startSystem, systemFolder } from "../harness/running-system.ts";
import { newNonce, type SignedRequestOptions } from "../harness/signed-request.ts";
import { runSql } from "../harness/sql.ts";

const proxy = "127.0.0.50";
const ends: (() => unknown)[] = [];
const scope = { after: (work: () => unknown) => void ends.push(work) };
let collector: Collector;
let system: RunningSystem;

before(async () => {
  collector = await startCollector(scope);
  const trust = { DEEDHOUSE_TRUSTED_PROXIES: proxy, DEEDHOUSE_FORWARDED_HEADER: "X-Forwarded-For" };
  system = await startSystem(await systemFolder(scope), [], {
    env: { ...process.env, ...collector.environment, ...trust },
  });
});
after(async () => {
  for (const end of ends.toReversed()) await end();
});

const newTrace = () => ({ traceId: randomBytes(16).toString("hex"), spanId: randomBytes(8).toString("hex") });
const traceparentOf = ({ traceId, spanId }: ReturnType<typeof newTrace>) => `00-${traceId}-${spanId}-01`;

/** Sends a request, and waits for its span. */
async function sendTraced(method: string, target: string, options: SignedRequestOptions = {}) {
  const reply = await system.send(method, target, options);
  const isIts = ({ attributes }: ReceivedSpan) => attributes["deedhouse.request_id"] === reply.headers["x-request-id"];
  await eventually("the request's span arrives", () => collector.spans().some(isIts));
  return { reply, span: collector.spans().find(isIts)! };
}

async function register(domain_name: string, options: SignedRequestOptions = {}) {
  const sent = await sendTraced("POST", "/domains/registrations", { body: { domain_name }, ...options });
  assert.equal(sent.reply.status, 202, sent.reply.text);
  const { traceId } = sent.span;
  const ofTrace = () => collector.spans().filter((span) => span.traceId === traceId);
  await eventually("the registry's answer is in the trace", () =>
    ofTrace().some(({ name }) => name === "epp domain:create"),
  );
  await eventually("the step's span arrives", () => ofTrace().some(({ name }) => name.startsWith("step registration")));
  return { ...sent, spans: ofTrace() };
}

test("a registration is one trace: the request, its statements, the worker's steps and what they send to the registry", async () => {
  const { span, spans } = await register("traced.example");
  assert.equal(span.parentSpanId, undefined);
  assert.equal(span.service, "deedhouse-api");
  assert.deepEqual(
    [span.name, span.attributes["http.response.status_code"], span.attributes["deedhouse.door"]],
    ["POST /domains/registrations", 202, "v1"],
  );
  const placed = spans.find(({ name }) => name === "orders-insert");
  assert.equal(placed?.parentSpanId, span.spanId);

  const step = spans.find(({ name }) => name.startsWith("step registration"))!;
  assert.equal(step.service, "deedhouse-worker");
  assert.equal(step.parentSpanId, span.spanId);
  assert.equal(step.attributes["deedhouse.outcome"], "done");
  const create = spans.find(({ name }) => name === "epp domain:create")!;
  assert.equal(create.parentSpanId, step.spanId);
  assert.equal(create.attributes["deedhouse.epp_code"], 1000);
  assert.match(String(create.attributes["deedhouse.cl_trid"]), /^REG-/);
  const ofStep = spans.filter(({ parentSpanId }) => parentSpanId === step.spanId).map(({ name }) => name);
  for (const name of ["orders-by-id", "registrations-write"]) assert.ok(ofStep.includes(name), ofStep.join());
});

test("statements that nobody has asked for have no spans", async () => {
  await register("asked.example");
  const spans = collector.spans();
  const known = new Set(spans.map(({ spanId }) => spanId));
  const isRoot = ({ parentSpanId }: ReceivedSpan) => parentSpanId === undefined || !known.has(parentSpanId);
  const roots = spans.filter(isRoot).map(({ name }) => name);
  assert.deepEqual(
    roots.filter((name) => !/^(step|epp|GET|POST|PUT|DELETE) /.test(name)),
    [],
  );
});

test("continues the trace of a trusted proxy, and of nobody else", async () => {
  const asked = newTrace();
  const headers = { traceparent: traceparentOf(asked) };
  const trusted = await register("proxied.example", { headers, localAddress: proxy });
  assert.equal(trusted.span.traceId, asked.traceId);
  assert.equal(trusted.span.parentSpanId, asked.spanId);
  const other = await register("direct.example", { headers });
  assert.notEqual(other.span.traceId, asked.traceId);
  assert.equal(other.span.parentSpanId, undefined);
});

test("a trace that its proxy does not record is not recorded here, but still stored with the order", async () => {
  const asked = newTrace();
  const headers = { traceparent: `00-${asked.traceId}-${asked.spanId}-00` };
  const body = { domain_name: "unrecorded.example" };
  const reply = await system.send("POST", "/domains/registrations", { body, headers, localAddress: proxy });
  assert.equal(reply.status, 202, reply.text);
  const { database_url: url } = system.ready();
  const [order] = await runSql(url, "SELECT traceparent FROM orders WHERE domain_name = 'unrecorded.example'");
  assert.match(String(order?.traceparent), new RegExp(`^00-${asked.traceId}-[0-9a-f]{16}-00$`));
  await register("recorded.example");
  assert.ok(!collector.spans().some(({ traceId }) => traceId === asked.traceId));
});

test("an order about a registered name belongs to the trace of its request", async () => {
  const { client } = system;
  await client.orders.finished(await client.domains.register("locked.example"));
  const { reply, span } = await sendTraced("PUT", "/domains/locked.example/transfer-lock", {
    body: { transfer_locked: true },
  });
  assert.equal(reply.status, 202, reply.text);
  const isUpdate = ({ traceId, name }: ReceivedSpan) => traceId === span.traceId && name === "epp domain:update";
  await eventually("the registry's answer is in the trace", () => collector.spans().some(isUpdate));
});

test("of an error, a span has its kind", async () => {
  const { database_url: url } = system.ready();
  await runSql(url, "ALTER TABLE webhooks RENAME TO webhooks_hidden");
  const { reply, span } = await sendTraced("GET", "/webhooks");
  await runSql(url, "ALTER TABLE webhooks_hidden RENAME TO webhooks");
  assert.equal(reply.status, 500);
  assert.ok(span.isFailed);
  const statements = collector.spans().filter(({ parentSpanId }) => parentSpanId === span.spanId);
  assert.deepEqual(
    statements.filter(({ isFailed }) => isFailed).map(({ attributes }) => attributes["error.type"]),
    ["42P01"],
  );
});

test("no span has a name, a secret, a nonce, a contact, a client's address or a password", async () => {
  const canary = `canary${randomBytes(6).toString("hex")}`;
  const nonce = newNonce();
  const registrant = { ...ada, last_name: canary, email: `ada@${canary}.example`, address: `Street ${canary}` };
  const body = { domain_name: `${canary}.example`, registrant };
  await register(body.domain_name, { body, nonce, localAddress: proxy });
  const password = `Horse-77-${canary}`;
  const hosting = await sendTraced("POST", "/hostingaccounts", {
    body: { identifier: `${canary}.example`, servicepack_id: "14490", password },
  });
  assert.equal(hosting.reply.status, 202, hosting.reply.text);
  await sendTraced("GET", `/domains/${canary}.example?${canary}=1`);
  await sendTraced("GET", `/${canary}`);
  const { database_url: url, api_secret: secret } = system.ready();
  const isHosting = ({ name }: ReceivedSpan) => /^step hosting/.test(name);
  await eventually("the account's steps arrive", () => collector.spans().some(isHosting));
  const sent = collector.received();
  const ofDatabase = new URL(url).password || secret;
  for (const hidden of [canary, nonce, secret, ofDatabase, proxy])
    assert.ok(!sent.includes(hidden), `${hidden} was sent`);
});
