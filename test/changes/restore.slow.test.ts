import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Settings } from "../../sandbox/registry/settings.ts";
import type { Scope } from "../harness/database.ts";
import type { TestReseller } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { until } from "../orders/judge.ts";
import { own, type Stage, setWillRenew, startStage } from "../renewals/stage.ts";
import { change, domain, order, received, replaceWorkerDuring } from "./stage.ts";

const name = "regretted.example";
/** The add grace period is over. */
const laterDays = 20;

/** A gateway whose name was deleted, and can be restored. */
async function startDeleted(scope: Scope, { of = name, ...sandbox }: Partial<Settings> & { of?: string } = {}) {
  const stage = await startStage(scope, { sandbox });
  await own(stage, of);
  await stage.travel(laterDays);
  await remove(stage, of);
  return stage;
}

async function remove(stage: Stage, of: string): Promise<void> {
  assert.equal((await change(stage, "DELETE", `/domains/${of}?confirm=${of}`)).status, "Finished");
}

/** Deletes the name. The end of that wakes the next order about it, whose look at the registry is held. */
async function removeAndHoldNextLook(stage: Stage) {
  const { registry } = stage.gateway;
  const deletion = registry.hold({ command: "domain:delete", name, at: "before-execution" });
  const location = await order(stage, "DELETE", `/domains/${name}?confirm=${name}`);
  await deletion.reached(1);
  const ownLook = registry.hold({ command: "domain:info", name, at: "before-execution", times: 1 });
  const nextLook = registry.hold({ command: "domain:info", name, at: "before-execution" });
  deletion.release();
  await ownLook.reached(1);
  ownLook.release();
  assert.equal((await stage.gateway.settled(stage.reseller, location)).status, "Finished");
  await nextLook.reached(1);
  return nextLook;
}

const executed = (stage: Stage) =>
  received(stage, name, "domain:update").filter((entry) => entry.executed && entry.xml?.includes("restore"));

const ask = ({ gateway }: Stage, as: TestReseller, of = name) => gateway.send(as, "POST", `/domains/${of}/restores`);

test("a restored name is back with what the registry shows, and renews as before", async (t) => {
  const stage = await startStage(t);
  await own(stage, name);
  await setWillRenew(stage, name, false);
  await stage.travel(laterDays);
  const before = await domain(stage, name);
  await remove(stage, name);
  await stage.travel(29);
  const ended = await change(stage, "POST", `/domains/${name}/restores`);
  assert.equal(ended.kind, "restore");
  assert.equal(ended.status, "Finished", String(ended.error_text));
  assert.deepEqual(await domain(stage, name), { ...before, statuses: ["inactive"] });
  assert.equal(before.will_renew, false);
  const [request, report, ...others] = executed(stage);
  assert.match(request?.xml ?? "", /op="request"/);
  assert.match(report?.xml ?? "", /op="report".*Registered Name/s);
  assert.deepEqual(others, []);
  const again = await ask(stage, stage.reseller);
  assert.match(again.text, /domain_not_restorable.*in your portfolio/);
});

test("a registry that wants no report gets none", async (t) => {
  const stage = await startDeleted(t, { restoreReport: false });
  assert.equal((await change(stage, "POST", `/domains/${name}/restores`)).status, "Finished");
  assert.equal(executed(stage).length, 1);
  assert.equal((await domain(stage, name)).status, "inactive");
});

describe("a restore survives its worker at each of its commands, whether the registry executes them or not", async () => {
  for (const [command, execute] of [
    ["request", true],
    ["request", false],
    ["report", true],
    ["report", false],
  ] as const) {
    test(`${command}, ${execute ? "executed" : "lost"}`, async (t) => {
      const stage = await startDeleted(t);
      const { gateway, reseller } = stage;
      const hold = gateway.registry.hold({ command: "domain:restore", name, at: "before-execution" });
      const location = await order(stage, "POST", `/domains/${name}/restores`);
      assert.equal(await order(stage, "POST", `/domains/${name}/restores`), location, "a repeat");
      await hold.reached(1);
      let held = hold;
      if (command === "report") {
        held = gateway.registry.hold({ command: "domain:restore", name, at: "before-execution", times: 1 });
        hold.release();
      }
      await replaceWorkerDuring(held, { gateway, execute });
      assert.equal((await gateway.settled(reseller, location)).status, "Finished");
      const kinds = executed(stage).map(({ xml }) => /op="(\w+)"/.exec(xml ?? "")?.[1]);
      assert.deepEqual(kinds, ["request", "report"], "each is executed once");
      assert.equal((await domain(stage, name)).will_renew, true);
    });
  }
});

test("only the last owner can restore a name, and only until its time is over", async (t) => {
  const stage = await startDeleted(t);
  const { gateway, reseller } = stage;
  const other = await gateway.addReseller();
  const [others, nobodys] = [await ask(stage, other), await ask(stage, other, "nobodys.example")];
  assert.equal(others.status, 404);
  assert.equal(others.text, nobodys.text);
  await stage.travel(31);
  assert.match((await ask(stage, reseller)).text, /domain_not_restorable/);
  // It is free, and somebody else registers it.
  await stage.travel(10);
  await own({ ...stage, reseller: other }, name);
  assert.equal((await ask(stage, reseller)).text, nobodys.text);
  assert.deepEqual(executed(stage), []);
});

test("a name that cannot be restored any more at the registry stays away, and the order says why", async (t) => {
  const stage = await startDeleted(t);
  await runSql(stage.gateway.databaseUrl, "UPDATE domains_ended SET restorable_until = now() + interval '1 year'");
  await stage.travel(31);
  const ended = await change(stage, "POST", `/domains/${name}/restores`);
  assert.equal(ended.status, "Errors");
  assert.match(String(ended.error_text), /does not restore the name any more/);
});

test("a name whose renewal is not decided is restored afterwards", async (t) => {
  const stage = await startStage(t, { registry: { backoffFirstMs: 3_600_000, backoffMaxMs: 3_600_000 } });
  await own(stage, name);
  await stage.travel(laterDays);
  stage.gateway.registry.setFaults({ commands: [{ command: "domain:renew", as: "refuse", code: 2400, times: 1 }] });
  const { expiration_date } = await domain(stage, name);
  const renewal = await order(stage, "POST", `/domains/${name}/renewals`, { years: 1, expiration_date });
  await until("the registry cannot renew now", () => received(stage, name, "domain:renew").length === 1);
  const renewalLook = await removeAndHoldNextLook(stage);
  const refused = await ask(stage, stage.reseller);
  assert.equal(refused.status, 409);
  assert.match(refused.text, /domain_renewal_underway.*not decided yet/);
  assert.ok(Number(refused.headers["retry-after"]) > 0);
  await stage.gateway.stopWorker();
  renewalLook.release();
  await stage.travel(1);
  await stage.gateway.startWorker();
  const { status, error_text } = await stage.gateway.settled(stage.reseller, renewal);
  assert.equal(status, "Errors");
  assert.match(String(error_text), /the registry does not renew the name/);
  assert.equal((await change(stage, "POST", `/domains/${name}/restores`)).status, "Finished");
});

test("a restore that the registry cannot answer now is carried out later", async (t) => {
  const stage = await startDeleted(t);
  const { gateway, reseller } = stage;
  gateway.registry.pause();
  const location = await order(stage, "POST", `/domains/${name}/restores`);
  gateway.registry.resume();
  assert.equal((await gateway.settled(reseller, location)).status, "Finished");
});
