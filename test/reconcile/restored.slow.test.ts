/** The database goes back to a backup, while the registry keeps what was ordered since. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { change, order } from "../changes/stage.ts";
import { departuresOf, secondLookDays, untilLeft } from "../departures/stage.ts";
import { assertError } from "../harness/assert-reply.ts";
import { type Backup, backUp } from "../harness/backup.ts";
import { grace } from "../harness/contacts.ts";
import { runSql } from "../harness/sql.ts";
import { until } from "../orders/judge.ts";
import { operate, operated } from "../orders/operate.ts";
import { executed, own, portfolioEntry, type Stage, setWillRenew, startStage, yearsLater } from "../renewals/stage.ts";

const [kept, renewed, lapsing, deleted, contacts, coded] = [
  "kept.example",
  "renewed.example",
  "lapsing.example",
  "deleted.example",
  "contacts.example",
  "coded.example",
] as const;
const names = [kept, renewed, lapsing, deleted, contacts, coded];
interface Difference {
  domain_name: string;
  difference: string;
  repaired: boolean;
}

async function reconcile({ gateway }: Stage, ...args: string[]): Promise<Difference[]> {
  const { stdout, stderr } = await operate(gateway, "reconcile", "domains", "--all", ...args, "--json");
  assert.equal(stderr, "");
  return JSON.parse(stdout) as Difference[];
}
const fields = (rows: Difference[]) => rows.map(({ domain_name, difference }) => [domain_name, difference]);

/** Names beyond their add grace period, compared with the registry, and a backup of them. */
async function startBackedUp(t: Parameters<typeof startStage>[0]): Promise<{ stage: Stage; backup: Backup }> {
  const stage = await startStage(t);
  await own(stage, ...names);
  await setWillRenew(stage, lapsing, false);
  await change(stage, "POST", `/domains/${coded}/auth-code`);
  await stage.travel(30);
  for (const name of names) await operated(stage.gateway, "domains", "sync", name);
  await stage.gateway.stopWorker();
  const backup = await backUp(t, stage.gateway.databaseUrl);
  await untilConnected(stage);
  await stage.gateway.startWorker();
  return { stage, backup };
}

async function untilConnected({ gateway, reseller }: Stage): Promise<void> {
  await until("the api is connected", async () => (await gateway.send(reseller, "GET", "/domains")).status === 200);
}

async function restore(stage: Stage, backup: Backup): Promise<void> {
  await stage.gateway.stopWorker();
  await backup.restore();
  await untilConnected(stage);
  await stage.gateway.startWorker();
}

const expirationOf = async ({ gateway, reseller }: Stage, name: string) =>
  (await portfolioEntry(gateway, reseller, name)).expiration_date;
const atRegistry = ({ gateway }: Stage, name: string) => gateway.registry.store.domains.find(name);

const renew = async (stage: Stage, name: string, expiration_date: string) =>
  change(stage, "POST", `/domains/${name}/renewals`, { years: 1, expiration_date });

test("after a restore, reconcile finds what the registry shows, and takes it over", async (t) => {
  const { stage, backup } = await startBackedUp(t);
  const { gateway, reseller } = stage;
  const before = await expirationOf(stage, renewed);
  for (const name of [renewed, lapsing])
    assert.equal((await renew(stage, name, await expirationOf(stage, name))).status, "Finished");
  assert.equal((await change(stage, "DELETE", `/domains/${deleted}?confirm=${deleted}`)).status, "Finished");
  assert.equal((await change(stage, "PUT", `/domains/${contacts}/contacts`, { admin: grace })).status, "Finished");
  assert.equal((await change(stage, "POST", `/domains/${coded}/auth-code`)).status, "Finished");
  const given = atRegistry(stage, coded)?.authInfo;
  const registry = new Map<string, ReturnType<typeof atRegistry>>(names.map((name) => [name, atRegistry(stage, name)]));
  await restore(stage, backup);

  const wanted = [
    [coded, "auth_code"],
    [contacts, "contacts"],
    [deleted, "gone"],
    [lapsing, "expiration_date"],
    [renewed, "expiration_date"],
  ];
  assert.deepEqual(fields(await reconcile(stage)), wanted);
  const repaired = await reconcile(stage, "--repair");
  assert.deepEqual(fields(repaired), wanted);
  assert.deepEqual(
    repaired.map(({ repaired: isDone }) => isDone),
    [true, true, false, true, true],
    "a name leaves after a second look",
  );
  await until("nobody has the code any more", () => atRegistry(stage, coded)?.authInfo !== given);
  assertError(await gateway.send(reseller, "GET", `/domains/${coded}/auth-code`), "auth_code_not_found");
  assert.equal(await expirationOf(stage, renewed), yearsLater(before, 1));
  await stage.travel(secondLookDays);
  await untilLeft(stage, deleted);
  const [departure] = await departuresOf(stage, reseller);
  assert.deepEqual([departure?.domain_name, departure?.reason], [deleted, "deleted"]);
  assert.ok(departure?.restorable_until, "its reseller can still restore it");

  const rows = await runSql<{
    domain_name: string;
    expiration_date: Date;
    registry_ex_date: Date;
    handles: object;
    statuses: string[];
  }>(gateway.databaseUrl, "SELECT domain_name, expiration_date, registry_ex_date, handles, statuses FROM domains");
  assert.deepEqual(rows.map(({ domain_name }) => domain_name).sort(), names.filter((name) => name !== deleted).sort());
  for (const { domain_name: name, expiration_date, registry_ex_date, handles } of rows) {
    const { exDate, registrant, contacts: others } = registry.get(name)!;
    assert.deepEqual([expiration_date.toISOString(), registry_ex_date.toISOString()], [exDate, exDate], name);
    assert.deepEqual(handles, { registrant, contacts: others }, name);
  }
  assert.deepEqual(fields(await reconcile(stage)), [], "nothing is left to find");
  const second = await renew(stage, renewed, await expirationOf(stage, renewed));
  assert.equal(second.status, "Finished");
  assert.equal(executed(gateway, renewed, "domain:renew"), 2, "a further renewal is a renew of its own");
  assert.equal(atRegistry(stage, renewed)?.exDate, yearsLater(before, 2));
});

test("after a restore, a renewal of a term that the registry shows renewed is refused, and never paid for twice", async (t) => {
  const { stage, backup } = await startBackedUp(t);
  const { gateway, reseller } = stage;
  const before = await expirationOf(stage, renewed);
  assert.equal((await renew(stage, renewed, before)).status, "Finished");
  await restore(stage, backup);
  assert.equal(await expirationOf(stage, renewed), before, "nothing has looked yet");
  const again = await renew(stage, renewed, before);
  assert.equal(again.status, "FailedValidation");
  assert.match(JSON.stringify(again), new RegExp(`a renewal until ${yearsLater(before, 1)}`));
  assert.equal(executed(gateway, renewed, "domain:renew"), 1);
  await until("the new term is taken over", async () => (await expirationOf(stage, renewed)) === yearsLater(before, 1));
  const stale = await gateway.send(reseller, "POST", `/domains/${renewed}/renewals`, {
    body: { years: 1, expiration_date: before },
  });
  assertError(stale, "domain_expiration_changed");
  const wanted = await order(stage, "POST", `/domains/${renewed}/renewals`, {
    years: 1,
    expiration_date: yearsLater(before, 1),
  });
  assert.equal((await gateway.settled(reseller, wanted)).status, "Finished");
  assert.equal(atRegistry(stage, renewed)?.exDate, yearsLater(before, 2));
});
