/** What a webhook stores has bounds, whatever its receiver answers. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, test } from "node:test";
import { startTestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { deliveriesOf, type MadeWebhook, makeWebhook, shownWebhook, startReceiver, tell, until } from "./stage.ts";

const gateway = await startTestGateway({ after });
const words = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`);

const count = async ({ id }: MadeWebhook, where = "true") => {
  const [row] = await runSql<{ rows: string }>(
    gateway.databaseUrl,
    `SELECT count(*) AS rows FROM webhook_deliveries JOIN webhooks ON webhooks.id = webhook_id WHERE webhook_code = $1 AND ${where}`,
    [id],
  );
  return Number(row!.rows);
};

/** Writes deliveries, the newest of them a second old. */
const addDeliveries = ({ id }: MadeWebhook, deliveries: number, status: string) =>
  runSql(
    gateway.databaseUrl,
    `INSERT INTO webhook_deliveries (webhook_id, event_id, type, body, created_at, status, next_at, ends_at)
     SELECT id, 'evt_1_1_' || n.number, 'domain.notice', '{"data": {}}', now() - n.number * interval '1 second', $3, now() + interval '1 hour',
       now() + interval '3 days' FROM webhooks, generate_series(1, $2) AS n (number) WHERE webhook_code = $1`,
    [id, deliveries, status],
  );

test("answers are kept for failures only, and a KiB of each", async (t) => {
  const owner = await gateway.addReseller();
  const receiver = await startReceiver(t);
  const webhook = await makeWebhook(gateway, owner, receiver.url);
  // Each byte that is not UTF-8 would be three bytes in the database.
  receiver.answer = (response) => void response.writeHead(500).end(randomBytes(10_000));
  await tell(gateway, owner, "one");
  // The test of its URL is a delivery, too.
  const ofEvent = async () => (await deliveriesOf(gateway, owner, webhook)).find(({ type }) => type !== "webhook.test");
  await until("it fails", async () => (await ofEvent())?.attempts === 1);
  const failed = await ofEvent();
  const bytes = Buffer.byteLength(failed?.answer_text ?? "");
  assert.ok(bytes > 1_000 && bytes <= 1_024, `${bytes} bytes`);
  receiver.answer = (response) => void response.writeHead(200).end("thank you");
  const resent = await gateway.send(owner, "POST", `${webhook.path}/deliveries/${failed?.event_id}/resend`);
  assert.equal(resent.status, 202);
  await until("it succeeds", async () => (await ofEvent())?.status === "Delivered");
  const delivered = await ofEvent();
  assert.deepEqual([delivered?.answer_status, delivered?.answer_text], [200, undefined]);
});

test("answers are kept for the last hundred failures", async (t) => {
  const owner = await gateway.addReseller();
  const receiver = await startReceiver(t);
  receiver.answer = (response) => void response.writeHead(500).end("no");
  const webhook = await makeWebhook(gateway, owner, receiver.url);
  await addDeliveries(webhook, 150, "Failed");
  await runSql(
    gateway.databaseUrl,
    "UPDATE webhook_deliveries SET answer_text = 'before', attempted_at = webhook_deliveries.created_at FROM webhooks WHERE webhooks.id = webhook_id AND webhook_code = $1",
    [webhook.id],
  );
  await tell(gateway, owner, "one more");
  await until("old answers are gone", async () => (await count(webhook, "answer_text IS NOT NULL")) === 100);
  assert.equal(await count(webhook, "answer_text = 'no'"), 1, "the newest is among them");
});

test("the newest ten thousand deliveries are kept, and all that wait", async (t) => {
  const owner = await gateway.addReseller();
  const receiver = await startReceiver(t);
  const webhook = await makeWebhook(gateway, owner, receiver.url);
  await addDeliveries(webhook, 10_200, "Delivered");
  await runSql(
    gateway.databaseUrl,
    "UPDATE webhook_deliveries SET status = 'Pending' FROM webhooks WHERE webhooks.id = webhook_id AND webhook_code = $1 AND event_id = 'evt_1_1_10200'",
    [webhook.id],
  );
  await tell(gateway, owner, ...words(150));
  await until("they arrive", () => receiver.received.length === 150);
  await until("the oldest are gone", async () => (await count(webhook)) <= 10_101);
  assert.ok((await count(webhook)) >= 10_001);
  assert.equal(await count(webhook, "status = 'Pending'"), 1);
});

test("no more than five thousand deliveries wait; what happens meanwhile stays in the log of events, and is counted", async (t) => {
  const owner = await gateway.addReseller();
  const receiver = await startReceiver(t);
  const webhook = await makeWebhook(gateway, owner, receiver.url);
  await addDeliveries(webhook, 5_000, "Pending");
  await tell(gateway, owner, "five thousand and one");
  assert.equal((await gateway.send(owner, "POST", `${webhook.path}/test`)).status, 202);
  await until("a step has ended", () => receiver.received.length > 0);
  assert.equal(await count(webhook, "type = 'domain.notice'"), 5_000);
  const pending = async () => ((await gateway.send(owner, "GET", webhook.path)).body as { pending: number }).pending;
  await until("it is counted", async () => (await pending()) === 5_001);
  await runSql(
    gateway.databaseUrl,
    "UPDATE webhook_deliveries SET next_at = now() FROM webhooks WHERE webhooks.id = webhook_id AND webhook_code = $1 AND event_id LIKE 'evt_1_1_1__'",
    [webhook.id],
  );
  assert.equal((await gateway.send(owner, "POST", `${webhook.path}/test`)).status, 202);
  await until("it follows", () => receiver.received.some(({ event }) => event.data.text === "five thousand and one"));
});

test("the last hundred tests of a webhook are kept", async (t) => {
  const owner = await gateway.addReseller();
  const [receiver, second] = [await startReceiver(t), await startReceiver(t)];
  const webhook = await makeWebhook(gateway, owner, receiver.url);
  await addDeliveries(webhook, 150, "Delivered");
  await runSql(
    gateway.databaseUrl,
    "UPDATE webhook_deliveries SET type = 'webhook.test' FROM webhooks WHERE webhooks.id = webhook_id AND webhook_code = $1",
    [webhook.id],
  );
  assert.equal((await gateway.send(owner, "POST", `${webhook.path}/test`)).status, 202);
  assert.equal(await count(webhook, "type = 'webhook.test'"), 100);
  await until("it is delivered", async () => (await count(webhook, "status = 'Pending'")) === 0);
  const changed = await gateway.send(owner, "PUT", webhook.path, { body: { url: second.url } });
  assert.equal(changed.status, 200, changed.text);
  await until("the new URL answers its test", async () => (await shownWebhook(gateway, owner, webhook)).verified);
  assert.equal(await count(webhook, "type = 'webhook.test'"), 100);
});
