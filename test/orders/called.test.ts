/** An order is made due (by an operator, a message, the end of a pause) at the moment in which it writes that it waits. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { retryOrder } from "#domains/orders/operate.ts";
import { pauseCreates, resumeCreatesPausedFor, setMaintenance } from "#domains/registry/pause.ts";
import { startTestGateway, type TestGateway } from "../harness/gateway.ts";
import { runSql, untilHeldUp } from "../harness/sql.ts";
import { holdAt } from "./hold.ts";
import { assertEnds, creates, place, statusOf, until } from "./judge.ts";
import { countEvents, decide, putMessage } from "./stage.ts";

const hourMs = 3_600_000;

/** Whatever backs off here is due after the test's end, and the registry has time to be held. */
async function start(t: TestContext) {
  const longMs = { backoffFirstMs: hourMs, backoffMaxMs: hourMs, reconcileIntervalMs: hourMs };
  const gateway = await startTestGateway(t, {
    registry: { ...longMs, queryTimeoutMs: 30_000, transformTimeoutMs: 30_000, pollIntervalMs: 50 },
  });
  return { gateway, reseller: await gateway.addReseller() };
}

/** A pending order during its look at the registry, which has answered that it is still pending. */
async function lookingAtPending(t: TestContext, name: string) {
  const { gateway, reseller } = await start(t);
  const order = await place(gateway, reseller, name);
  await until("it is pending", async () => (await statusOf(gateway, reseller, order)) === "Pending");
  const look = gateway.registry.hold({ command: "domain:info", name, at: "before-answer", times: 1 });
  await retryOrder(gateway.context, order.code);
  await look.reached(1);
  return { gateway, reseller, order, look };
}

test("an order that an operator retries while it looks, and finds nothing new, looks again at once", async (t) => {
  const { gateway, reseller, order, look } = await lookingAtPending(t, "pending-never-hurried.example");
  decide(gateway, order.name, true);
  await retryOrder(gateway.context, order.code);
  look.release();
  await assertEnds(gateway, reseller, order, "Finished");
});

test("a message that comes while its order looks, and finds nothing new, makes it look again soon", async (t) => {
  const { gateway, reseller, order, look } = await lookingAtPending(t, "pending-never-told.example");
  putMessage(gateway, "told", order.name, true, "approved");
  await until("the message is acknowledged", () => gateway.registry.store.messages.find("told") === undefined);
  look.release();
  // The registry shows its decision a little later than its message.
  decide(gateway, order.name, true);
  await assertEnds(gateway, reseller, order, "Finished");
});

test("an order that is retried while its command is refused continues at once, and the answer is kept", async (t) => {
  const { gateway, reseller } = await start(t);
  const order = await place(gateway, reseller, "code-2104-hurried.example");
  const refused = (count: number) =>
    until(`it is refused ${count} times`, async () => (await countEvents(gateway, order, "out-of-credit")) === count);
  await refused(1);
  const hold = gateway.registry.hold({ command: "domain:create", name: order.name, at: "before-answer", times: 1 });
  await retryOrder(gateway.context, order.code);
  await hold.reached(1);
  await retryOrder(gateway.context, order.code);
  hold.release();
  await refused(3);
  assert.equal(creates(gateway, order.name).length, 3);
  const unanswered = "SELECT FROM attempts WHERE command = 'domain:create' AND result_code IS DISTINCT FROM 2104";
  assert.deepEqual(await runSql(gateway.databaseUrl, unanswered), []);
});

/** Ends the wait of orders while one is about to write that it waits. */
async function endWhileHeld({ databaseUrl }: TestGateway, end: () => Promise<unknown>, release: () => Promise<void>) {
  const ended = end();
  // It waits for the order's lock, or is done already.
  await Promise.race([ended, untilHeldUp(databaseUrl, 2)]);
  await release();
  await ended;
}

/** An order that waits because the registry was not ready. */
async function waiting(t: TestContext, name: string) {
  const { gateway, reseller } = await start(t);
  const order = await place(gateway, reseller, name);
  await until("it waits", async () => (await countEvents(gateway, order, "not-executed")) === 1);
  return { gateway, reseller, order };
}

test("an order that is about to wait for the end of a maintenance continues when it ends at that moment", async (t) => {
  const { gateway, reseller, order } = await waiting(t, "once-2502-maintained.example");
  const { context, databaseUrl } = gateway;
  const now = context.clock.now();
  await setMaintenance(context, "sandbox", { from: now, until: new Date(now.getTime() + hourMs) });
  const when = "NEW.next_step_at > now() + interval '30 minutes'";
  const hold = await holdAt(t, databaseUrl, { table: "orders", on: "UPDATE", when });
  await retryOrder(context, order.code);
  await hold.reached();
  await endWhileHeld(gateway, () => setMaintenance(context, "sandbox", undefined), hold.release);
  await assertEnds(gateway, reseller, order, "Finished");
});

test("an order that is about to wait because creates are paused continues when they are resumed at that moment", async (t) => {
  const { gateway, reseller, order } = await waiting(t, "once-2502-paused.example");
  const { context, databaseUrl } = gateway;
  await pauseCreates(context, "sandbox", "operator", "prices change");
  const when = "NEW.reason LIKE 'creates at % are paused' AND NEW.next_step_at > NEW.updated_at";
  const hold = await holdAt(t, databaseUrl, { table: "orders", on: "UPDATE", when });
  await retryOrder(context, order.code);
  await hold.reached();
  await endWhileHeld(gateway, () => resumeCreatesPausedFor(context, "sandbox", "operator"), hold.release);
  await assertEnds(gateway, reseller, order, "Finished");
});
