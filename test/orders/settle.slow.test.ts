/** An operator settles orders that the machine must not decide, and the registry must agree (row 26). */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { settleOrder } from "#domains/orders/operate.ts";
import { startTestGateway, type TestGateway } from "../harness/gateway.ts";
import { delayOrders } from "./hold.ts";
import { assertEnds, creates, deletes, place, statusOf, until } from "./judge.ts";
import { assertRefused, cancel, operate, operated } from "./operate.ts";
import { countEvents, openAlarms, placeUnexplained } from "./stage.ts";

async function start(t: TestContext, options: Parameters<typeof startTestGateway>[1] = {}) {
  const gateway = await startTestGateway(t, options);
  const reseller = await gateway.addReseller();
  await assertEnds(gateway, reseller, await place(gateway, reseller, "first.example"), "Finished");
  return { gateway, reseller };
}

const note = "the registry's support confirmed it";
const settle = (code: string, as: string, ...more: string[]) =>
  ["orders", "settle", code, "--as", as, "--note", note].concat(more);

/** Asserts that the name is registered for us and in the portfolio, without a create of the order. */
async function assertTaken(gateway: TestGateway, reseller: Parameters<typeof place>[1], name: string): Promise<void> {
  const { status } = await gateway.send(reseller, "GET", `/domains/${name}`);
  assert.equal(status, 200);
  assert.deepEqual(
    creates(gateway, name).map(({ code }) => code),
    [2302],
  );
}

test("an order whose name no create explains is in the operator's queue until an operator settles it as registered", async (t) => {
  const { gateway, reseller } = await start(t);
  const order = await placeUnexplained(gateway, reseller, "by-hand.example");
  const [listed, ...rest] = await operated<Record<string, string>[]>(gateway, "orders", "list", "--attention");
  assert.deepEqual([listed?.order_code, rest], [order.code, []]);
  assert.match(listed?.note ?? "", /no order explains it/);
  assert.ok(Date.parse(listed?.needs_operator_since ?? "") > 0);
  const check = await operate(gateway, "alarms", "list", "--check");
  assert.deepEqual({ code: check.code, stderr: check.stderr }, { code: 1, stderr: "" });
  assert.match(check.stdout, new RegExp(`order +${order.code}`));

  await assertRefused(gateway, settle(order.code, "failed"), 3, /not settled: the registry holds the name for us/);
  assert.equal(await statusOf(gateway, reseller, order), "Processing");
  const { stdout: shown } = await operate(gateway, "orders", "show", order.code);
  assert.match(shown, /^order_code +REG-/);
  assert.match(shown, /^\S+Z +settle-refused +Processing +send +the registry holds the name for us/m);
  assert.match(shown, new RegExp(`^${order.code}-[0-9]+ +domain:create .* 2302 `, "m"));
  const settled = await operated(gateway, ...settle(order.code.toLowerCase(), "registered"));
  assert.deepEqual(settled, { order_code: order.code, status: "Finished" });
  await assertTaken(gateway, reseller, order.name);
  assert.equal((await operate(gateway, "alarms", "list", "--check")).code, 0);
  await assertRefused(gateway, settle(order.code, "failed"), 3, /has ended already, as Finished/);
});

test("an order is settled as failed only if the registry does not hold the name for us, unless an operator forces it", async (t) => {
  // Its own step would also find that the name is gone.
  const { gateway, reseller } = await start(t, { registry: { backoffMaxMs: 3_600_000 } });
  const [gone, forced] = [
    await placeUnexplained(gateway, reseller, "gone.example"),
    await placeUnexplained(gateway, reseller, "forced.example"),
  ];
  gateway.registry.store.domains.delete(gone.name);
  await assertRefused(gateway, settle(gone.code, "registered"), 3, /the registry does not hold the name/);
  assert.equal((await operated(gateway, ...settle(gone.code, "failed"))).status, "Errors");
  assert.equal((await operated(gateway, ...settle(forced.code, "failed", "--force"))).status, "Errors");
  assert.ok(gateway.registry.store.domains.find(forced.name), "it was deleted");
  assert.deepEqual(await openAlarms(gateway), []);
  const { history } = await operated<{ history: Record<string, string>[] }>(gateway, "orders", "show", forced.code);
  assert.deepEqual(
    history.slice(-2).map(({ event, note }) => [event, note]),
    [
      ["settle-requested", note],
      ["settled-failed", note],
    ],
  );
});

test("a pending order is not settled while the registry does not answer", async (t) => {
  const { gateway, reseller } = await start(t);
  const order = await place(gateway, reseller, "pending-never-1.example");
  await until("it is pending", async () => (await statusOf(gateway, reseller, order)) === "Pending");
  await assertRefused(gateway, settle(order.code, "registered"), 3, /has not decided about the name yet/);
  await assertRefused(gateway, settle(order.code, "failed"), 3, /the registry holds the name for us/);
  gateway.registry.pause();
  await assertRefused(gateway, settle(order.code, "registered"), 3, /could not be asked: try again/);
  assert.equal(await statusOf(gateway, reseller, order), "Pending");
});

test("while a create may still be executed an order is neither settled nor retried", async (t) => {
  const { gateway, reseller } = await start(t, { registry: { settleMs: 3_600_000 } });
  const order = await place(gateway, reseller, "drop-before-1.example");
  await until("its answer is lost", async () => (await countEvents(gateway, order, "unanswered")) > 0);
  await assertRefused(
    gateway,
    ["orders", "retry", order.code],
    3,
    /waits until .*: an answer of the registry was lost/,
  );
  const failed = settle(order.code, "failed", "--timeout", "1");
  await assertRefused(gateway, failed, 7, /still waiting for its step/);
  assert.equal(await statusOf(gateway, reseller, order), "Processing");
  const shown = await operated(gateway, "orders", "show", order.code);
  assert.match(String(shown.next), /^at .*whether the command whose answer was lost was executed/);
});

test("an order that waits for an operator looks again when it is retried", async (t) => {
  const { gateway, reseller } = await start(t);
  const order = await placeUnexplained(gateway, reseller, "again.example");
  const shown = await operated(gateway, "orders", "show", order.code);
  assert.match(String(shown.next), /it needs an operator: deedhouse operator orders settle$/);
  gateway.registry.store.domains.delete(order.name);
  await operated(gateway, "orders", "retry", order.code);
  await assertEnds(gateway, reseller, order, "FailedValidation");
  assert.deepEqual(await openAlarms(gateway), []);
});

test("an order of which nothing was sent is cancelled, not settled", async (t) => {
  const { gateway, reseller } = await start(t);
  await delayOrders(gateway.databaseUrl, 600_000);
  const early = await place(gateway, reseller, "early.example");
  await assertRefused(
    gateway,
    settle(early.code, "failed"),
    3,
    /in state NotProvisioned: nothing of it was sent, .* it can be cancelled/,
  );
  await assertRefused(gateway, settle("REG-00000000-000", "failed"), 4, /no order with this code/);
  await assertRefused(gateway, settle(early.code, "registered", "--force"), 2, /only --as failed can be forced/);
  const ofReseller = ["orders", "list", "--reseller", reseller.name];
  const [finished] = await operated<Record<string, string>[]>(gateway, ...ofReseller, "--status", "Finished");
  assert.equal(finished?.domain_name, "first.example");
  await assertRefused(gateway, ["orders", "retry", finished.order_code ?? ""], 3, /has ended already/);
});

test("a name that an operator settles as registered is no longer deleted, although its order was being cancelled", async (t) => {
  const { gateway, reseller } = await start(t);
  const name = "kept.example";
  const created = gateway.registry.hold({ command: "domain:create", name, at: "before-answer" });
  const looked = gateway.registry.hold({ command: "domain:info", name, at: "before-answer" });
  const order = await place(gateway, reseller, name);
  await created.reached(1);
  assert.equal(await cancel(gateway, order.code), "Processing");
  created.release();
  await looked.reached(1);
  await settleOrder(gateway.context, order.code, { as: "done", note: "wanted after all" });
  looked.release();
  await assertEnds(gateway, reseller, order, "Finished");
  assert.deepEqual(deletes(gateway, name), []);
});
