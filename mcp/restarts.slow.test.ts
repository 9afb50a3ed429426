/** What `deedhouse mcp --write` keeps, and forgets, when it ends. */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { after, test } from "node:test";
import { startLateRelay } from "../test/harness/late-relay.ts";
import { eventually } from "../test/harness/running-system.ts";
import { whyNotInstalled as skip } from "./test-installed.ts";
import { startService } from "./test-service.ts";

const sessions = skip ? undefined : await import("./test-session.ts");
const { gateway, environmentOf, ordersOf } = await startService();

test("the limit of paid orders outlives a restart, and says when the next one may be placed", { skip }, async () => {
  const reseller = await gateway.addReseller();
  const { env, folder } = environmentOf(reseller);
  const order = async (domain_name: string) => {
    await using session = await sessions!.startSession(["--write", "--paid-orders-per-day", "2"], env);
    const dry = await session.call("registerDomain", { domain_name });
    if (dry.isError) return dry;
    return session.call("registerDomain", { domain_name, confirmation_token: dry.answer.confirmation_token });
  };
  for (const name of ["first.example", "second.example"]) assert.equal((await order(name)).isError, false);
  const third = await order("third.example");
  assert.equal(third.answer.error_code, "paid_order_limit_reached");
  assert.match(third.answer.error_text, /T00:00:00\.000Z.*--paid-orders-per-day N/);
  assert.equal((await ordersOf(reseller)).length, 2);
  assert.match(readdirSync(folder).join(), /^mcp-paid-orders-\d{4}-\d\d-\d\d\.log$/);
});

test("a server that is killed after a dry run orders nothing, and the next one does not know the token", {
  skip,
}, async () => {
  const reseller = await gateway.addReseller();
  const { env } = environmentOf(reseller);
  const killed = await sessions!.startSession(["--write"], env);
  const { answer: dry } = await killed.call("registerDomain", { domain_name: "killed.example" });
  await killed.kill();
  await using session = await sessions!.startSession(["--write"], env);
  const args = { domain_name: "killed.example", confirmation_token: dry.confirmation_token };
  const { answer } = await session.call("registerDomain", args);
  assert.match(answer.error_text, /has been restarted since.*run it dry again/);
  assert.deepEqual(await ordersOf(reseller), []);
});

test("a server that is killed while it sends has counted the order, and the next one finds it", { skip }, async () => {
  const reseller = await gateway.addReseller();
  const relay = await startLateRelay(Number(new URL(gateway.url).port));
  after(() => relay.close());
  const { env } = environmentOf(reseller, `http://127.0.0.1:${relay.port}`);
  const killed = await sessions!.startSession(["--write"], env);
  const { answer: dry } = await killed.call("registerDomain", { domain_name: "sent.example" });
  relay.keep();
  const args = { domain_name: "sent.example", confirmation_token: dry.confirmation_token };
  const lost = assert.rejects(killed.call("registerDomain", args));
  await eventually("it sends", () => relay.keptBytes() > 0);
  await killed.kill();
  await lost;
  relay.deliver();
  await eventually("the order is accepted", async () => (await ordersOf(reseller)).length === 1);
  const [{ order_code } = { order_code: "" }] = await ordersOf(reseller);
  await gateway.settled(reseller, `/orders/${order_code}`);

  await using session = await sessions!.startSession(["--write"], env);
  const again = await session.call("registerDomain", { domain_name: "sent.example" });
  assert.equal(again.answer.error_code, "domain_availability_taken");
  const other = await session.call("registerDomain", { domain_name: "other.example" });
  assert.match(other.answer.effects.join(" "), /paid order 2 of the 10/);
  assert.equal((await ordersOf(reseller)).length, 1);
});
