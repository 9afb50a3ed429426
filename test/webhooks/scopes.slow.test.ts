/** A key reads by a webhook what GET /events shows it, and nothing else. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertError } from "../harness/assert-reply.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { deliveriesOf, makeWebhook, startReceiver, tell, textsOf, until } from "./stage.ts";

const gateway = await startTestGateway({ after });
const owner = await gateway.addReseller();
const bare = await gateway.addKey(owner, { scopes: ["webhooks:manage"] });
const hosting = await gateway.addKey(owner, { scopes: ["webhooks:manage", "hosting:read"] });
const missing = "authorization_scope_missing";

/** A hosting event, and one of a name. */
const tellBoth = async (text: string) => {
  await tell(gateway, owner, text);
  await runSql(
    gateway.databaseUrl,
    `INSERT INTO events (era, reseller_id, at, type, subject, data)
     SELECT era, $1, now(), 'hosting.ready', 'a.example', '{}' FROM event_log`,
    [owner.id],
  );
};

async function shownTo(as: typeof owner, path: string): Promise<Record<string, unknown>> {
  return (await gateway.send(as, "GET", path)).body as Record<string, unknown>;
}

test("the log of deliveries shows a key the events that it may read", async (t) => {
  const receiver = await startReceiver(t);
  const webhook = await makeWebhook(gateway, owner, receiver.url);
  await tellBoth("of a name");
  assert.equal((await gateway.send(bare, "POST", `${webhook.path}/test`)).status, 202);
  await until("all are delivered", async () => {
    const delivered = await deliveriesOf(gateway, owner, webhook, "?status=Delivered");
    return delivered.length === 4;
  });
  const typesFor = async (as: typeof owner) =>
    (await deliveriesOf(gateway, as, webhook)).map(({ type }) => type).sort();
  assert.deepEqual(await typesFor(owner), ["domain.notice", "hosting.ready", "webhook.test", "webhook.test"]);
  assert.deepEqual(await typesFor(hosting), ["hosting.ready", "webhook.test", "webhook.test"]);
  assert.deepEqual(await typesFor(bare), ["webhook.test", "webhook.test"]);
  const counted = await gateway.send(bare, "GET", `${webhook.path}/deliveries`);
  assert.equal(counted.headers["x-paging-totalresults"], "2");
});

test("a key sends no event again that it may not read", async (t) => {
  const receiver = await startReceiver(t);
  const webhook = await makeWebhook(gateway, owner, receiver.url);
  await tellBoth("once");
  await until("both arrive", () => receiver.received.length === 2);
  const idOf = (type: string) => receiver.received.find(({ event }) => event.type === type)!.event.id;
  const resend = (as: typeof owner, type: string) =>
    gateway.send(as, "POST", `${webhook.path}/deliveries/${idOf(type)}/resend`);
  assertError(await resend(bare, "hosting.ready"), "webhook_delivery_not_found");
  assertError(await resend(hosting, "domain.notice"), "webhook_delivery_not_found");
  assert.equal((await resend(hosting, "hosting.ready")).status, 202);
});

test("a key leads no events to another address that it may not read", async (t) => {
  const [wanted, elsewhere] = [await startReceiver(t), await startReceiver(t)];
  wanted.answer = (response) => void response.writeHead(500).end();
  const webhook = await makeWebhook(gateway, owner, wanted.url);
  await tellBoth("secret");
  await until("it waits", async () => Number((await shownTo(owner, webhook.path)).pending) > 0);
  const put = (as: typeof owner, body: object) => gateway.send(as, "PUT", webhook.path, { body });
  for (const key of [bare, hosting]) {
    assertError(await put(key, { url: elsewhere.url }), missing);
    assertError(await put(key, { types: ["domain.*"] }), missing);
  }
  // What was chosen before waits still.
  assert.equal((await put(owner, { types: ["hosting.*"] })).status, 200);
  assertError(await put(hosting, { url: elsewhere.url }), missing);
  assert.deepEqual(elsewhere.received, []);
  assert.equal((await put(owner, { url: elsewhere.url })).status, 200);
  await until("its owner leads it there", () => textsOf(elsewhere.received).includes("secret"));
  await until("nothing waits", async () => (await shownTo(owner, webhook.path)).pending === 0);
  assert.equal((await put(hosting, { url: wanted.url })).status, 200);
});

test("a change of the rest by such a key leaves what a webhook gets", async (t) => {
  const receiver = await startReceiver(t);
  const webhook = await makeWebhook(gateway, owner, receiver.url);
  for (const body of [{ description: "renamed" }, { enabled: false }, { enabled: true, url: receiver.url }]) {
    assert.equal((await gateway.send(bare, "PUT", webhook.path, { body })).status, 200);
  }
  await tell(gateway, owner, "still comes");
  await until("it arrives", () => textsOf(receiver.received).includes("still comes"));
});

test("a key makes webhooks for the events that it may read", async (t) => {
  const receiver = await startReceiver(t);
  const post = (as: typeof owner, body: object) =>
    gateway.send(as, "POST", "/webhooks", { body: { url: receiver.url, ...body } });
  assertError(await post(bare, {}), missing);
  assertError(await post(bare, { types: ["hosting.*"] }), missing);
  assertError(await post(hosting, { types: ["hosting.*", "domain.left"] }), missing);
  assert.equal((await post(hosting, { types: ["hosting.*"] })).status, 201);
  assert.equal((await post(hosting, {})).status, 201);
});

test("what waits is counted for a key as far as it may read it", async (t) => {
  const receiver = await startReceiver(t);
  receiver.answer = (response) => void response.writeHead(500).end();
  const webhook = await makeWebhook(gateway, owner, receiver.url);
  await tellBoth("waits");
  await until("they wait", async () => (await shownTo(owner, webhook.path)).pending === 2);
  assert.equal((await shownTo(hosting, webhook.path)).pending, 1);
  assert.equal((await shownTo(bare, webhook.path)).pending, 0);
  const list = (await gateway.send(bare, "GET", "/webhooks")).body as { id: string; pending: number }[];
  assert.equal(list.find(({ id }) => id === webhook.id)?.pending, 0);
});
