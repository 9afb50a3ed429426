import assert from "node:assert/strict";
import { test } from "node:test";
import { runSql } from "../harness/sql.ts";
import { change, domain, order, type Stage, startStage } from "./stage.ts";

const name = "remembered.example";

interface HistoryEvent {
  at: string;
  event: string;
  text?: string;
  order?: { order_code: string; kind: string; status: string };
}

async function historyOf({ gateway, reseller }: Stage, query = "", as = reseller) {
  const { status, body, headers, text } = await gateway.send(as, "GET", `/domains/${name}/history${query}`);
  assert.equal(status, 200, text);
  return { events: body as HistoryEvent[], headers };
}
const summaries = (events: HistoryEvent[]) =>
  events.map(({ event, order: placed }) => [event, placed?.kind, placed?.status]);
const codeOf = (location: string) => location.slice(location.lastIndexOf("/") + 1);

test("a name's history has its orders as their own addresses show them, and what else happened, newest first", async (t) => {
  const stage = await startStage(t, [name]);
  const { gateway, reseller } = stage;
  await change(stage, "PUT", `/domains/${name}/transfer-lock`, { transfer_locked: true });
  await gateway.send(reseller, "PUT", `/domains/${name}/renew`, { body: { will_renew: false } });
  const { events, headers } = await historyOf(stage);
  assert.deepEqual(summaries(events), [
    ["will-renew-off", undefined, undefined],
    ["ordered", "transfer-lock", "Finished"],
    ["ordered", "create", "Finished"],
  ]);
  assert.equal(headers["x-paging-totalresults"], "3");
  for (const { order: placed, at } of events.slice(1)) {
    const { body } = await gateway.send(reseller, "GET", `/orders/${placed?.order_code}`);
    assert.deepEqual(placed, body);
    assert.equal(at, (body as { created_at: string }).created_at);
  }
  const first = await historyOf(stage, "?take=1");
  const next = /(\?[^>]*)>; rel="next"/.exec(first.headers.link ?? "")?.[1] ?? "";
  assert.deepEqual((await historyOf(stage, next)).events, [events[1]]);
});

test("a reseller sees what happened while the name was its own, even after it left, and nothing of another owner's time", async (t) => {
  const stage = await startStage(t, [name]);
  const { gateway } = stage;
  const next = await gateway.addReseller();
  const stranger = await gateway.addReseller();
  const { events } = await historyOf(stage);
  await runSql(gateway.databaseUrl, "UPDATE domains SET reseller_id = $1 WHERE domain_name = $2", [next.id, name]);
  assert.deepEqual((await historyOf(stage)).events, events);
  assert.deepEqual(
    (await historyOf(stage, "", next)).events,
    [],
    "the name is its own, and nothing has happened since",
  );
  await gateway.send(next, "PUT", `/domains/${name}/renew`, { body: { will_renew: false } });
  assert.deepEqual(summaries((await historyOf(stage, "", next)).events), [["will-renew-off", undefined, undefined]]);
  assert.deepEqual((await historyOf(stage)).events, events);
  const anothers = await gateway.send(stranger, "GET", `/domains/${name}/history`);
  const nobodys = await gateway.send(stranger, "GET", "/domains/nobodys.example/history");
  assert.equal(anothers.status, 404);
  assert.equal(anothers.text, nobodys.text);
});

test("a name shows the codes of its orders that have not ended, the oldest first, and nobody else's", async (t) => {
  const stage = await startStage(t, [name, "other.example"]);
  const { gateway } = stage;
  assert.deepEqual((await domain(stage, name)).changes_pending, []);
  const hold = gateway.registry.holds.place({ command: "domain:update", name, at: "before-answer", times: 1 });
  const locations = [await order(stage, "PUT", `/domains/${name}/transfer-lock`, { transfer_locked: true })];
  await hold.reached(1);
  locations.push(await order(stage, "PUT", `/domains/${name}/transfer-lock`, { transfer_locked: false }));
  assert.deepEqual((await domain(stage, name)).changes_pending, locations.map(codeOf));
  assert.deepEqual((await domain(stage, "other.example")).changes_pending, []);
  const { events } = await historyOf(stage);
  assert.deepEqual(
    events.slice(0, 2).map(({ order: placed }) => placed?.order_code),
    locations.map(codeOf).reverse(),
  );
  hold.release();
  for (const location of locations) await gateway.settled(stage.reseller, location);
  assert.deepEqual((await domain(stage, name)).changes_pending, []);
});

test("the list of orders follows each order from its beginning to its end", async (t) => {
  const stage = await startStage(t, [name]);
  const { gateway, reseller } = stage;
  const list = async (query: string) => {
    const { body, headers } = await gateway.send(reseller, "GET", `/orders?${query}`);
    const codes = (body as { order_code: string }[]).map(({ order_code }) => order_code);
    return { codes, total: headers["x-paging-totalresults"] };
  };
  const hold = gateway.registry.holds.place({ command: "domain:update", name, at: "before-answer", times: 1 });
  const location = await order(stage, "PUT", `/domains/${name}/transfer-lock`, { transfer_locked: true });
  await hold.reached(1);
  assert.deepEqual(await list("kind=transfer-lock&status=Processing"), { codes: [codeOf(location)], total: "1" });
  assert.deepEqual(await list("kind=transfer-lock&status=Finished"), { codes: [], total: "0" });
  hold.release();
  await gateway.settled(reseller, location);
  assert.deepEqual(await list("kind=transfer-lock&status=Processing"), { codes: [], total: "0" });
  assert.deepEqual(await list("kind=transfer-lock&status=Finished"), { codes: [codeOf(location)], total: "1" });
  assert.equal((await list("status=Finished")).total, "2");
});
