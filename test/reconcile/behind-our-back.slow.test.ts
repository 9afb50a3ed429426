/** Names that somebody else changes at the registry: its staff, or another system with our registrar account. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { order } from "../changes/stage.ts";
import { looks, openAlarms, untilLeft, untilNoted } from "../departures/stage.ts";
import { runSql } from "../harness/sql.ts";
import { until } from "../orders/judge.ts";
import { assertRefused, operated } from "../orders/operate.ts";
import { own, type Stage, startStage } from "../renewals/stage.ts";

const name = "managed.example";
/** Longer than from one night to the next. */
const nightDays = 1.01;
/** Every name is looked at in this time, whatever happens to it. */
const monthDays = 30;

/** From just before 3:23 UTC, `nightDays` passes two nights, and the second looks only at names with orders since the first. */
async function travelToNoon({ clock, travel }: Stage): Promise<void> {
  const dayMs = 24 * 60 * 60_000;
  await travel(1.5 - (clock.now().getTime() % dayMs) / dayMs);
}

const read = async ({ gateway, reseller }: Stage) =>
  (await gateway.send(reseller, "GET", `/domains/${name}`)).body as {
    transfer_locked: boolean;
    statuses: string[];
    name_servers: { name: string }[];
  };

async function lock(stage: Stage): Promise<void> {
  const location = await order(stage, "PUT", `/domains/${name}/transfer-lock`, { transfer_locked: true });
  assert.equal((await stage.gateway.settled(stage.reseller, location)).status, "Finished");
}

const updates = ({ gateway }: Stage) =>
  gateway.registry.store.journal.entries({ name, command: "domain:update", direction: "in" }).length;

const history = ({ gateway }: Stage) =>
  runSql<{ event: string; note: string }>(
    gateway.databaseUrl,
    "SELECT event, note FROM domain_history WHERE domain_name = $1 ORDER BY id",
    [name],
  );

test("what was changed behind our back is taken over by night, recorded, alarmed if we had set it, and never set back", async (t) => {
  const stage = await startStage(t);
  await travelToNoon(stage);
  await own(stage, name);
  await lock(stage);
  const sent = updates(stage);
  await stage.gateway.registry.change(name, {
    removeStatuses: ["clientTransferProhibited"],
    nameServers: [{ name: "ns1.elsewhere.test" }],
  });
  assert.equal((await read(stage)).transfer_locked, true, "nobody has looked yet");
  await stage.travel(nightDays);
  await until("it is shown", async () => !(await read(stage)).transfer_locked);
  assert.deepEqual(
    (await read(stage)).name_servers.map((server) => server.name),
    ["ns1.elsewhere.test"],
  );
  const [changed, ...more] = await history(stage);
  assert.deepEqual(more, []);
  assert.equal(changed?.event, "changed-at-registry");
  assert.match(changed?.note ?? "", /statuses: "clientTransferProhibited" became ""; name_servers: "" became "ns1/);
  const notes = await runSql<{ kind: string; subject: string; note: string }>(
    stage.gateway.databaseUrl,
    "SELECT kind, subject, note FROM alarms WHERE resolved_at IS NULL",
  );
  assert.deepEqual(
    notes.map(({ kind, subject }) => [kind, subject]),
    [["name-changed", name]],
  );
  assert.doesNotMatch(notes[0]?.note ?? "", /name_servers/, "we had set the lock only");
  const before = stage.clock.now();
  await stage.travel(monthDays);
  const compared = "SELECT FROM domains WHERE domain_name = $1 AND shown_at > $2 AND looked_at > $2";
  await until(
    "it is compared again",
    async () => (await runSql(stage.gateway.databaseUrl, compared, [name, before])).length === 1,
  );
  assert.equal(updates(stage), sent, "nothing is sent");
  assert.equal((await history(stage)).length, 1, "what is known is no news");
});

test("an operator sees what the registry shows beside what is here, and takes it over at once", async (t) => {
  const stage = await startStage(t);
  const { gateway } = stage;
  await own(stage, name);
  await lock(stage);
  await gateway.registry.change(name, {
    removeStatuses: ["clientTransferProhibited"],
    addStatuses: ["serverHold"],
  });
  interface Shown {
    here: { statuses: string[] };
    registry: { is: string; statuses: string[]; differences: { field: string; here: string; registry: string }[] };
    orders: { kind: string; status: string }[];
  }
  const shown = await operated<Shown>(gateway, "domains", "show", name);
  assert.deepEqual(shown.registry.differences, [
    { field: "statuses", here: "clientTransferProhibited", registry: "serverHold" },
  ]);
  assert.deepEqual(
    shown.orders.map(({ kind, status }) => [kind, status]),
    [
      ["transfer-lock", "Finished"],
      ["create", "Finished"],
    ],
  );
  assert.equal((await read(stage)).transfer_locked, true, "showing changes nothing");
  assert.deepEqual(await openAlarms(stage), []);
  assert.equal((await operated(gateway, "domains", "sync", name)).status, "taken over");
  assert.equal((await read(stage)).transfer_locked, false);
  assert.deepEqual(await openAlarms(stage), [{ kind: "name-changed", subject: name }]);
  assert.equal((await operated(gateway, "domains", "sync", name)).status, "unchanged");
});

test("a name with an unanswered command is not compared, because what it shows may change at any time", async (t) => {
  const stage = await startStage(t, { registry: { transformTimeoutMs: 400, settleMs: 60_000 } });
  const { gateway } = stage;
  await own(stage, name);
  const hold = gateway.registry.holds.place({ command: "domain:update", name, at: "before-execution", times: 1 });
  await order(stage, "PUT", `/domains/${name}/transfer-lock`, { transfer_locked: true });
  await hold.abandoned(1);
  const before = looks(stage, name);
  await assertRefused(gateway, ["domains", "sync", name], 3, /an order about the name is in progress: try again/);
  const shown = await operated<{ registry: { is: string } }>(gateway, "domains", "show", name);
  assert.equal(shown.registry.is, "held-back");
  assert.equal(looks(stage, name), before, "the registry is not even asked");
  hold.release({ execute: false });
});

test("a name between two commands of its delete is not compared: that it has lost its name servers is our work", async (t) => {
  // The order waits for days before it tries again what the registry refuses once.
  const waitMs = 5 * 24 * 60 * 60_000;
  const stage = await startStage(t, { registry: { backoffFirstMs: waitMs, backoffMaxMs: waitMs } });
  const { gateway, reseller } = stage;
  await travelToNoon(stage);
  await own(stage, name);
  const servers = [{ name: `ns1.${name}`, addresses: ["193.0.14.129"] }];
  const set = await order(stage, "PUT", `/domains/${name}/nameservers`, { name_servers: servers });
  assert.equal((await gateway.settled(reseller, set)).status, "Finished");
  gateway.registry.setFaults({ commands: [{ command: "host:delete", as: "refuse", code: 2305, times: 1 }] });
  const location = await order(stage, "DELETE", `/domains/${name}?confirm=${name}`);
  const refused = "SELECT FROM order_history WHERE event = 'disputed'";
  await until("the host was not deleted", async () => (await runSql(gateway.databaseUrl, refused)).length > 0);
  assert.equal(gateway.registry.store.domains.find(name)?.delegation, undefined);
  await assertRefused(gateway, ["domains", "sync", name], 3, /an order about the name is in progress: try again/);
  const before = stage.clock.now();
  await stage.travel(nightDays);
  const looked = "SELECT FROM domains WHERE domain_name = $1 AND looked_at > $2";
  await until(
    "the night has passed",
    async () => (await runSql(gateway.databaseUrl, looked, [name, before])).length === 1,
  );
  const changes = async () => (await history(stage)).filter(({ event }) => event === "changed-at-registry");
  assert.deepEqual(await changes(), []);
  await stage.travel(waitMs / (24 * 60 * 60_000));
  assert.equal((await gateway.settled(reseller, location)).status, "Finished");
  assert.deepEqual(await changes(), []);
  assert.deepEqual(await openAlarms(stage), []);
});

test("name servers that we have set raise the alarm when somebody else replaces them, and their addresses do not", async (t) => {
  const stage = await startStage(t);
  const { gateway, reseller } = stage;
  await own(stage, name);
  const servers = [{ name: `ns1.${name}`, addresses: ["193.0.14.129"] }];
  const location = await order(stage, "PUT", `/domains/${name}/nameservers`, { name_servers: servers });
  assert.equal((await gateway.settled(reseller, location)).status, "Finished");
  assert.equal((await operated(gateway, "domains", "sync", name)).status, "unchanged");
  await gateway.registry.change(name, { nameServers: [{ name: "ns1.elsewhere.test" }] });
  assert.equal((await operated(gateway, "domains", "sync", name)).status, "taken over");
  assert.deepEqual(await openAlarms(stage), [{ kind: "name-changed", subject: name }]);
});

test("what the registry showed before an order began is not taken over", async (t) => {
  const stage = await startStage(t);
  const { gateway } = stage;
  await own(stage, name);
  const hold = gateway.registry.holds.place({ command: "domain:info", name, at: "before-answer", times: 1 });
  const synced = assertRefused(gateway, ["domains", "sync", name], 3, /an order about the name is in progress/);
  await hold.reached(1);
  const location = await order(stage, "PUT", `/domains/${name}/transfer-lock`, { transfer_locked: true });
  hold.release();
  await synced;
  assert.equal((await gateway.settled(stage.reseller, location)).status, "Finished");
  assert.equal((await read(stage)).transfer_locked, true);
  assert.deepEqual(await openAlarms(stage), []);
});

test("a name that is gone leaves after two looks a day apart, also when an operator asks for it twice", async (t) => {
  const stage = await startStage(t);
  const { gateway } = stage;
  await own(stage, name);
  await gateway.registry.change(name, { removed: true });
  assert.match(String((await operated(gateway, "domains", "sync", name)).status), /seems gone/);
  assert.match(String((await operated(gateway, "domains", "sync", name)).status), /seems gone/);
  await untilNoted(stage);
  await stage.travel(nightDays);
  await untilLeft(stage, name);
});

test("a command says so when no worker can ask the registry, and shows what is known here", async (t) => {
  const stage = await startStage(t);
  const { gateway } = stage;
  await own(stage, name);
  await gateway.stopWorker();
  await assertRefused(gateway, ["domains", "sync", name], 8, /no worker is running that could ask sandbox/);
  const shown = await operated<{ registry: { not_asked: string } }>(gateway, "domains", "show", name);
  assert.match(shown.registry.not_asked, /no worker is running/);
});
