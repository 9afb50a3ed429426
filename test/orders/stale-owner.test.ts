/** The database refuses what an owner of a registry's sessions begins or decides after its lease is over. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { findOrderByCode } from "#domains/orders/order.ts";
import { begin, write } from "#domains/orders/write.ts";
import { LeaseLost, type OwnerLease } from "#domains/registry/sessions.ts";
import { findRenewal, writeRenewal } from "#domains/schedule/renewals.ts";
import { runSql } from "../harness/sql.ts";
import { giveNames, renewalOf, startStage } from "../renewals/stage.ts";
import { place, until } from "./judge.ts";

const dayMs = 24 * 60 * 60_000;
const attempts = "SELECT cl_trid FROM attempts";

test("the database refuses the attempts and decisions of an owner whose epoch is over, or whose lease has expired", async (t) => {
  const stage = await startStage(t, { registry: { renewalLeadDays: 10 } });
  const { gateway, reseller } = stage;
  const { databaseUrl, context } = gateway;
  await giveNames(
    gateway,
    reseller,
    new Map([["kept.example", { expirationDate: new Date(Date.parse("2040-01-01")) }]]),
  );
  await stage.travelTo("kept.example", 30);
  await until("its renewal is scheduled", async () => (await renewalOf(gateway, "kept.example")) !== undefined);
  const { code } = await place(gateway, reseller, "pending-never-x.example");
  await until("it is pending", async () => (await findOrderByCode(context, code))?.status === "Pending");
  await gateway.stopWorker();
  const before = await runSql(databaseUrl, attempts);
  const [order, row] = [await findOrderByCode(context, code), await renewalOf(gateway, "kept.example")];
  const renewal = await findRenewal(context, Number(row?.id));
  assert.ok(order && renewal);

  const epochNow = "SELECT epoch::int FROM registry_leases";
  const [present] = await runSql<{ epoch: number }>(databaseUrl, epochNow);
  const asOwner = (epoch: number) => {
    const lease: OwnerLease = { registryId: "sandbox", epoch, isHeld: () => true, heldMs: () => dayMs };
    return { ...context, lease };
  };
  const beginDelete = (epoch: number) => begin(asOwner(epoch), order, "domain:delete");
  const later = { nextStepAt: new Date(context.clock.now().getTime() + dayMs) };
  const decisions = [
    (epoch: number) => write(asOwner(epoch), order, { event: "failed", reason: "stale" }),
    (epoch: number) => write(asOwner(epoch), order, later),
    // A renewal sends nothing itself: it places orders.
    (epoch: number) => writeRenewal(asOwner(epoch), renewal, later),
  ];
  // The worker has released the registry.
  await assert.rejects(beginDelete(present!.epoch), LeaseLost);
  await runSql(databaseUrl, "UPDATE registry_leases SET epoch = epoch + 1, expires_at = now() + interval '1 hour'");
  for (const act of [beginDelete, ...decisions]) await assert.rejects(act(present!.epoch), LeaseLost);
  assert.deepEqual(await runSql(databaseUrl, attempts), before);
  assert.equal((await findOrderByCode(context, code))?.status, "Pending");
  await beginDelete(present!.epoch + 1);
});
