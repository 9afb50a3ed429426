/** Hosts below a name that is deleted: names that use them do not prevent it, and a name that stays keeps its name servers. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { openAlarms } from "../departures/stage.ts";
import { runSql } from "../harness/sql.ts";
import { until } from "../orders/judge.ts";
import { assertRefused, operated } from "../orders/operate.ts";
import {
  own,
  renewalOf,
  type Stage,
  type StageOptions,
  setWillRenew,
  startStage,
  untilRenewalIs,
} from "../renewals/stage.ts";
import { change, domain, order, received } from "./stage.ts";

const name = "given-up.example";
const host = `ns1.${name}`;
const glue = [{ name: host, addresses: ["9.9.9.9"] }];
const outside = "ns1.dns.invalid-tld.net";
const user = "user.example";
const sacrificialSuffix = "sacrificial.invalid";
const renamed = /^ns-[0-9a-f]{20}\.sacrificial\.invalid$/;
/** More than an operator's orders wait before their next try. */
const retryDays = 0.02;

/** The name delegates to a host below it, and to one elsewhere. */
async function startWithHost(t: TestContext, options: StageOptions = {}): Promise<Stage> {
  const stage = await startStage(t, options);
  await own(stage, name);
  await setServers(stage, name, [...glue, outside]);
  return stage;
}

async function setServers(stage: Stage, of: string, servers: (string | object)[]): Promise<void> {
  const done = await change(stage, "PUT", `/domains/${of}/nameservers`, { name_servers: servers });
  assert.equal(done.status, "Finished", String(done.error_text));
}

/** Another reseller, whose name delegates to the host. */
async function addRival(stage: Stage): Promise<Stage> {
  const rival = { ...stage, reseller: await stage.gateway.addReseller() };
  await own(rival, user);
  await setServers(rival, user, [host, outside]);
  return rival;
}

/** A name of another registrar delegates to the host. */
function addForeign({ gateway }: Stage): void {
  const { store } = gateway.registry;
  const delegation = { form: "hostObj" as const, servers: [{ name: host, addresses: [] }] };
  store.domains.put({
    ...store.domains.find(name)!,
    name: "foreign.example",
    roid: "D9-TEST",
    clID: "rival",
    delegation,
  });
}

const target = `/domains/${name}?confirm=${name}`;
const remove = (stage: Stage) => change(stage, "DELETE", target);

const serversOf = async (stage: Stage, of: string) =>
  (await domain(stage, of)).name_servers as { name: string; addresses?: string[] }[];

const delegationOf = ({ gateway }: Stage, of: string) =>
  gateway.registry.store.domains.find(of)?.delegation?.servers.map((server) => server.name);

/** The name is delegated as it was, at the registry and in the portfolio. */
async function assertAsBefore(stage: Stage): Promise<void> {
  const { hosts } = stage.gateway.registry.store;
  assert.deepEqual(delegationOf(stage, name)?.toSorted(), [outside, host]);
  assert.deepEqual(hosts.find(host)?.addresses, [{ version: "v4", address: "9.9.9.9" }]);
  const shown = await serversOf(stage, name);
  assert.deepEqual(
    shown.toSorted((one, other) => one.name.localeCompare(other.name)),
    [{ name: outside }, ...glue],
  );
}

const noteOf = async ({ gateway }: Stage, kind: string) =>
  (
    await runSql<{ note: string }>(
      gateway.databaseUrl,
      "SELECT note FROM alarms WHERE resolved_at IS NULL AND kind = $1",
      [kind],
    )
  )[0]?.note;

const untilAlarm = (stage: Stage, kind: string, text: RegExp) =>
  until(`an alarm says ${text}`, async () => text.test((await noteOf(stage, kind)) ?? ""));

const told = ({ gateway }: Stage, of: string) =>
  runSql<{ text: string }>(
    gateway.databaseUrl,
    "SELECT data ->> 'text' AS text FROM events WHERE subject = $1 AND type = 'domain.changed' AND data ->> 'text' LIKE 'name_servers%' ORDER BY number",
    [of],
  );

/** The other reseller's name uses the renamed host, and its reseller knows. */
async function assertFollowed(rival: Stage): Promise<void> {
  const { gateway } = rival;
  const [first, ...others] = await serversOf(rival, user);
  assert.match(first?.name ?? "", renamed);
  assert.deepEqual(others, [{ name: outside }]);
  assert.deepEqual(delegationOf(rival, user), [first?.name, outside]);
  assert.deepEqual(gateway.registry.store.hosts.find(first!.name)?.addresses, []);
  const [event, ...more] = await told(rival, user);
  assert.equal(event?.text, `name_servers: "${host}" became "${first?.name}" with an order to delete ${name}`);
  assert.deepEqual(more, []);
  assert.equal((await operated(gateway, "domains", "sync", user)).status, "unchanged");
}

test("hosts below a deleted name that only the name itself uses are deleted first", async (t) => {
  const stage = await startWithHost(t);
  const ended = await remove(stage);
  assert.equal(ended.status, "Finished", String(ended.error_text));
  assert.equal(stage.gateway.registry.store.domains.find(name), undefined);
  assert.equal(received(stage, host, "host:delete").length, 1);
  assert.equal(received(stage, host, "host:update").length, 0);
});

test("another reseller's name that uses a host below a name does not prevent its delete: the host is renamed", async (t) => {
  const stage = await startWithHost(t, { registry: { sacrificialSuffix } });
  const rival = await addRival(stage);
  const ended = await remove(stage);
  assert.equal(ended.status, "Finished", String(ended.error_text));
  assert.equal(stage.gateway.registry.store.domains.find(name), undefined);
  await assertFollowed(rival);
  assert.deepEqual(await openAlarms(stage), []);
});

test("the schedule's delete renames the hosts that other names use, and those of the same reseller", async (t) => {
  const stage = await startWithHost(t, { registry: { sacrificialSuffix } });
  const rival = await addRival(stage);
  await own(stage, "second.example");
  await setServers(stage, "second.example", [host]);
  assert.equal(await setWillRenew(stage, name, false), 204);
  await stage.travelTo(name, -1);
  await untilRenewalIs(stage.gateway, name, "Ended");
  assert.equal(stage.gateway.registry.store.domains.find(name)?.deletion?.stage, "redemptionPeriod");
  await assertFollowed(rival);
  assert.match((await serversOf(stage, "second.example"))[0]?.name ?? "", renamed);
});

test("a reseller learns which of its own names use the hosts, and nothing is taken away", async (t) => {
  const stage = await startWithHost(t, { registry: { sacrificialSuffix } });
  await addRival(stage);
  await own(stage, "second.example");
  await setServers(stage, "second.example", [host]);
  const ended = await remove(stage);
  assert.equal(ended.status, "Errors");
  assert.match(String(ended.error_text), /your names second\.example use/);
  assert.doesNotMatch(String(ended.error_text), /user\.example/);
  assert.equal(received(stage, name, "domain:update").length, 1);
  await assertAsBefore(stage);
});

test("without a suffix for renamed hosts, the order waits for an operator, and ends once the host is free", async (t) => {
  const stage = await startWithHost(t);
  const rival = await addRival(stage);
  const location = await order(stage, "DELETE", target);
  await untilAlarm(stage, "order", /other names use ns1\.given-up\.example below it.*sacrificialSuffix/);
  await assertAsBefore(stage);
  const { text } = await stage.gateway.send(stage.reseller, "GET", location);
  assert.match(text, /"status":"Processing"/);
  assert.doesNotMatch(text, /user\.example/);
  // Another order about the name passes.
  assert.equal(
    (await change(stage, "PUT", `/domains/${name}/transfer-lock`, { transfer_locked: true })).status,
    "Finished",
  );
  assert.equal(received(stage, name, "domain:update").length, 2, "nothing else was sent");
  await setServers(rival, user, [outside]);
  await stage.travel(retryDays);
  assert.equal((await stage.gateway.settled(stage.reseller, location)).status, "Finished");
  assert.deepEqual(await openAlarms(stage), []);
});

test("the schedule's delete waits for an operator as well, and the name keeps its name servers", async (t) => {
  const stage = await startWithHost(t);
  await addRival(stage);
  assert.equal(await setWillRenew(stage, name, false), 204);
  await stage.travelTo(name, -1);
  await untilAlarm(stage, "renewal", /other names use ns1\.given-up\.example below it/);
  assert.deepEqual(delegationOf(stage, name), [host, outside]);
  const { order_code: code } = (await renewalOf(stage.gateway, name))!;
  const [row] = await runSql<{ status: string }>(
    stage.gateway.databaseUrl,
    "SELECT status FROM orders WHERE order_code = $1",
    [code],
  );
  assert.equal(row?.status, "Processing");
});

test("a registry that does not rename a host calls an operator, and the next day it is tried again", async (t) => {
  const stage = await startWithHost(t, { registry: { sacrificialSuffix, backoffFirstMs: 20, backoffMaxMs: 20 } });
  const rival = await addRival(stage);
  const { registry } = stage.gateway;
  registry.setFaults({ commands: [{ command: "host:update", as: "refuse", code: 2304 }] });
  const location = await order(stage, "DELETE", target);
  await untilAlarm(stage, "order", /^host:update: 2304 [^;]*; a label or a fault asks for it; set sacrificialSuffix/);
  await assertAsBefore(stage);
  const sent = received(stage, host, "host:update").length;
  await stage.travel(retryDays);
  await until("it has looked again", async () => received(stage, name, "domain:info").length > 0);
  assert.equal(received(stage, host, "host:update").length, sent, "not every quarter of an hour");
  registry.setFaults({ commands: [] });
  await stage.travel(1.01);
  assert.equal((await stage.gateway.settled(stage.reseller, location)).status, "Finished");
  await assertFollowed(rival);
});

test("a use that only the registry knows is found late: the name servers are put back, and an operator is called", async (t) => {
  const stage = await startWithHost(t);
  addForeign(stage);
  const location = await order(stage, "DELETE", target);
  await untilAlarm(
    stage,
    "order",
    /other names use ns1\.given-up\.example below it; its name servers have been put back/,
  );
  await assertAsBefore(stage);
  assert.match((await stage.gateway.send(stage.reseller, "GET", location)).text, /"status":"Processing"/);
  const updates = received(stage, name, "domain:update").length;
  await stage.travel(retryDays);
  assert.equal(
    (await change(stage, "PUT", `/domains/${name}/transfer-lock`, { transfer_locked: true })).status,
    "Finished",
  );
  assert.equal(received(stage, name, "domain:update").length, updates + 1, "they are not taken away again");
});

test("a use that only the registry knows does not prevent a delete where hosts are renamed", async (t) => {
  const stage = await startWithHost(t, { registry: { sacrificialSuffix } });
  addForeign(stage);
  assert.equal((await remove(stage)).status, "Finished");
  assert.match(delegationOf(stage, "foreign.example")?.[0] ?? "", renamed);
});

for (const [lost, fault] of [
  ["", []],
  [
    ", also when the answers to that are lost",
    [
      { command: "host:create", as: "drop-after", times: 1 },
      { command: "host:update", as: "drop-after", times: 1 },
      { command: "domain:update", as: "drop-after", times: 2 },
    ],
  ],
] as const) {
  for (const isUsed of [false, true]) {
    const what = isUsed ? "renamed back" : "created again";
    test(`a delete that the registry refuses late puts the name servers back: hosts are ${what}${lost}`, async (t) => {
      const registry = {
        sacrificialSuffix,
        transformTimeoutMs: 1_000,
        settleMs: 100,
        backoffFirstMs: 20,
        backoffMaxMs: 50,
      };
      const stage = await startWithHost(t, { registry });
      const rival = isUsed ? await addRival(stage) : undefined;
      const refuse = { command: "domain:delete", as: "refuse", code: 2304 } as const;
      stage.gateway.registry.setFaults({ commands: [refuse, ...fault] });
      const ended = await remove(stage);
      assert.equal(ended.status, "Errors");
      assert.match(String(ended.error_text), /^domain:delete: 2304 .*; its name servers have been put back$/);
      await assertAsBefore(stage);
      assert.deepEqual(await openAlarms(stage), []);
      if (!rival) return;
      assert.deepEqual(await serversOf(rival, user), [{ name: host }, { name: outside }]);
      assert.deepEqual(delegationOf(stage, user), [host, outside]);
      assert.equal((await told(rival, user)).length, 2);
    });
  }
}

test("name servers that cannot be put back are in the order's error, and an operator is called", async (t) => {
  const stage = await startWithHost(t, { registry: { backoffFirstMs: 20, backoffMaxMs: 20 } });
  stage.gateway.registry.setFaults({
    commands: [
      { command: "domain:delete", as: "refuse", code: 2304 },
      { command: "host:create", as: "refuse", code: 2306 },
    ],
  });
  const ended = await remove(stage);
  assert.equal(ended.status, "Errors");
  assert.match(
    String(ended.error_text),
    /^domain:delete: 2304 .*; its name servers could not be put back: host:create: 2306 /,
  );
  await untilAlarm(stage, "order", /could not be put back/);
});

test("name servers that were set since are left as they are", async (t) => {
  const stage = await startWithHost(t, { registry: { backoffFirstMs: 20, backoffMaxMs: 20 } });
  const { registry } = stage.gateway;
  registry.setFaults({ commands: [{ command: "domain:delete", as: "refuse", code: 2304 }] });
  const held = registry.hold({ command: "domain:delete", at: "before-answer" });
  const location = await order(stage, "DELETE", target);
  await held.reached(1);
  await registry.change(name, { nameServers: [{ name: "ns1.elsewhere.test" }] });
  held.release();
  const ended = await stage.gateway.settled(stage.reseller, location);
  assert.match(String(ended.error_text), /its name servers have been changed since$/);
  assert.deepEqual(delegationOf(stage, name), ["ns1.elsewhere.test"]);
});

test("an order that an operator gives up puts the name servers back first", async (t) => {
  const stage = await startWithHost(t);
  const { gateway } = stage;
  gateway.registry.setFaults({ commands: [{ command: "domain:delete", as: "refuse", code: 2002 }] });
  const location = await order(stage, "DELETE", target);
  await until("the registry has refused it for now", async () => received(stage, name, "domain:delete").length > 0);
  assert.deepEqual(delegationOf(stage, name), [outside]);
  const code = location.split("/").at(-1) ?? "";
  const settle = ["orders", "settle", code, "--as", "failed", "--note", "their staff will not delete it"];
  await assertRefused(gateway, settle, 3, /the order first puts back what it took away/);
  await stage.travel(retryDays);
  const ended = await gateway.settled(stage.reseller, location);
  assert.equal(ended.error_text, "their staff will not delete it; its name servers have been put back");
  await assertAsBefore(stage);
});
