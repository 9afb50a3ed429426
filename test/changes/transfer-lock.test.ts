import assert from "node:assert/strict";
import { test } from "node:test";
import { change, domain, received, startStage } from "./stage.ts";

const name = "locked.example";

test("a lock is at the registry, and in the portfolio, when its order is finished (rows 1, 3, 9)", async (t) => {
  const stage = await startStage(t, [name]);
  assert.equal((await domain(stage, name)).transfer_locked, false);
  const target = `/domains/${name}/transfer-lock`;
  const locked = await change(stage, "PUT", target, { transfer_locked: true });
  assert.equal(locked.kind, "transfer-lock");
  assert.equal(locked.status, "Finished");
  const { store } = stage.gateway.registry;
  assert.deepEqual(store.domains.find(name)?.statuses, ["clientTransferProhibited"]);
  assert.equal((await domain(stage, name)).transfer_locked, true);
  assert.equal((await change(stage, "PUT", target, { transfer_locked: true })).status, "Finished");
  assert.equal(received(stage, name, "domain:update").length, 1, "what is so already is not sent again");
  assert.equal((await change(stage, "PUT", target, { transfer_locked: false })).status, "Finished");
  assert.deepEqual(store.domains.find(name)?.statuses, []);
  assert.equal((await domain(stage, name)).transfer_locked, false);
});

test("a caller that waits gets the finished order at once, and a repeat of its request the 202", async (t) => {
  const stage = await startStage(t, [name]);
  const { gateway, reseller } = stage;
  const request = { body: { transfer_locked: true }, headers: { prefer: "wait=20", "idempotency-key": "lock-1" } };
  const reply = await gateway.send(reseller, "PUT", `/domains/${name}/transfer-lock`, request);
  assert.equal(reply.status, 200, reply.text);
  assert.equal((reply.body as { status: string }).status, "Finished");
  assert.equal(reply.headers["preference-applied"], "wait=20");
  const location = reply.headers.location ?? "";
  const [held, unheld] = [
    await gateway.send(reseller, "GET", location, { headers: { prefer: "wait=5" } }),
    await gateway.send(reseller, "GET", location),
  ];
  assert.deepEqual(
    [held, unheld].map(({ headers }) => headers["preference-applied"]),
    ["wait=5", undefined],
  );
  const repeated = await gateway.send(reseller, "PUT", `/domains/${name}/transfer-lock`, request);
  assert.equal(repeated.status, 202, repeated.text);
  assert.equal(repeated.headers.location, reply.headers.location);
  assert.equal(repeated.headers["idempotency-replayed"], "true");
});

test("another's name and nobody's name are answered alike", async (t) => {
  const stage = await startStage(t, [name]);
  const other = await stage.gateway.addReseller();
  const send = (of: string) =>
    stage.gateway.send(other, "PUT", `/domains/${of}/transfer-lock`, { body: { transfer_locked: true } });
  const [others, nobodys] = [await send(name), await send("nobodys.example")];
  assert.equal(others.status, 404);
  assert.equal(others.text, nobodys.text);
});
