/**
 * Kills a worker between any two steps of an order, while a second one waits to take over. Whatever had been written by then,
 * the order ends correctly: at most one create is executed, and the name is held if and only if the order is Finished.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TestGateway, TestReseller } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { type HeldChange, holdAt } from "./hold.ts";
import { assertEnds, creates, type PlacedOrder, place, until } from "./judge.ts";
import { cancel } from "./operate.ts";
import { startWithWorkers } from "./worker-process.ts";

interface Point {
  name: string;
  /** The beginning of the domain name, which the sandbox registry understands. */
  label?: string;
  /** What the worker is about to commit when it is killed. */
  change: HeldChange;
  /** Whether it is committed nevertheless. */
  isCommitted: boolean;
  /** Orders a name for the reseller first: then its contact is known, and the order sends its create at once. */
  isStraight?: boolean;
  /** The operator cancels it while its create is unanswered. */
  isCancelled?: boolean;
  ends?: string;
}

const orders = (when: string): HeldChange => ({ table: "orders", on: "UPDATE", when });
const attempts = (on: HeldChange["on"], command: string): HeldChange => ({
  table: "attempts",
  on,
  when: `NEW.command = '${command}'`,
});
const begun: HeldChange = orders("OLD.status = 'NotProvisioned' AND NEW.phase = 'create'");
const messages: HeldChange = { table: "poll_messages", on: "INSERT", when: "true" };

const points: Point[] = [
  { name: "before the claim", change: orders("NEW.phase = 'check'"), isCommitted: false },
  { name: "after the claim", change: orders("NEW.phase = 'check'"), isCommitted: true },
  { name: "after the check", change: orders("NEW.phase = 'create'"), isCommitted: true },
  {
    name: "after the contact's attempt",
    change: attempts("INSERT", "contact:create"),
    isCommitted: true,
  },
  { name: "after the contact's answer", change: attempts("UPDATE", "contact:create"), isCommitted: false },
  { name: "before the attempt", change: attempts("INSERT", "domain:create"), isCommitted: false },
  { name: "after the attempt, before its bytes", change: attempts("INSERT", "domain:create"), isCommitted: true },
  {
    name: "after the bytes, never executed",
    label: "drop-before-",
    change: orders("NEW.phase = 'verify'"),
    isCommitted: false,
  },
  { name: "after the answer", change: orders("NEW.status = 'Finished'"), isCommitted: false },
  { name: "after the end", change: orders("NEW.status = 'Finished'"), isCommitted: true },
  {
    name: "between the two looks",
    label: "drop-after-",
    change: orders("NEW.confirm_after IS NOT NULL"),
    isCommitted: true,
  },
  {
    name: "after the second look",
    label: "drop-after-",
    change: orders("NEW.status = 'Finished'"),
    isCommitted: false,
  },
  {
    name: "after a create without a trace",
    label: "drop-before-",
    change: orders("OLD.phase = 'verify' AND NEW.phase = 'create'"),
    isCommitted: true,
  },
  {
    name: "after the answer that it is pending",
    label: "pending-deny-",
    change: orders("NEW.status = 'Pending'"),
    isCommitted: false,
    ends: "Errors",
  },
  {
    name: "after it is pending",
    label: "pending-approve-",
    change: orders("NEW.status = 'Pending'"),
    isCommitted: true,
  },
  { name: "before the claim with its attempt", change: begun, isStraight: true, isCommitted: false },
  { name: "after the claim with its attempt, before its bytes", change: begun, isStraight: true, isCommitted: true },
  {
    name: "after the answer of a straight order",
    change: orders("NEW.status = 'Finished'"),
    isStraight: true,
    isCommitted: false,
  },
  { name: "before the message's commit", label: "pending-approve-", change: messages, isCommitted: false },
  {
    name: "after the message's commit, before its ack",
    label: "pending-deny-",
    change: messages,
    isCommitted: true,
    ends: "Errors",
  },
  {
    name: "before it is known that the name is held, and not wanted",
    change: orders("NEW.phase = 'cancel'"),
    isCancelled: true,
    isCommitted: false,
    ends: "Cancelled",
  },
  {
    name: "after the delete's attempt, before its bytes",
    change: attempts("INSERT", "domain:delete"),
    isCancelled: true,
    isCommitted: true,
    ends: "Cancelled",
  },
  {
    name: "after the delete's answer",
    change: orders("NEW.status = 'Cancelled'"),
    isCancelled: true,
    isCommitted: false,
    ends: "Cancelled",
  },
  {
    name: "after the answer to a pending name's delete",
    label: "pending-deletable-",
    change: orders("NEW.status = 'Cancelled'"),
    isCancelled: true,
    isCommitted: false,
    ends: "Cancelled",
  },
];

test("an order ends correctly although its worker is killed", async (t) => {
  const workers = await startWithWorkers(t, { sandbox: { pendingDelayMs: 300 } });
  const { gateway } = workers;
  let owner = await workers.start();
  let successor = workers.start();
  for (const [number, point] of points.entries()) {
    const { label = "", change, isCommitted, ends = "Finished" } = point;
    await t.test(point.name, async (step) => {
      // Each has its own contact, which is created with its order.
      const reseller = await gateway.addReseller();
      if (point.isStraight) {
        await assertEnds(gateway, reseller, await place(gateway, reseller, `before-${number}.example`), "Finished");
      }
      const hold = await holdAt(step, gateway.databaseUrl, change);
      const name = `${label}killed-${number}.example`;
      const order = await (point.isCancelled ? placeCancelled : place)(gateway, reseller, name);
      await hold.reached();
      const next = await successor;
      await owner.kill();
      await (isCommitted ? hold.release() : hold.rollBack());
      owner = next;
      successor = workers.start();
      await assertEnds(gateway, reseller, order, ends);
      assert.ok(creates(gateway, order.name).filter(({ executed }) => executed).length <= 1, "executed twice");
      await assertNothingLeft(gateway);
    });
  }
  await t.test("after execution, before the answer", async () => {
    const reseller = await gateway.addReseller();
    const order = await place(gateway, reseller, "late-killed.example");
    await until("the create is executed", () => creates(gateway, order.name).some(({ executed }) => executed));
    await successor;
    await owner.kill();
    await assertEnds(gateway, reseller, order, "Finished");
    await assertNothingLeft(gateway);
  });
});

async function placeCancelled(gateway: TestGateway, reseller: TestReseller, name: string): Promise<PlacedOrder> {
  const answer = gateway.registry.hold({ command: "domain:create", name, at: "before-answer" });
  const order = await place(gateway, reseller, name);
  await answer.reached(1);
  assert.notEqual(await cancel(gateway, order.code), "Cancelled");
  answer.release();
  return order;
}

async function assertNothingLeft({ registry, databaseUrl }: TestGateway): Promise<void> {
  await until("all messages are acknowledged", () => registry.store.messages.values().length === 0);
  const open = await runSql(databaseUrl, "SELECT cl_trid FROM attempts WHERE answered_at IS NULL");
  assert.deepEqual(open, [], "attempts are left open");
}
