/** The gateway's database is restored from a backup, which is older than its nodes. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { listAlarms } from "#alarms.ts";
import { endMove } from "#hosting/moves/manage.ts";
import { getNode } from "#hosting/nodes/manage.ts";
import { askAllReconciles } from "#hosting/nodes/reconcile.ts";
import { backUp } from "../harness/backup.ts";
import { runSql } from "../harness/sql.ts";
import { assertRefused, operate, operated } from "../orders/operate.ts";
import { pageOf, startMoveStage } from "./move-stage.ts";
import { eventually } from "./stage.ts";

const stage = await startMoveStage({ after });
const { gateway, node, second } = stage;
const { context, databaseUrl } = gateway;

const lostCount = 20;
const newCount = 25;
const numbered = (name: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${name}-${index}.example`);
const lost = numbered("lost", lostCount);

const alarms = async () =>
  (await listAlarms(context, { all: false, limit: 100 })).filter(({ kind }) => kind === "hosting-node-restored");
const identifiersOn = async ({ driver }: typeof node) =>
  (await driver.list()).map(({ identifier }) => identifier).sort();
/** The reason why an account waits. */
const noteOf = async (identifier: string) => {
  const sql =
    "SELECT operator_note FROM hosting_accounts WHERE identifier = $1 AND status NOT IN ('Failed', 'Removed')";
  return (await runSql<{ operator_note: string | null }>(databaseUrl, sql, [identifier]))[0]?.operator_note ?? "";
};

/** @returns their uids */
async function makeLostAccounts(): Promise<number[]> {
  const uids: number[] = [];
  for (const name of lost) {
    const id = await stage.create(name);
    await stage.advance(id);
    assert.equal((await stage.read(name)).status, "Ready");
    uids.push((await stage.inside(id)).uid);
  }
  return uids;
}

/** @returns their identifiers */
async function makeNewAccounts(lostUids: readonly number[]): Promise<string[]> {
  const wanted = numbered("new", newCount);
  const ids = await Promise.all(wanted.map((name) => stage.create(name)));
  const statuses = await Promise.all(wanted.map(async (name) => (await stage.settled(name)).status));
  assert.deepEqual([...new Set(statuses)], ["Ready"]);
  const uids = await Promise.all(ids.map(async (id) => (await stage.inside(id)).uid));
  assert.equal(new Set(uids).size, newCount);
  assert.ok(Math.min(...uids) > Math.max(...lostUids), `${uids} lie above ${lostUids}`);
  return wanted;
}

test("after a restore nothing is removed from a node until an operator continues, and new accounts get uids that it never had", async (t) => {
  for (const name of ["kept.example", "doomed.example", "moved.example"]) await stage.createOnFirst(name);
  const move = await stage.move("moved.example", "second");
  await stage.comes(move, "Leaving");
  // Everything below is on the first node.
  await runSql(databaseUrl, "UPDATE hosting_nodes SET is_draining = true WHERE id = 'second'");
  await gateway.stopWorker();
  await stage.ask("DELETE", "doomed.example");
  const backup = await backUp(t, databaseUrl);

  const lostUids = await makeLostAccounts();
  const before = await identifiersOn(node);
  await backup.restore();
  await gateway.startWorker();

  await eventually("an alarm is raised", async () => (await alarms()).length === 1);
  const [alarm] = await alarms();
  assert.equal(alarm?.subject, "embedded");
  assert.match(
    alarm?.note ?? "",
    /was a backup restored\? Nothing is removed there until deedhouse node restored embedded/,
  );
  assert.match((await getNode(context, "embedded")).state, /removes nothing/);

  const wanted = await makeNewAccounts(lostUids);

  // Removals and moves that the restored database still has to finish, and the nightly comparison.
  await endMove(context, "moved.example", "finish");
  await askAllReconciles(context);
  await eventually("the removal was attempted", async () => /nothing is removed/.test(await noteOf("doomed.example")));
  await eventually("the move has tried to leave", async () => {
    const sql = "SELECT note FROM hosting_moves WHERE id = $1";
    return /nothing is removed/.test((await runSql<{ note: string }>(databaseUrl, sql, [move]))[0]?.note ?? "");
  });
  const compared = await operate(gateway, "node", "reconcile", "embedded", "--json");
  const findings = JSON.parse(compared.stdout).findings as { kind: string; identifier: string }[];
  assert.deepEqual(
    findings.map(({ kind, identifier }) => `${kind} ${identifier}`).sort(),
    lost.map((name) => `stray ${name}`).sort(),
  );
  const [first = "", other = ""] = lost;
  const named = ["node", "reconcile", "embedded", "--remove-strays", first, "--yes"];
  await assertRefused(gateway, named, 8, /nothing is removed on the node embedded/);
  assert.deepEqual(await identifiersOn(node), [...before, ...wanted].sort());

  const asked = await operate(gateway, "node", "restored", "embedded");
  assert.equal(asked.code, 2);
  assert.match(asked.stderr, /Will be removed there: doomed\.example, moved\.example\./);
  assert.equal((await alarms()).length, 1, "who is not there to confirm it does not go on");
  await operated(gateway, "node", "restored", "embedded", "--yes");
  assert.deepEqual(await alarms(), []);
  await eventually("pending removals are done", async () => {
    const there = await identifiersOn(node);
    return !there.includes("doomed.example") && !there.includes("moved.example");
  });
  assert.ok((await identifiersOn(second)).includes("moved.example"));
  assert.equal((await pageOf(node, "kept.example")).status, 200);
  const left = (await identifiersOn(node)).filter((identifier) => identifier.startsWith("lost-"));
  assert.deepEqual(left, lost.toSorted(), "what was made after the backup stays for an operator to decide");

  await assertRefused(gateway, named, 3, /was not a stray of embedded in the last comparison/);
  await operate(gateway, "node", "reconcile", "embedded", "--remove-strays");
  await operate(gateway, ...named);
  const now = await identifiersOn(node);
  assert.deepEqual([now.includes(first), now.includes(other)], [false, true]);
  await assertRefused(gateway, ["node", "restored", "embedded", "--yes"], 3, /nothing to do/);
});

test("an account whose identifier a lost account holds on the node waits for an operator, and is created after that is removed", async () => {
  const [, name = ""] = lost;
  const id = await stage.create(name);
  await eventually("it was attempted", async () => /identifier_taken by a stray/.test(await noteOf(name)));
  assert.match((await stage.inside(id)).alarm ?? "", /still not ready/);
  assert.equal((await stage.read(name)).status, "Provisioning");
  await operate(gateway, "node", "reconcile", "embedded", "--remove-strays");
  await operate(gateway, "node", "reconcile", "embedded", "--remove-strays", name, "--yes");
  await operated(gateway, "hosting", "retry", name);
  assert.equal((await stage.settled(name)).status, "Ready");
});
