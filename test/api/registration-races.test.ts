import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertError } from "../harness/assert-reply.ts";
import { startTestGateway, type TestReseller } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";

const gateway = await startTestGateway({ after });
const reseller = await gateway.addReseller();
const rival = await gateway.addReseller();

const registerOften = (domain_name: string, callers: TestReseller[]) =>
  Promise.all(callers.map((as) => gateway.send(as, "POST", "/domains/registrations", { body: { domain_name } })));
const ordersOf = (name: string) =>
  runSql<{ reseller_id: string }>(gateway.databaseUrl, "SELECT reseller_id FROM orders WHERE domain_name = $1", [name]);

test("20 requests of one reseller for one name make one order, and all get its location", async () => {
  // The creation takes longer than all the requests, so that none sees the name finished.
  const name = "slow-500-race.example";
  const replies = await registerOften(name, Array(20).fill(reseller));
  assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([202]));
  assert.equal(new Set(replies.map(({ headers }) => headers.location)).size, 1);
  assert.equal((await ordersOf(name)).length, 1);
  assert.equal((await gateway.settled(reseller, replies[0]?.headers.location ?? "")).status, "Finished");
  const creates = gateway.registry.store.journal
    .entries({ name })
    .filter(({ command, executed }) => command === "domain:create" && executed);
  assert.equal(creates.length, 1);
});

test("of two resellers that order one name at the same time one gets the order, and for the other it is taken", async () => {
  const name = "slow-300-two.example";
  const callers = Array.from({ length: 20 }, (_, index) => (index % 2 ? rival : reseller));
  const replies = await registerOften(name, callers);
  const [order, ...more] = await ordersOf(name);
  assert.deepEqual(more, []);
  const locations = new Set<string | undefined>();
  for (const [index, reply] of replies.entries()) {
    if (callers[index]?.id === Number(order?.reseller_id)) {
      assert.equal(reply.status, 202, reply.text);
      locations.add(reply.headers.location);
    } else {
      assertError(reply, "domain_availability_taken");
      assert.equal(reply.headers.location, undefined);
    }
  }
  assert.equal(locations.size, 1);
});
