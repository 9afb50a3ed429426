/** Receivers that fail, hang, redirect, or lead to private addresses: nothing is lost, and nobody else is delayed. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertError } from "../harness/assert-reply.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { createSteeredClock } from "../harness/steered-clock.ts";
import {
  deliveriesOf,
  type MadeWebhook,
  makeWebhook,
  postWebhook,
  shownWebhook,
  startReceiver,
  tell,
  textsOf,
  until,
} from "./stage.ts";

const clock = createSteeredClock();
const gateway = await startTestGateway({ after }, { clock });
/** Resolves when what was received is noted, too: only then does the clock's next jump make the webhook due. */
const stepEnded = ({ id }: MadeWebhook) =>
  until("the step has ended", async () => {
    const rows = await runSql<{ is_due: boolean | null }>(
      gateway.databaseUrl,
      "SELECT next_step_at <= $2 AS is_due FROM webhooks WHERE webhook_code = $1",
      [id, clock.now()],
    );
    return rows[0]!.is_due !== true;
  });
const words = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`);

test("a receiver that answers 500 for a day gets everything afterwards, each event with its one id", async (t) => {
  const reseller = await gateway.addReseller();
  const receiver = await startReceiver(t);
  let isDown = true;
  receiver.answer = (response) => void response.writeHead(isDown ? 500 : 200).end(isDown ? "try later" : "ok");
  const webhook = await makeWebhook(gateway, reseller, receiver.url);
  await tell(gateway, reseller, ...words(30));
  for (let hour = 0; hour < 24; hour++) {
    const before = receiver.received.length;
    clock.skip(1);
    await until("it tries again", () => receiver.received.length > before);
    await stepEnded(webhook);
    if (hour === 12) await tell(gateway, reseller, "at noon");
  }
  const attempts = receiver.received.length;
  assert.ok(attempts < 200, `${attempts} attempts in a day`);
  const [failed] = await deliveriesOf(gateway, reseller, webhook, "?status=Pending");
  assert.equal(failed?.status, "Pending");
  const shown = (await gateway.send(reseller, "GET", webhook.path)).body as Record<string, unknown>;
  assert.ok(shown.failing_since && shown.enabled === true, JSON.stringify(shown));
  isDown = false;
  // What waits longer follows as soon as one is delivered.
  clock.skip(1);
  await until("all are delivered", async () => {
    const page = await deliveriesOf(gateway, reseller, webhook, "?take=100");
    return page.length === 32 && page.every(({ status }) => status === "Delivered");
  });
  const texts = new Map<string, Set<string>>();
  for (const { event } of receiver.received) {
    const ids = texts.get(String(event.data.text)) ?? new Set();
    texts.set(String(event.data.text), ids.add(event.id));
  }
  assert.equal(texts.size, 31);
  for (const [word, ids] of texts) assert.equal(ids.size, 1, word);
  const again = (await gateway.send(reseller, "GET", webhook.path)).body as Record<string, unknown>;
  assert.deepEqual([again.failing_since, again.pending], [undefined, 0]);
});

test("when every delivery has failed for three days it is disabled with an alarm; enabled again, it gets the rest", async (t) => {
  const reseller = await gateway.addReseller();
  const receiver = await startReceiver(t);
  receiver.answer = (response) => void response.writeHead(503).end();
  const webhook = await makeWebhook(gateway, reseller, receiver.url);
  await tell(gateway, reseller, "one", "two");
  const shown = async () => (await gateway.send(reseller, "GET", webhook.path)).body as Record<string, unknown>;
  await until("it fails", async () => (await shown()).failing_since !== undefined);
  for (let hours = 0; (await shown()).enabled; hours += 12) {
    assert.ok(hours <= 96, "it is disabled after three days");
    const before = receiver.received.length;
    clock.skip(12.1);
    await until("it tries again", () => receiver.received.length > before);
    await stepEnded(webhook);
  }
  assert.match(String((await shown()).disabled_reason), /3 days/);
  const alarms = () =>
    runSql(gateway.databaseUrl, "SELECT FROM alarms WHERE kind = 'webhook' AND subject = $1 AND resolved_at IS NULL", [
      webhook.id,
    ]);
  assert.equal((await alarms()).length, 1);
  await tell(gateway, reseller, "three");
  receiver.answer = (response) => void response.writeHead(200).end();
  receiver.received.length = 0;
  assert.equal((await gateway.send(reseller, "PUT", webhook.path, { body: { enabled: true } })).status, 200);
  assert.equal((await alarms()).length, 0);
  await until(
    "the rest arrives",
    () => new Set(textsOf(receiver.received)).size >= 1 && textsOf(receiver.received).includes("three"),
  );
  const pending = await deliveriesOf(gateway, reseller, webhook, "?status=Failed");
  for (const { event_id } of pending) {
    await gateway.send(reseller, "POST", `${webhook.path}/deliveries/${event_id}/resend`);
  }
  await until("all arrive", () => new Set(textsOf(receiver.received)).size === 3);
});

test("a URL that never answers its test gets few, and after three days its webhook is disabled without an alarm", async (t) => {
  const reseller = await gateway.addReseller();
  const receiver = await startReceiver(t);
  receiver.showsTests = true;
  receiver.answer = (response) => void response.writeHead(404).end();
  const webhook = await postWebhook(gateway, reseller, receiver.url);
  await tell(gateway, reseller, "kept");
  await until("it fails", async () => (await shownWebhook(gateway, reseller, webhook)).failing_since !== undefined);
  for (let hours = 0; (await shownWebhook(gateway, reseller, webhook)).enabled; hours += 12) {
    assert.ok(hours <= 96, "it is disabled after three days");
    const before = receiver.received.length;
    clock.skip(12.1);
    await until("it tries again", () => receiver.received.length > before);
    await stepEnded(webhook);
  }
  const shown = await shownWebhook(gateway, reseller, webhook);
  assert.deepEqual([shown.verified, shown.disabled_reason], [false, "Its URL has not answered a test for 3 days."]);
  assert.ok(receiver.received.every(({ event }) => event.type === "webhook.test"));
  const alarms = "SELECT FROM alarms WHERE kind = 'webhook' AND subject = $1";
  assert.equal((await runSql(gateway.databaseUrl, alarms, [webhook.id])).length, 0);
  receiver.answer = (response) => void response.writeHead(200).end();
  assert.equal((await gateway.send(reseller, "PUT", webhook.path, { body: { enabled: true } })).status, 200);
  await until("what was kept arrives", () => textsOf(receiver.received).includes("kept"));
});

test("one that hangs with a thousand events delays no other", async (t) => {
  const [slow, quick] = [await gateway.addReseller(), await gateway.addReseller()];
  const hanging = await startReceiver(t);
  const working = await startReceiver(t);
  hanging.answer = () => {};
  const webhook = await makeWebhook(gateway, slow, hanging.url);
  const twin = await startReceiver(t);
  await makeWebhook(gateway, slow, twin.url);
  await makeWebhook(gateway, quick, working.url);
  await tell(gateway, slow, ...words(1_000));
  await until("it hangs", () => hanging.received.length > 0);
  await tell(gateway, quick, ...words(50));
  await until("the other account has all", () => new Set(textsOf(working.received)).size === 50);
  await until("its own other receiver has all", () => new Set(textsOf(twin.received)).size === 1_000);
  assert.ok(hanging.received.length <= 8, `${hanging.received.length} requests wait for an answer`);
  await until("the first is noted", async () => {
    const rows = await runSql<{ error_text: string }>(
      gateway.databaseUrl,
      `SELECT error_text FROM webhook_deliveries JOIN webhooks ON webhooks.id = webhook_id
       WHERE webhook_code = $1 AND attempts > 0`,
      [webhook.id],
    );
    return rows.some(({ error_text }) => error_text === "There was no answer within 10 s.");
  });
});

test("redirects are not followed", async (t) => {
  const reseller = await gateway.addReseller();
  const secret = await startReceiver(t);
  const receiver = await startReceiver(t);
  receiver.answer = (response) => void response.writeHead(307, { location: secret.url }).end();
  const webhook = await makeWebhook(gateway, reseller, receiver.url);
  await tell(gateway, reseller, "elsewhere");
  await until("it is noted", async () => (await deliveriesOf(gateway, reseller, webhook))[0]?.answer_status === 307);
  const [delivery] = await deliveriesOf(gateway, reseller, webhook);
  assert.match(delivery?.error_text ?? "", /^It answered 307\. Redirects are not followed/);
  assert.deepEqual(secret.received, []);
  assertError(await gateway.send(reseller, "POST", "/webhooks", { body: { url: "ftp://a.example/" } }), "bad_request");
});
