import assert from "node:assert/strict";
import { after, test } from "node:test";
import { listAlarms } from "#alarms.ts";
import { getNode } from "#hosting/nodes/manage.ts";
import { updateAbsenceAlarms } from "#hosting/nodes/seen.ts";
import type { NamedStray } from "#hosting/reconciles/compare.ts";
import { askReconcile, findResult, type ReconcileResult } from "#hosting/reconciles/reconcile.ts";
import { changeAccount, testAccount } from "#nodes/test-account.ts";
import { runSql } from "../harness/sql.ts";
import { assertRefused, operate } from "../orders/operate.ts";
import { pageOf, startMoveStage } from "./move-stage.ts";
import { eventually } from "./stage.ts";

const stage = await startMoveStage({ after });
const { gateway, node } = stage;
const { context } = gateway;

async function reconcile(
  nodeId: string,
  { repairs = false, removes = [] }: { repairs?: boolean; removes?: NamedStray[] } = {},
): Promise<ReconcileResult> {
  const wantedAt = await askReconcile(context, nodeId, { repairs, removes });
  const result = await eventually("the node is compared", () => findResult(context.database, nodeId, wantedAt));
  return typeof result === "string" ? assert.fail(result) : result;
}

const shortly = ({ findings }: ReconcileResult) =>
  findings
    .map(({ kind, identifier, note }) => `${kind} ${identifier}${kind === "different" ? `: ${note}` : ""}`)
    .sort();
const alarmsOf = async (subject: string, kind = "hosting-node") =>
  (await listAlarms(context, { all: false, limit: 100 })).filter(
    (alarm) => alarm.kind === kind && alarm.subject === subject,
  );

test("strays, missing and different accounts of a node are found, reported by an alarm, and repaired on request", async () => {
  const names = ["good", "different", "missing"].map((name) => `${name}.reconcile.example`);
  for (const name of names) await stage.createOnFirst(name);
  assert.deepEqual(shortly(await reconcile("embedded")), []);
  const changes = { diskBytesMax: 5, filesMax: 100, sessionsMax: 10, suspended: true };
  await changeAccount(node.driver, names[1] ?? "", changes);
  // The node has lost it together with the uid: nothing of it is in the trash.
  await runSql(gateway.databaseUrl, "UPDATE hosting_accounts SET uid = nextval('hosting_uid') WHERE identifier = $1", [
    names[2],
  ]);
  const found = await reconcile("embedded");
  assert.deepEqual(shortly(found), [
    "different different.reconcile.example: disk quota: 5, not 50000000, files: 100, not 1000, FTP sessions: 10, not 4, suspended: true, not false",
    "missing missing.reconcile.example",
    "stray missing.reconcile.example",
  ]);
  assert.match((await alarmsOf("embedded"))[0]?.note ?? "", /1 stray, 1 missing, 1 different/);

  await reconcile("embedded", { repairs: true });
  await eventually("its site is back", async () => (await pageOf(node, names[1] ?? "")).status === 200);
  assert.equal((await node.driver.find(names[1] ?? ""))?.diskBytesMax, 50_000_000);
});

test("strays are listed, and those that an operator names are removed; strays that appeared since are not", async () => {
  const { second } = stage;
  const names = ["lost.strays.example", "kept.strays.example"];
  for (const [index, name] of names.entries()) await second.driver.ensureAccount(testAccount(name, 70 + index));
  const isThere = async () => (await second.driver.list()).map(({ identifier }) => identifier).sort();
  const stop = ["node", "reconcile", "second", "--remove-strays"];

  await assertRefused(
    gateway,
    [...stop, "lost.strays.example", "--yes"],
    3,
    /was not a stray of second in the last comparison/,
  );
  const listed = await operate(gateway, ...stop, "--json");
  assert.equal(listed.code, 1, listed.stderr);
  const { findings } = JSON.parse(listed.stdout) as ReconcileResult;
  assert.deepEqual(findings.map(({ kind, identifier }) => `${kind} ${identifier}`).sort(), [
    "stray kept.strays.example",
    "stray lost.strays.example",
  ]);
  assert.equal((await isThere()).length, 2, "without names it lists");
  await assertRefused(gateway, [...stop, "lost.strays.example"], 2, /no confirmation is possible/);
  await assertRefused(gateway, ["node", "reconcile", "second", "lost.strays.example"], 2, /add --remove-strays/);

  await second.driver.ensureAccount(testAccount("new.strays.example", 79));
  const removed = await operate(gateway, ...stop, "lost.strays.example", "--yes", "--json");
  assert.equal(removed.code, 1, removed.stderr);
  assert.deepEqual(await isThere(), ["kept.strays.example", "new.strays.example"]);
  assert.equal((await alarmsOf("second")).length, 1, "what is left is in the alarm");
  // An account of that name that was created after the list has another uid.
  await second.driver.ensureAccount(testAccount("lost.strays.example", 80));
  await reconcile("second", { removes: [{ identifier: "lost.strays.example", uid: 70 }] });
  assert.deepEqual(await isThere(), ["kept.strays.example", "lost.strays.example", "new.strays.example"]);

  const removes = (await second.driver.list()).map(({ identifier, uid }) => ({ identifier, uid }));
  await reconcile("second", { removes });
  assert.deepEqual(await isThere(), []);
  assert.deepEqual(shortly(await reconcile("second")), []);
  assert.deepEqual(await alarmsOf("second"), []);
});

test("an account that is being moved is no stray on either node", async () => {
  const identifier = "moving.reconcile.example";
  await stage.createOnFirst(identifier);
  await stage.comes(await stage.move(identifier, "second"), "Leaving");
  for (const nodeId of ["embedded", "second"]) {
    const { findings } = await reconcile(nodeId);
    assert.deepEqual(
      findings.filter((finding) => finding.identifier === identifier),
      [],
    );
  }
});

test("a node that has not answered for ten minutes raises an alarm until it answers, also across restarts", async () => {
  const { databaseUrl } = gateway;
  await eventually("it was seen", async () => (await getNode(context, "embedded")).last_seen_at !== null);
  // Work of the tests before may ask it yet, and its answer would end the silence.
  await stage.agentLeaves();
  await runSql(
    databaseUrl,
    "UPDATE node_channels SET last_seen_at = now() - interval '1 hour' WHERE node_id = 'embedded'",
  );
  await updateAbsenceAlarms(context);
  assert.equal((await alarmsOf("embedded", "hosting-node-away")).length, 0, "nobody may have asked it in that hour");
  await runSql(
    databaseUrl,
    "UPDATE hosting_nodes SET silent_since = now() - interval '11 minutes' WHERE id = 'embedded'",
  );
  await updateAbsenceAlarms(context);
  assert.equal((await alarmsOf("embedded", "hosting-node-away")).length, 1);
  assert.equal((await alarmsOf("second", "hosting-node-away")).length, 0);
  await stage.agentReturns();
  await eventually("it is seen", async () => {
    await updateAbsenceAlarms(context);
    return (await alarmsOf("embedded", "hosting-node-away")).length === 0;
  });
});

test("a node that does not answer is not compared, and nothing is believed of it", async () => {
  await stage.agentLeaves();
  const wantedAt = await askReconcile(context, "embedded", { repairs: true, removes: [] });
  const result = await eventually("it is tried", () => findResult(context.database, "embedded", wantedAt));
  await stage.agentReturns();
  // A request that was cut may be recorded after the silence began: then an answer was waited for.
  assert.match(String(result), /has not asked for its state lately|did not answer within 45 s/);
});
