/** Contact objects that nothing uses are deleted at the registry a week after their last use, and never before an order needs them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Settings } from "../../sandbox/registry/settings.ts";
import { ada, grace } from "../harness/contacts.ts";
import type { Scope } from "../harness/database.ts";
import { runSql } from "../harness/sql.ts";
import { createSteeredClock, type SteeredClock } from "../harness/steered-clock.ts";
import { until } from "../orders/judge.ts";
import { change, order, type Stage, settledLater, startStage, steeredRegistry } from "./stage.ts";

const name = "people.example";
const target = `/domains/${name}/contacts`;
const quick = { ...steeredRegistry, renewalIntervalMs: 50, sessionsMax: 4 };
const weekHours = 7 * 24;

interface Unused extends Stage {
  clock: SteeredClock;
  /** The object that no name uses any more. */
  id: string;
}

interface Row {
  contact_id: string;
  look_at: Date;
  unused_since: Date | null;
  delete_cl_trid: string | null;
}

const idOf = ({ gateway }: Stage, type: string) =>
  gateway.registry.store.domains.find(name)?.contacts.find((contact) => contact.type === type)?.id ?? "";

const isThere = ({ gateway, id }: Unused) => gateway.registry.store.contacts.find(id) !== undefined;

const sent = ({ gateway, id }: Unused, command = "contact:delete") =>
  gateway.registry.store.journal.entries({ command, name: id }).filter(({ direction }) => direction === "in");

async function rowOf({ gateway }: Stage, id: string): Promise<Row | undefined> {
  const text = `SELECT contact_id, look_at, unused_since, delete_cl_trid FROM registry_contacts WHERE contact_id = $1`;
  return (await runSql<Row>(gateway.databaseUrl, text, [id]))[0];
}

/** A name whose admin contact was another one before. */
async function startUnused(t: Scope, sandbox: Partial<Settings> = {}, registry = {}): Promise<Unused> {
  const clock = createSteeredClock();
  const stage = await startStage(t, [name], { clock, sandbox, registry: { ...quick, ...registry } });
  await change(stage, "PUT", target, { admin: ada });
  const id = idOf(stage, "admin");
  await change(stage, "PUT", target, { admin: grace });
  return { ...stage, clock, id };
}

/** Lets a day pass, in which it is seen that nothing uses the object. */
async function seenUnused(stage: Unused): Promise<Row> {
  stage.clock.skip(25);
  await until("it is seen to be unused", async () => (await rowOf(stage, stage.id))?.unused_since !== null);
  return (await rowOf(stage, stage.id))!;
}

const isForgotten = (stage: Unused) => until("it is gone", async () => (await rowOf(stage, stage.id)) === undefined);

test("an object that no name uses is deleted after a week, others stay, and it is made again for the next name", async (t) => {
  const stage = await startUnused(t);
  const { store } = stage.gateway.registry;
  const seen = await seenUnused(stage);
  assert.equal(seen.look_at.getTime() - seen.unused_since!.getTime(), weekHours * 3_600_000);
  assert.deepEqual([isThere(stage), sent(stage).length], [true, 0]);
  stage.clock.skip(weekHours);
  await isForgotten(stage);
  assert.deepEqual([isThere(stage), sent(stage).length], [false, 1]);
  assert.equal(store.contacts.values().length, 2, "the profile's and the one that the name has");
  assert.equal((await change(stage, "PUT", target, { admin: ada })).status, "Finished");
  assert.equal(store.contacts.find(idOf(stage, "admin"))?.email, ada.email);
});

test("an object that is used again within the week stays, and its week begins again afterwards", async (t) => {
  const stage = await startUnused(t);
  await seenUnused(stage);
  stage.clock.skip(100);
  assert.equal((await change(stage, "PUT", target, { tech: ada })).status, "Finished");
  stage.clock.skip(weekHours);
  await until("it is seen to be used", async () => (await rowOf(stage, stage.id))?.unused_since === null);
  assert.deepEqual([isThere(stage), idOf(stage, "tech"), sent(stage).length], [true, stage.id, 0]);
});

test("an object that the registry says is linked, or refuses to delete with 2305, is kept, and tried again a month later", async (t) => {
  for (const how of ["linked", "refused"]) {
    const stage = await startUnused(t);
    const { registry } = stage.gateway;
    const [own] = registry.store.domains.values();
    if (how === "linked") registry.store.domains.put({ ...own!, name: "unknown.example", registrant: stage.id });
    else registry.setFaults({ commands: [{ command: "contact:delete", as: "refuse", code: 2305, times: 1 }] });
    await seenUnused(stage);
    stage.clock.skip(weekHours);
    await until("it is kept", async () => {
      const row = await rowOf(stage, stage.id);
      return row !== undefined && row.look_at.getTime() - stage.clock.now().getTime() > 20 * 86_400_000;
    });
    assert.deepEqual([isThere(stage), sent(stage).length], [true, how === "linked" ? 0 : 1], how);
    registry.store.domains.delete("unknown.example");
    stage.clock.skip(31 * 24);
    await isForgotten(stage);
    assert.equal(isThere(stage), false, how);
  }
});

test("an object that the registry does not hold any more is forgotten", async (t) => {
  const stage = await startUnused(t);
  stage.gateway.registry.store.contacts.delete(stage.id);
  await seenUnused(stage);
  stage.clock.skip(weekHours);
  await isForgotten(stage);
});

test("at a registry without contacts only our row is deleted", async (t) => {
  const dataModel = "thin" as const;
  const clock = createSteeredClock();
  const stage = await startStage(t, [name], { clock, sandbox: { dataModel }, registry: { ...quick, dataModel } });
  await change(stage, "PUT", target, { admin: ada });
  const [row] = await runSql<Row>(stage.gateway.databaseUrl, "SELECT contact_id FROM registry_contacts");
  await change(stage, "PUT", target, { admin: grace });
  const unused = { ...stage, clock, id: row!.contact_id };
  await seenUnused(unused);
  clock.skip(weekHours);
  await isForgotten(unused);
  assert.equal((await runSql(stage.gateway.databaseUrl, "SELECT FROM registry_contacts")).length, 1);
  assert.deepEqual(sent(unused, "contact:info"), []);
});

for (const execute of [true, false]) {
  const fate = execute ? "was executed" : "was lost on its way";
  test(`a delete whose answer never came and that ${fate} is done once`, async (t) => {
    const stage = await startUnused(t);
    await seenUnused(stage);
    const hold = stage.gateway.registry.hold({ command: "contact:delete", at: "before-execution", times: 1 });
    stage.clock.skip(weekHours);
    await hold.abandoned(1);
    assert.notEqual((await rowOf(stage, stage.id))?.delete_cl_trid, null);
    hold.release({ execute });
    stage.clock.skip(1);
    await isForgotten(stage);
    assert.equal(isThere(stage), false);
    assert.equal(sent(stage).filter(({ executed }) => executed).length, 1);
    assert.equal(sent(stage).length, execute ? 1 : 2);
  });
}

test("an order that needs an object while it is being deleted waits, and gets a new one", async (t) => {
  const stage = await startUnused(t);
  await seenUnused(stage);
  const hold = stage.gateway.registry.hold({ command: "contact:delete", at: "before-execution", times: 1 });
  stage.clock.skip(weekHours);
  await hold.reached(1);
  const location = await order(stage, "PUT", target, { tech: ada });
  await until("the order has tried", async () => {
    const failures = "SELECT FROM orders WHERE ended_at IS NULL AND backoff_count > 0";
    return (await runSql(stage.gateway.databaseUrl, failures)).length > 0;
  });
  hold.release();
  assert.equal((await settledLater(stage, stage.clock, location)).status, "Finished");
  const { contacts, journal } = stage.gateway.registry.store;
  assert.equal(contacts.find(idOf(stage, "tech"))?.email, ada.email);
  assert.equal(journal.entries({ command: "contact:create", name: stage.id, executed: true }).length, 2);
});

test("an object that an accepted order needs is not deleted, whether the order names it or leaves it to the profile", async (t) => {
  for (const isProfile of [false, true]) {
    const clock = createSteeredClock();
    const stage = await startStage(t, [name], { clock, registry: quick });
    await change(stage, "PUT", target, { admin: ada, ...(isProfile && { registrant: ada, tech: ada }) });
    const profile = stage.gateway.registry.store.contacts.values().find(({ email }) => email !== ada.email);
    const unused = { ...stage, clock, id: isProfile ? profile!.id : idOf(stage, "admin") };
    if (!isProfile) await change(stage, "PUT", target, { admin: grace });
    await seenUnused(unused);
    // Live, and without an answer of the registry, for more than a week.
    const hold = stage.gateway.registry.hold({ command: "domain:create", at: "before-execution" });
    const body = {
      domain_name: "next.example",
      ...(!isProfile && { registrant: ada, contacts: { admin: ada, tech: ada } }),
    };
    const reply = await stage.gateway.send(stage.reseller, "POST", "/domains/registrations", { body });
    assert.equal(reply.status, 202, reply.text);
    const location = (reply.headers.location ?? "").replace("/domains/registrations/", "/orders/");
    await hold.reached(1);
    clock.skip(weekHours + 1);
    await until("it is seen to be used", async () => (await rowOf(stage, unused.id))?.unused_since === null);
    hold.release();
    assert.equal((await settledLater(stage, clock, location)).status, "Finished");
    assert.deepEqual([isThere(unused), sent(unused).length], [true, 0]);
  }
});

test("the contacts of a deleted name stay while it can be restored", async (t) => {
  const sandbox = { graceDays: { add: 0, renew: 0, autoRenew: 45, redemption: 30, pendingDelete: 5 } };
  const clock = createSteeredClock();
  const stage = await startStage(t, [name], { clock, sandbox, registry: quick });
  await change(stage, "PUT", target, { registrant: ada, admin: ada, tech: ada });
  const kept = { ...stage, clock, id: idOf(stage, "admin") };
  const location = await order(stage, "DELETE", `/domains/${name}?confirm=${name}`);
  assert.equal((await settledLater(stage, clock, location)).status, "Finished");
  const departure = "SELECT FROM domains_ended WHERE restorable_until IS NOT NULL AND handles IS NOT NULL";
  assert.equal((await runSql(stage.gateway.databaseUrl, departure)).length, 1);
  clock.skip(2 * weekHours);
  await until("it was looked at", async () => (await rowOf(stage, kept.id))!.look_at > clock.now());
  assert.equal((await rowOf(stage, kept.id))?.unused_since, null);
  await stage.gateway.registry.advance(40 * 86_400_000);
  clock.skip(31 * 24);
  await seenUnused(kept);
  clock.skip(weekHours);
  await isForgotten(kept);
  assert.equal(isThere(kept), false);
});
