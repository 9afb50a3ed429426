/**
 * Kills a worker between any two steps of a renewal, while a second one waits to take over. Whatever had been written or
 * executed by then, the name is renewed exactly once, or deleted exactly once.
 */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { systemClock } from "#lib/clock.ts";
import type { HoldRequest } from "../../sandbox/registry/holds.ts";
import type { TestGateway, TestReseller } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { type HeldChange, holdAt } from "../orders/hold.ts";
import { startWithWorkers, type WorkerProcess } from "../orders/worker-process.ts";
import { executed, giveNames, untilRenewalIs, yearsLater } from "./stage.ts";

const dayMs = 24 * 60 * 60_000;

type Verb = "domain:renew" | "domain:delete";

interface Point {
  name: string;
  /** The beginning of the domain name, which the sandbox registry understands. */
  label?: string;
  /** What the worker is about to commit when it is killed, and whether that is committed nevertheless. */
  change?: HeldChange;
  isCommitted?: boolean;
  /** Where the registry holds the frame when the worker is killed, and whether it executes it then. */
  frame?: HoldRequest["at"];
  isExecuted?: boolean;
}

const renewals = (when: string): HeldChange => ({ table: "renewals", on: "UPDATE", when });
const orders = (when: string): HeldChange => ({ table: "changes", on: "UPDATE", when });
const attempts: HeldChange = { table: "attempts", on: "INSERT", when: "NEW.order_id IS NOT NULL" };
const placed: HeldChange = { table: "changes", on: "INSERT", when: "NEW.renewal_id IS NOT NULL" };

const renewPoints: Point[] = [
  {
    name: "before it is scheduled",
    change: { table: "renewals", on: "INSERT", when: "true" },
    isCommitted: false,
  },
  {
    name: "after it is scheduled",
    change: { table: "renewals", on: "INSERT", when: "true" },
    isCommitted: true,
  },
  { name: "before its order is placed", change: placed, isCommitted: false },
  { name: "after its order is placed", change: placed, isCommitted: true },
  { name: "before the attempt", change: attempts, isCommitted: false },
  { name: "after the attempt, before its bytes", change: attempts, isCommitted: true },
  { name: "after the bytes, never executed", frame: "before-execution", isExecuted: false },
  { name: "after the bytes, executed after its death", frame: "before-execution", isExecuted: true },
  { name: "after execution, before the answer", frame: "before-answer" },
  {
    name: "after the answer, before its commit",
    change: orders("NEW.verify_cause = 'answered'"),
    isCommitted: false,
  },
  {
    name: "after the answer's commit",
    change: orders("NEW.verify_cause = 'answered'"),
    isCommitted: true,
  },
  {
    name: "between the two looks after a lost answer",
    label: "renew-drop-after-",
    change: orders("NEW.confirm_after IS NOT NULL"),
    isCommitted: true,
  },
  {
    name: "after a renew without a trace",
    label: "renew-drop-before-",
    change: orders("OLD.phase = 'verify' AND NEW.phase = 'send'"),
    isCommitted: true,
  },
  {
    name: "before its end is committed",
    change: renewals("NEW.status = 'Renewed'"),
    isCommitted: false,
  },
  {
    name: "after its end is committed",
    change: renewals("NEW.status = 'Renewed'"),
    isCommitted: true,
  },
];

const deletePoints: Point[] = [
  {
    name: "after the registry's own renewal is seen",
    change: renewals("NEW.phase = 'delete'"),
    isCommitted: true,
  },
  { name: "after the attempt, before its bytes", change: attempts, isCommitted: true },
  { name: "after the bytes, never executed", frame: "before-execution", isExecuted: false },
  { name: "after the bytes, executed after its death", frame: "before-execution", isExecuted: true },
  { name: "after execution, before the answer", frame: "before-answer" },
  {
    name: "between the two looks after a lost answer",
    label: "delete-drop-after-",
    change: orders("NEW.confirm_after IS NOT NULL"),
    isCommitted: true,
  },
  {
    name: "before its end is committed",
    change: renewals("NEW.status = 'Ended'"),
    isCommitted: false,
  },
  { name: "after its end is committed", change: renewals("NEW.status = 'Ended'"), isCommitted: true },
];

async function startCrew(t: TestContext) {
  const profile = { renewalIntervalMs: 100 };
  const { gateway, start } = await startWithWorkers(t, { profile });
  let owner = await start();
  let successor = start();
  return {
    gateway,
    reseller: await gateway.addReseller(),
    /** Kills the owner of the registry's sessions, and runs `between` before the next one works. */
    async killOwner(between: () => unknown): Promise<void> {
      const next: WorkerProcess = await successor;
      await owner.kill();
      await between();
      owner = next;
      successor = start();
    },
  };
}

type Crew = Awaited<ReturnType<typeof startCrew>>;

/** Makes the name due, and kills the owner at the point. */
async function killAt(
  t: TestContext,
  { gateway, killOwner }: Crew,
  { change, isCommitted, frame, isExecuted }: Point,
  command: Verb,
  makeDue: () => Promise<void>,
): Promise<void> {
  if (change) {
    const hold = await holdAt(t, gateway.databaseUrl, change);
    await makeDue();
    await hold.reached();
    await killOwner(() => (isCommitted ? hold.release() : hold.rollBack()));
  } else {
    const hold = gateway.registry.hold({ command, at: frame!, times: 1 });
    await makeDue();
    await hold.reached(1);
    await killOwner(async () => {
      await hold.abandoned(1);
      hold.release({ execute: isExecuted ?? true });
    });
  }
}

async function assertNothingLeft({ databaseUrl }: TestGateway): Promise<void> {
  const open = await runSql(databaseUrl, "SELECT cl_trid FROM attempts WHERE answered_at IS NULL");
  assert.deepEqual(open, [], "attempts are left open");
}

const wholeSeconds = (daysFromNow: number) =>
  new Date(Math.floor(systemClock.now().getTime() / 1000) * 1000 + daysFromNow * dayMs);

test("a name is renewed once although the worker is killed", async (t) => {
  const crew = await startCrew(t);
  const { gateway, reseller } = crew;
  for (const [number, point] of renewPoints.entries()) {
    await t.test(point.name, async (step) => {
      const name = `${point.label ?? ""}killed-${number}.example`;
      const expirationDate = wholeSeconds(10);
      await killAt(step, crew, point, "domain:renew", () => {
        return giveNames(gateway, reseller, new Map([[name, { expirationDate }]]));
      });
      await untilRenewalIs(gateway, name, "Renewed");
      assert.equal(executed(gateway, name, "domain:renew"), 1, "renews executed");
      const until = yearsLater(expirationDate.toISOString(), 1);
      assert.equal(gateway.registry.store.domains.find(name)?.exDate, until);
      assert.equal(await expirationOf(gateway, reseller, name), until);
      await assertNothingLeft(gateway);
    });
  }
});

async function expirationOf(gateway: TestGateway, reseller: TestReseller, name: string): Promise<unknown> {
  const { body } = await gateway.send(reseller, "GET", `/domains/${name}`);
  return (body as { expiration_date?: string }).expiration_date;
}

test("a name that is switched off is deleted once although the worker is killed", async (t) => {
  const crew = await startCrew(t);
  const { gateway, reseller } = crew;
  for (const [number, point] of deletePoints.entries()) {
    await t.test(point.name, async (step) => {
      const name = `${point.label ?? ""}ending-${number}.example`;
      // The registry has renewed it already.
      const expirationDate = wholeSeconds(-1);
      const registryExDate = new Date(yearsLater(expirationDate.toISOString(), 1));
      await killAt(step, crew, point, "domain:delete", () => {
        return giveNames(gateway, reseller, new Map([[name, { expirationDate, registryExDate, willRenew: false }]]));
      });
      await untilRenewalIs(gateway, name, "Ended");
      assert.equal(executed(gateway, name, "domain:delete"), 1, "deletes executed");
      assert.equal(executed(gateway, name, "domain:renew"), 0, "renews executed");
      assert.equal(await expirationOf(gateway, reseller, name), undefined);
      await assertNothingLeft(gateway);
    });
  }
});
