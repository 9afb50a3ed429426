import assert from "node:assert/strict";
import { after, test } from "node:test";
import { listAlarms } from "#alarms.ts";
import { getNode } from "#hosting/nodes-manage.ts";
import { tellOfAbsentNodes } from "#hosting/nodes-seen.ts";
import { askReconcile, findResult, type ReconcileResult } from "#hosting/reconcile.ts";
import { testAccount } from "../../src/nodes/test-account.ts";
import { runSql } from "../harness/sql.ts";
import { pageOf, startMoveStage } from "./move-stage.ts";
import { eventually } from "./stage.ts";

const stage = await startMoveStage({ after });
const { gateway, node } = stage;
const { context } = gateway;

async function reconcile(nodeId: string, { repairs = false, removesStrays = false } = {}): Promise<ReconcileResult> {
  const wantedAt = await askReconcile(context, nodeId, { repairs, removesStrays });
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

test("what a node has, has not, or has otherwise is found, told to the operator, and repaired when that is asked for", async () => {
  const names = ["good", "different", "missing"].map((name) => `${name}.reconcile.example`);
  const ids = [];
  for (const name of names) ids.push(await stage.createOnFirst(name));
  assert.deepEqual(shortly(await reconcile("embedded")), []);
  const [, different = 0] = ids;
  const { uid } = await stage.inside(different);
  await node.driver.setLimits({ identifier: names[1] ?? "", uid }, testAccount("x.example", 1, { diskBytesMax: 5 }));
  await node.driver.suspend({ identifier: names[1] ?? "", uid });
  // The node has lost it, and the uid with it: nothing of it is in the trash.
  await runSql(gateway.databaseUrl, "UPDATE hosting_accounts SET uid = nextval('hosting_uid') WHERE identifier = $1", [
    names[2],
  ]);
  const found = await reconcile("embedded");
  assert.deepEqual(shortly(found), [
    "different different.reconcile.example: disk quota: 5, and not 50000000, files: 100, and not 1000, FTP sessions: 10, and not 4, suspended: true, and not false",
    "missing missing.reconcile.example",
    "stray missing.reconcile.example",
  ]);
  assert.match((await alarmsOf("embedded"))[0]?.note ?? "", /1 stray, 1 missing, 1 different/);

  await reconcile("embedded", { repairs: true });
  await eventually("its site is back", async () => (await pageOf(node, names[1] ?? "")).status === 200);
  assert.equal((await node.driver.find(names[1] ?? ""))?.diskBytesMax, 50_000_000);
});

test("a stray is removed only when it is asked for, and only when its uid was given out here", async () => {
  const identifier = "stray.reconcile.example";
  const id = await stage.createOnFirst(identifier);
  const { uid } = await stage.inside(id);
  await stage.ask("DELETE", identifier);
  await eventually("it is gone", async () => (await node.driver.find(identifier)) === undefined);
  // As if the node had been brought back from a backup of its own.
  await stage.second.driver.ensureAccount(testAccount(identifier, uid));
  await stage.second.driver.ensureAccount(testAccount("somebody-elses.example", 77));
  const strays = ["stray somebody-elses.example", `stray ${identifier}`].sort();
  assert.deepEqual(shortly(await reconcile("second", { repairs: true })), strays);
  assert.equal((await stage.second.driver.list()).length, 2);

  await reconcile("second", { removesStrays: true });
  assert.deepEqual(
    (await stage.second.driver.list()).map((account) => account.uid),
    [77],
  );
  assert.equal((await alarmsOf("second")).length, 1);
  await stage.second.driver.remove({ identifier: "somebody-elses.example", uid: 77 });
  assert.deepEqual(shortly(await reconcile("second")), []);
  assert.deepEqual(await alarmsOf("second"), []);
});

test("an account on its way to another node is no stray on either", async () => {
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

test("a node that has been asked in vain for ten minutes is an alarm until it answers, whoever restarts meanwhile", async () => {
  const age = (column: string, interval: string) =>
    runSql(
      gateway.databaseUrl,
      `UPDATE hosting_nodes SET ${column} = now() - interval '${interval}' WHERE id = 'second'`,
    );
  await eventually("it was seen", async () => (await getNode(context, "second")).last_seen_at !== null);
  await age("last_seen_at", "1 hour");
  await tellOfAbsentNodes(context);
  assert.equal((await alarmsOf("second", "hosting-node-away")).length, 0, "nobody may have asked it in that hour");
  await age("silent_since", "11 minutes");
  await tellOfAbsentNodes(context);
  assert.equal((await alarmsOf("second", "hosting-node-away")).length, 1);
  assert.equal((await alarmsOf("embedded", "hosting-node-away")).length, 0);
  await stage.second.driver.ensureAccount(testAccount("seen.example", 78));
  await eventually("it is seen", async () => {
    await tellOfAbsentNodes(context);
    return (await alarmsOf("second", "hosting-node-away")).length === 0;
  });
});

test("a node that does not answer is not compared, and nothing is believed of it", async () => {
  stage.control.cut();
  const wantedAt = await askReconcile(context, "embedded", { repairs: true, removesStrays: true });
  const result = await eventually("it is tried", () => findResult(context.database, "embedded", wantedAt));
  stage.control.join();
  assert.match(String(result), /does not answer/);
});
