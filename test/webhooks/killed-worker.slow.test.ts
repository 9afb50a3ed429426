import assert from "node:assert/strict";
import { test } from "node:test";
import { startWithWorkers } from "../orders/worker-process.ts";
import { deliveriesOf, postWebhook, startReceiver, tell, textsOf, until } from "./stage.ts";

test("workers that are killed lose no event, and send it again only with its id", async (t) => {
  const workers = await startWithWorkers(t);
  const { gateway } = workers;
  const reseller = await gateway.addReseller();
  const receiver = await startReceiver(t);
  const webhook = await postWebhook(gateway, reseller, receiver.url);
  const rounds = 3;
  for (let round = 0; round < rounds; round++) {
    const worker = await workers.start();
    const before = receiver.received.length;
    const held = Promise.withResolvers<void>();
    // The request has arrived, its answer has not: the worker is killed in between, sometimes just after.
    receiver.answer = (response, { event }) => {
      if (event.data.text === `r${round}-7`) held.resolve();
      else response.writeHead(200).end();
    };
    await tell(gateway, reseller, ...Array.from({ length: 20 }, (_, index) => `r${round}-${index}`));
    await held.promise;
    await worker.kill();
    assert.ok(receiver.received.length > before);
  }
  receiver.answer = (response) => void response.writeHead(200).end();
  await workers.start();
  await until("all are delivered", async () => {
    const page = await deliveriesOf(gateway, reseller, webhook, "?status=Delivered&take=100");
    const { length: rest } = await deliveriesOf(gateway, reseller, webhook, "?status=Delivered&take=100&skip=100");
    // And the test of its URL.
    return page.length + rest === rounds * 20 + 1;
  });
  const ids = new Map<string, string>();
  for (const { event } of receiver.received) {
    const text = String(event.data.text);
    assert.equal(ids.get(text) ?? event.id, event.id, text);
    ids.set(text, event.id);
  }
  assert.equal(ids.size, rounds * 20);
  assert.equal(new Set(textsOf(receiver.received)).size, rounds * 20);
});
