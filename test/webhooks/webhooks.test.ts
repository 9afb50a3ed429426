import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { after, test } from "node:test";
import type { ShownEvent } from "#events/catalogue.ts";
import { assertError } from "../harness/assert-reply.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { assertSigned, deliveriesOf, makeWebhook, shownWebhook, startReceiver, tell, textsOf, until } from "./stage.ts";

const gateway = await startTestGateway({ after });
const owner = await gateway.addReseller();
const other = await gateway.addReseller();

test("a registration arrives at the webhook, signed, as GET /events has it", async (t) => {
  const receiver = await startReceiver(t);
  const foreign = await startReceiver(t);
  await tell(gateway, owner, "before there was a webhook");
  const webhook = await makeWebhook(gateway, owner, receiver.url, { description: "the shop" });
  assert.match(webhook.id, /^wh_[0-9a-f]{20}$/);
  assert.match(webhook.secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  await makeWebhook(gateway, other, foreign.url);
  const { headers } = await gateway.send(owner, "POST", "/domains/registrations", {
    body: { domain_name: "hooked.example" },
  });
  await gateway.settled(owner, headers.location!);
  await until("both events arrive", () => receiver.received.length === 2);
  const events = (await gateway.send(owner, "GET", "/events?types=domain.registered,order.finished"))
    .body as ShownEvent[];
  const byId = (id: string) => events.find((event) => event.id === id);
  for (const received of receiver.received) {
    assert.deepEqual(received.event, byId(received.event.id));
    assert.equal(received.headers["webhook-id"], received.event.id);
    assert.equal(received.headers["content-type"], "application/json");
    assertSigned(received, webhook.secret);
  }
  await until(
    "both and the test are noted",
    async () => (await deliveriesOf(gateway, owner, webhook, "?status=Delivered")).length === 3,
  );
  const [delivery] = await deliveriesOf(gateway, owner, webhook);
  assert.equal(delivery?.answer_status, 204);
  assert.equal(delivery?.attempts, 1);
  assert.deepEqual(foreign.received, [], "nobody gets what is not theirs");
  const shown = (await gateway.send(owner, "GET", webhook.path)).body as Record<string, unknown>;
  assert.equal(shown.secret, undefined);
  assert.equal(shown.pending, 0);
  for (const path of [webhook.path, `${webhook.path}/deliveries`]) {
    assertError(await gateway.send(other, "GET", path), "webhook_not_found");
  }
  assert.deepEqual(
    ((await gateway.send(other, "GET", "/webhooks")).body as { id: string }[]).map(({ id }) => id === webhook.id),
    [false],
  );
});

test("it gets the types that it wants, and that the key which wrote it last may read", async (t) => {
  const reseller = await gateway.addReseller();
  const wanting = await startReceiver(t);
  const seeing = await startReceiver(t);
  const key = await gateway.addKey(reseller, { scopes: ["hosting:read", "webhooks:manage"] });
  await makeWebhook(gateway, reseller, wanting.url, { types: ["hosting.*", "domain.left"] });
  await makeWebhook(gateway, key, seeing.url);
  await tell(gateway, reseller, "neither");
  await runSql(
    gateway.databaseUrl,
    `INSERT INTO events (era, reseller_id, at, type, subject, data)
     SELECT era, $1, now(), type, 'a.example', '{}' FROM event_log, unnest('{domain.left,hosting.ready}'::text[]) AS type`,
    [reseller.id],
  );
  await until("they arrive", () => wanting.received.length === 2 && seeing.received.length === 1);
  assert.deepEqual(wanting.received.map(({ event }) => event.type).sort(), ["domain.left", "hosting.ready"]);
  assert.equal(seeing.received[0]?.event.type, "hosting.ready");
});

test("a new secret signs at once, and the one before it for a day", async (t) => {
  const reseller = await gateway.addReseller();
  const receiver = await startReceiver(t);
  const webhook = await makeWebhook(gateway, reseller, receiver.url);
  const rotated = await gateway.send(reseller, "POST", `${webhook.path}/secret`);
  const { secret } = rotated.body as { secret: string };
  assert.notEqual(secret, webhook.secret);
  await tell(gateway, reseller, "two signatures");
  await until("it arrives", () => receiver.received.length === 1);
  assertSigned(receiver.received[0]!, secret, webhook.secret);
  await runSql(gateway.databaseUrl, "UPDATE webhooks SET previous_until = now() WHERE webhook_code = $1", [webhook.id]);
  await tell(gateway, reseller, "one signature");
  await until("it arrives", () => receiver.received.length === 2);
  assertSigned(receiver.received[1]!, secret);
});

test("a test and a resend are deliveries like others; the resend has the same id", async (t) => {
  const reseller = await gateway.addReseller();
  const receiver = await startReceiver(t);
  const webhook = await makeWebhook(gateway, reseller, receiver.url);
  const tested = await gateway.send(reseller, "POST", `${webhook.path}/test`);
  assert.equal(tested.status, 202);
  await until("the test arrives", () => receiver.received.length === 1);
  assert.equal(receiver.received[0]?.event.type, "webhook.test");
  assertSigned(receiver.received[0]!, webhook.secret);
  await tell(gateway, reseller, "again, please");
  await until(
    "it is noted",
    async () => (await deliveriesOf(gateway, reseller, webhook, "?status=Delivered")).length === 3,
  );
  const { id } = receiver.received[1]!.event;
  const resent = await gateway.send(reseller, "POST", `${webhook.path}/deliveries/${id}/resend`);
  assert.equal(resent.status, 202, resent.text);
  await until("it arrives again", () => receiver.received.length === 3);
  assert.equal(receiver.received[2]?.event.id, id);
  const nobody = await gateway.send(reseller, "POST", `${webhook.path}/deliveries/evt_1_1_1/resend`);
  assertError(nobody, "webhook_delivery_not_found");
});

test("a webhook can be changed, disabled, enabled with what happened meanwhile, and deleted", async (t) => {
  const reseller = await gateway.addReseller();
  const [first, second] = [await startReceiver(t), await startReceiver(t)];
  const webhook = await makeWebhook(gateway, reseller, first.url);
  const put = (body: object) => gateway.send(reseller, "PUT", webhook.path, { body });
  assert.equal((await put({ enabled: false })).status, 200);
  await tell(gateway, reseller, "while it is disabled");
  assertError(await gateway.send(reseller, "POST", `${webhook.path}/test`), "webhook_disabled");
  const changed = await put({ url: second.url, description: "moved", enabled: true });
  assert.equal((changed.body as { description: string }).description, "moved");
  await until("it arrives", () => second.received.length === 1);
  assert.deepEqual(textsOf(second.received), ["while it is disabled"]);
  assert.deepEqual(first.received, []);
  assert.equal((await gateway.send(reseller, "DELETE", webhook.path)).status, 204);
  assertError(await gateway.send(reseller, "GET", webhook.path), "webhook_not_found");
});

test("a failure that ends after its reseller has given another address is not the new one's", async (t) => {
  const owner = await gateway.addReseller();
  const [broken, mended] = [await startReceiver(t), await startReceiver(t)];
  const asked = Promise.withResolvers<ServerResponse>();
  broken.answer = asked.resolve;
  const made = await makeWebhook(gateway, owner, broken.url);
  const isFailing = "failing_since = now() - interval '73 hours', failure_count = 9";
  await runSql(gateway.databaseUrl, `UPDATE webhooks SET ${isFailing} WHERE webhook_code = $1`, [made.id]);
  await tell(gateway, owner, "kept");
  await runSql(gateway.databaseUrl, "UPDATE webhooks SET next_step_at = now() WHERE webhook_code = $1", [made.id]);
  const response = await asked.promise;
  const { status } = await gateway.send(owner, "PUT", made.path, { body: { url: mended.url } });
  assert.equal(status, 200);
  response.writeHead(500).end();
  await until("the delivery fails", async () => (await deliveriesOf(gateway, owner, made))[0]?.attempts === 1);
  await tell(gateway, owner, "next");
  await until("the next one arrives", () => textsOf(mended.received).includes("next"));
  const shown = (await gateway.send(owner, "GET", made.path)).body as { enabled: boolean; failing_since?: string };
  assert.deepEqual([shown.enabled, shown.failing_since], [true, undefined]);
});

test("a failure ends although the database keeps its beginning more precisely than the program", async (t) => {
  const reseller = await gateway.addReseller();
  const receiver = await startReceiver(t);
  receiver.answer = (response) => void response.writeHead(500).end();
  const webhook = await makeWebhook(gateway, reseller, receiver.url);
  const since = async () => (await shownWebhook(gateway, reseller, webhook)).failing_since;
  await tell(gateway, reseller, "one");
  await until("it fails", async () => (await since()) !== undefined);
  await runSql(
    gateway.databaseUrl,
    "UPDATE webhooks SET failing_since = failing_since + interval '7 microseconds', paused_until = paused_until + interval '7 microseconds' WHERE webhook_code = $1",
    [webhook.id],
  );
  receiver.answer = (response) => void response.writeHead(204).end();
  assert.equal((await gateway.send(reseller, "POST", `${webhook.path}/test`)).status, 202);
  await until("it is well again", async () => (await since()) === undefined);
});

test("an account has ten webhooks at most", async () => {
  const reseller = await gateway.addReseller();
  const body = { url: "http://127.0.0.1:9/" };
  const replies = await Promise.all(
    Array.from({ length: 11 }, () => gateway.send(reseller, "POST", "/webhooks", { body })),
  );
  assert.deepEqual(replies.map(({ status }) => status).sort(), [...Array.from({ length: 10 }, () => 201), 400]);
});

test("a repeat of a request that made a webhook makes no second one, and shows no secret", async () => {
  const reseller = await gateway.addReseller();
  const request = { body: { url: "http://127.0.0.1:9/" }, headers: { "idempotency-key": "make-it" } };
  const [made, repeated] = [
    await gateway.send(reseller, "POST", "/webhooks", request),
    await gateway.send(reseller, "POST", "/webhooks", request),
  ];
  const { secret, ...webhook } = made.body as { secret: string };
  assert.ok(secret);
  assert.deepEqual(repeated.body, webhook);
  assert.equal(((await gateway.send(reseller, "GET", "/webhooks")).body as unknown[]).length, 1);
});
