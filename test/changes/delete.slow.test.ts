import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { RegistryProfile } from "#registry/registries.ts";
import type { Settings } from "../../sandbox/registry/settings.ts";
import type { Scope } from "../harness/database.ts";
import type { TestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { until } from "../orders/judge.ts";
import { own, renewalOf, type Stage, startStage, untilRenewalIs } from "../renewals/stage.ts";
import { change, order, received, replaceWorkerDuring } from "./stage.ts";

const name = "given-up.example";
const dayMs = 24 * 60 * 60_000;
/** The add grace period is over. */
const laterDays = 20;

interface Options {
  names?: readonly string[];
  registry?: Partial<RegistryProfile>;
  sandbox?: Partial<Settings>;
}

async function startWith(scope: Scope, { names = [name], ...options }: Options = {}) {
  const stage = await startStage(scope, options);
  await own(stage, ...names);
  return stage;
}

const remove = (stage: Stage, of: string) => change(stage, "DELETE", `/domains/${of}?confirm=${of}`);

interface Departure {
  reason: string;
  restorable_until: Date | null;
  will_renew: boolean;
}

const departuresOf = ({ databaseUrl }: TestGateway, of: string) =>
  runSql<Departure>(
    databaseUrl,
    "SELECT reason, restorable_until, will_renew FROM domains_ended WHERE domain_name = $1",
    [of],
  );

/** The name is not in the portfolio, and was deleted once. @returns its departure */
async function assertLeft({ gateway, reseller }: Stage, of: string): Promise<Departure> {
  assert.equal((await gateway.send(reseller, "GET", `/domains/${of}`)).status, 404, of);
  assert.equal(received({ gateway, reseller }, of, "domain:delete").filter((entry) => entry.executed).length, 1, of);
  const departures = await departuresOf(gateway, of);
  assert.equal(departures.length, 1, of);
  assert.equal(departures[0]?.reason, "deleted");
  return departures[0]!;
}

test("a name that is deleted in its add grace period is free at once, and its order says that it costs nothing", async (t) => {
  const stage = await startWith(t);
  const ended = await remove(stage, name);
  assert.equal(ended.kind, "delete");
  assert.equal(ended.status, "Finished");
  assert.match(String(ended.next), /costs nothing/);
  assert.equal(stage.gateway.registry.store.domains.find(name), undefined);
  assert.equal((await assertLeft(stage, name)).restorable_until, null);
});

test("a name that is deleted later leaves at once, and can be restored for the redemption period", async (t) => {
  const stage = await startWith(t);
  await stage.travel(laterDays);
  const before = stage.clock.now().getTime();
  const ended = await remove(stage, name);
  assert.equal(ended.status, "Finished");
  const { restorable_until: until } = await assertLeft(stage, name);
  const days = (until!.getTime() - before) / dayMs;
  assert.ok(days >= 30 && days < 30.1, `${days} days`);
  assert.ok(String(ended.next).includes(until!.toISOString()), String(ended.next));
  assert.equal(stage.gateway.registry.store.domains.find(name)?.deletion?.stage, "redemptionPeriod");
});

test("the scheduled renewal of a deleted name ends, and nothing is renewed", async (t) => {
  const stage = await startWith(t);
  await stage.travelTo(name, 31);
  await untilRenewalIs(stage.gateway, name, "Scheduled");
  await remove(stage, name);
  assert.equal((await renewalOf(stage.gateway, name))?.status, "Ended");
  await stage.travel(3);
  await assertLeft(stage, name);
  assert.deepEqual(received(stage, name, "domain:renew"), []);
});

describe("a delete whose answer is lost is executed once", async () => {
  for (const label of ["delete-drop-before-", "delete-drop-after-", "delete-garbage-", "delete-late-"]) {
    test(label, async (t) => {
      const lost = `${label}a.example`;
      const stage = await startWith(t, { names: [lost] });
      await stage.travel(laterDays);
      assert.equal((await remove(stage, lost)).status, "Finished");
      assert.notEqual((await assertLeft(stage, lost)).restorable_until, null);
    });
  }
});

test("a delete survives its worker, whether the registry executes it or not", async (t) => {
  const names = ["killed-executed.example", "killed-lost.example"];
  const stage = await startWith(t, { names });
  const { gateway, reseller } = stage;
  for (const killed of names) {
    const hold = gateway.registry.hold({ command: "domain:delete", name: killed, at: "before-execution", times: 1 });
    const location = await order(stage, "DELETE", `/domains/${killed}?confirm=${killed}`);
    assert.equal(await order(stage, "DELETE", `/domains/${killed}?confirm=${killed}`), location, "a repeat");
    await replaceWorkerDuring(hold, { gateway, execute: killed === names[0] });
    assert.equal((await gateway.settled(reseller, location)).status, "Finished", killed);
    await assertLeft(stage, killed);
  }
});

test("a name whose deletion the registry forbids stays, and the order names the status", async (t) => {
  const stage = await startWith(t);
  const { gateway, reseller } = stage;
  const { domains } = gateway.registry.store;
  domains.put({ ...domains.find(name)!, statuses: ["serverDeleteProhibited"] });
  const ended = await remove(stage, name);
  assert.equal(ended.status, "Errors");
  assert.match(String(ended.error_text), /serverDeleteProhibited/);
  assert.deepEqual(received(stage, name, "domain:delete"), []);
  assert.equal((await gateway.send(reseller, "GET", `/domains/${name}`)).status, 200);
});

test("a delete that was refused has not deleted a name that another registrar holds afterwards", async (t) => {
  const stage = await startWith(t);
  const { registry } = stage.gateway;
  registry.setFaults({ commands: [{ command: "domain:delete", as: "refuse", code: 2304 }] });
  const held = registry.hold({ command: "domain:delete", at: "before-answer" });
  const location = await order(stage, "DELETE", `/domains/${name}?confirm=${name}`);
  await held.reached(1);
  registry.store.domains.put({ ...registry.store.domains.find(name)!, clID: "rival" });
  held.release();
  const ended = await stage.gateway.settled(stage.reseller, location);
  assert.equal(ended.status, "Errors");
  assert.match(String(ended.error_text), /another registrar holds the name now/);
});

test("a delete that was lost has not deleted a name that another registrar took meanwhile", async (t) => {
  const stage = await startWith(t, { registry: { pollIntervalMs: 20, transformTimeoutMs: 300, settleMs: 60_000 } });
  const { gateway, reseller } = stage;
  const { registry } = gateway;
  const held = registry.hold({ command: "domain:delete", at: "before-execution", times: 1 });
  const location = await order(stage, "DELETE", `/domains/${name}?confirm=${name}`);
  await held.abandoned(1);
  held.release({ execute: false });
  await registry.transfer({ name, op: "request" });
  await registry.transfer({ name, op: "server-approve" });
  await until("the name has left", async () => (await departuresOf(gateway, name)).length > 0);
  await gateway.stopWorker();
  await stage.travel(1);
  await gateway.startWorker();
  const ended = await gateway.settled(reseller, location);
  assert.equal(ended.status, "Errors");
  assert.match(String(ended.error_text), /another registrar holds the name now/);
  assert.deepEqual(
    (await departuresOf(gateway, name)).map(({ reason }) => reason),
    ["transferred"],
  );
});

test("without its confirmation nothing is deleted", async (t) => {
  const stage = await startWith(t);
  const { gateway, reseller } = stage;
  for (const query of ["", "?confirm=", "?confirm=other.example", `?confirm=${name}&confirm=${name}`]) {
    const reply = await gateway.send(reseller, "DELETE", `/domains/${name}${query}`);
    assert.equal(reply.status, 400, query);
    assert.match(reply.text, /"field":"confirm"/);
  }
  assert.deepEqual(await runSql(gateway.databaseUrl, "SELECT FROM orders"), []);
  assert.equal(
    (await gateway.send(reseller, "DELETE", "/domains/nobodys.example?confirm=nobodys.example")).status,
    404,
  );
});

test("a deleted name's other orders end, and its renewal by hand is refused meanwhile", async (t) => {
  const stage = await startWith(t);
  const { gateway, reseller } = stage;
  const { body } = await gateway.send(reseller, "GET", `/domains/${name}`);
  const { expiration_date } = body as { expiration_date: string };
  const hold = gateway.registry.hold({ command: "domain:delete", name, at: "before-execution" });
  const location = await order(stage, "DELETE", `/domains/${name}?confirm=${name}`);
  await hold.reached(1);
  const renew = await gateway.send(reseller, "POST", `/domains/${name}/renewals`, {
    body: { years: 1, expiration_date },
  });
  assert.match(renew.text, /domain_renewal_underway/);
  const lock = await order(stage, "PUT", `/domains/${name}/transfer-lock`, { transfer_locked: true });
  hold.release();
  assert.equal((await gateway.settled(reseller, location)).status, "Finished");
  assert.equal((await gateway.settled(reseller, lock)).status, "Errors");
});

test("a delete and a renewal that has sent nothing yet do not wait for each other", async (t) => {
  const stage = await startWith(t);
  const { gateway } = stage;
  await stage.travelTo(name, 31);
  await untilRenewalIs(gateway, name, "Scheduled");
  await gateway.stopWorker();
  const target = `/domains/${name}?confirm=${name}`;
  const location = await order(stage, "DELETE", target);
  // As if the order had come just before the renewal was sent.
  await runSql(gateway.databaseUrl, "UPDATE renewals SET status = 'Processing', phase = 'renew'");
  await gateway.startWorker();
  assert.equal((await gateway.settled(stage.reseller, location)).status, "Finished");
  assert.equal((await renewalOf(gateway, name))?.status, "Ended");
  assert.deepEqual(received(stage, name, "domain:renew"), []);
});
