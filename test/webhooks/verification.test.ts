/** A URL that has not answered a test gets nothing else. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startTestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import {
  assertSigned,
  deliveriesOf,
  makeWebhook,
  postWebhook,
  shownWebhook,
  startReceiver,
  tell,
  textsOf,
  until,
} from "./stage.ts";

const gateway = await startTestGateway({ after });

test("a new URL gets a signed test, and what happens meanwhile once it has answered", async (t) => {
  const reseller = await gateway.addReseller();
  const receiver = await startReceiver(t);
  receiver.showsTests = true;
  receiver.answer = (response) => void response.writeHead(500).end("not mine");
  const webhook = await postWebhook(gateway, reseller, receiver.url);
  await tell(gateway, reseller, "one", "two");
  const shown = () => shownWebhook(gateway, reseller, webhook);
  await until("the test has failed", async () => (await shown()).failing_since !== undefined);
  assert.deepEqual([(await shown()).verified, (await shown()).enabled], [false, true]);
  for (const received of receiver.received) {
    assert.equal(received.event.type, "webhook.test");
    assert.deepEqual(received.event.data, { webhook_id: webhook.id });
    assertSigned(received, webhook.secret);
  }
  const [delivery] = await deliveriesOf(gateway, reseller, webhook);
  assert.deepEqual([delivery?.type, delivery?.status, delivery?.answer_status], ["webhook.test", "Pending", 500]);
  receiver.answer = (response) => void response.writeHead(204).end();
  const tests = receiver.received.length;
  assert.equal((await gateway.send(reseller, "POST", `${webhook.path}/test`)).status, 202);
  await until("what happened meanwhile arrives", () => new Set(textsOf(receiver.received)).size === 3);
  const [answered, ...events] = receiver.received.slice(-3);
  assert.ok(receiver.received.length >= tests + 3);
  assert.equal(answered?.event.id, receiver.received[0]?.event.id, "it is the same test");
  assert.deepEqual(textsOf(events).sort(), ["one", "two"]);
  await until("it is noted", async () => (await shown()).pending === 0);
  assert.deepEqual([(await shown()).verified, (await shown()).failing_since], [true, undefined]);
});

test("a changed URL must answer again, and what waits goes there only then", async (t) => {
  const reseller = await gateway.addReseller();
  const [first, second] = [await startReceiver(t), await startReceiver(t)];
  first.answer = (response) => void response.writeHead(500).end();
  const webhook = await makeWebhook(gateway, reseller, first.url);
  await tell(gateway, reseller, "kept");
  await until("it fails", () => first.received.length > 0);
  second.showsTests = true;
  second.answer = (response) => void response.writeHead(404).end();
  const put = (body: object) => gateway.send(reseller, "PUT", webhook.path, { body });
  assert.equal(((await put({ url: second.url })).body as { verified: boolean }).verified, false);
  await until("it is tried", () => second.received.length > 0);
  assert.deepEqual(
    second.received.map(({ event }) => event.type),
    ["webhook.test"],
  );
  second.answer = (response) => void response.writeHead(200).end();
  // Any change tries it at once.
  assert.equal(((await put({ description: "mended" })).body as { verified: boolean }).verified, false);
  await until("what waited arrives", () => textsOf(second.received).includes("kept"));
  assert.equal((await shownWebhook(gateway, reseller, webhook)).verified, true);
  assert.equal(((await put({ url: second.url })).body as { verified: boolean }).verified, true, "the same URL");
});

test("events do not bring the next test of a URL forward", async (t) => {
  const reseller = await gateway.addReseller();
  const [untested, control] = [await startReceiver(t), await startReceiver(t)];
  untested.showsTests = true;
  untested.answer = (response) => void response.writeHead(500).end();
  const webhook = await postWebhook(gateway, reseller, untested.url);
  await makeWebhook(gateway, reseller, control.url);
  const shown = () => shownWebhook(gateway, reseller, webhook);
  await until("the test has failed", async () => (await shown()).failing_since !== undefined);
  const nextStep = "2099-01-01T00:00:00.000Z";
  await runSql(
    gateway.databaseUrl,
    "UPDATE webhooks SET next_step_at = $2, paused_until = NULL WHERE webhook_code = $1",
    [webhook.id, nextStep],
  );
  await tell(gateway, reseller, "one");
  // One statement wakes both.
  await until("the other one is woken", () => control.received.length === 1);
  const [row] = await runSql<{ next_step_at: Date }>(
    gateway.databaseUrl,
    "SELECT next_step_at FROM webhooks WHERE webhook_code = $1",
    [webhook.id],
  );
  assert.equal(row?.next_step_at.toISOString(), nextStep);
});
