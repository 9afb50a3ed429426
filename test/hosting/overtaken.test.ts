/** Steps of accounts, moves and host names that are changed at the same time. */
import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { findAccount, requestChange } from "#hosting/accounts/accounts.ts";
import { advanceAccount } from "#hosting/accounts/advance.ts";
import { provisionAccount } from "#hosting/accounts/provision.ts";
import { type HostingNodes, openHostingNodes } from "#hosting/drivers/open.ts";
import { checkHostName } from "#hosting/host-names/check.ts";
import { getMove } from "#hosting/moves/manage.ts";
import { applyMoveEvent, claimMove, MoveOvertaken, startMove } from "#hosting/moves/move.ts";
import { advanceMove } from "#hosting/moves/steps.ts";
import { askReconcile, reconcileNode } from "#hosting/reconciles/reconcile.ts";
import { systemClock, unixSeconds } from "#lib/clock.ts";
import { createManualClock } from "../harness/manual-clock.ts";
import { runSql, untilHeldUp } from "../harness/sql.ts";
import { holdAt } from "../orders/hold.ts";
import type { HostName } from "./host-names-stage.ts";
import { startHostingStage } from "./stage.ts";

/** No worker runs here: a test moves the clock and runs an account's step when it needs to. */
const clock = createManualClock(unixSeconds(systemClock));
const stage = await startHostingStage({ after }, { clock, worker: false });
const { context, databaseUrl } = stage.gateway;
const nodes = await openHostingNodes(context);
after(() => nodes.close());
await stage.gateway.addNode(stage.node, { id: "second", room: { capacityBytes: 10_000_000 } });
afterEach(() => stage.agentReturns());

test("a settled account raises no alarm when its node is down for a while, and has nothing left to do after it", async () => {
  const id = await stage.ready("settled.example");
  clock.advance(60 * 60_000);
  await stage.agentLeaves();
  await stage.advance(id);
  assert.equal((await stage.inside(id)).alarm, null);
  assert.notEqual((await stage.inside(id)).next_step_at, null);
  await stage.agentReturns();
  await stage.advance(id);
  assert.equal((await stage.inside(id)).next_step_at, null);
});

test("an account that is deleted while its node is chosen does not become Ready", async () => {
  const identifier = "unwanted.example";
  const id = await stage.create(identifier);
  const found = (await findAccount(context.database, id)) ?? assert.fail();
  await stage.ask("DELETE", identifier);
  await provisionAccount(context, nodes, found);
  const { status, changes_pending } = await stage.read(identifier);
  assert.deepEqual([status, changes_pending], ["Provisioning", true]);
  await stage.advance(id);
  assert.equal((await stage.gateway.send(stage.reseller, "GET", `/hostingaccounts/${identifier}`)).status, 403);
});

test("a check of a host name that was overtaken by another one is repeated, and its finding is not lost", async () => {
  const identifier = "looks.example";
  const id = await stage.ready(identifier);
  await stage.ask("PUT", `${identifier}/hosts/www.customer.example`);
  const [host] = await runSql<{ id: string; proof: string }>(
    databaseUrl,
    "SELECT id, proof FROM host_names WHERE account_id = $1 AND host_name = 'www.customer.example'",
    [id],
  );
  assert.ok(host);
  const none = { findTexts: async () => ({ found: [] }), findAddresses: async () => ({ found: [] }) };
  let looks = 0;
  const shown = {
    ...none,
    async findTexts() {
      looks += 1;
      if (looks === 1) await checkHostName({ ...context, names: none }, Number(host.id));
      return { found: [`deedhouse-site=${host.proof}`] };
    },
  };
  await checkHostName({ ...context, names: shown }, Number(host.id));
  const reply = await stage.gateway.send(stage.reseller, "GET", `/hostingaccounts/${identifier}/hosts`);
  const added = (reply.body as HostName[]).find(({ host_name }) => host_name === "www.customer.example");
  assert.deepEqual([added?.status, looks], ["Proven", 2]);
});

test("an account that was not probed on its new node is switched only if it is suspended: its resumption probes it", async () => {
  const identifier = "resumed.example";
  const id = await stage.ready(identifier);
  const { moveId } = await startMove(context, { identifier, to: "second", graceSeconds: 0 });
  await runSql(databaseUrl, "UPDATE hosting_moves SET state = 'Finishing' WHERE id = $1", [moveId]);
  await runSql(databaseUrl, "UPDATE hosting_accounts SET is_frozen = true WHERE id = $1", [id]);
  const move = (await claimMove(context, moveId)) ?? assert.fail();
  const usage = { bytes: 0, files: 0 };
  // It was to be suspended when the move read it, and is not any more.
  await assert.rejects(applyMoveEvent(context, move, { event: "switched", usage, isProbed: false }), MoveOvertaken);
  await runSql(databaseUrl, "UPDATE hosting_accounts SET status = 'Suspended' WHERE id = $1", [id]);
  assert.equal((await applyMoveEvent(context, move, { event: "switched", usage, isProbed: false })).state, "Leaving");
});

test("an account whose removal waits for the end of its move raises an alarm after ten minutes", async () => {
  const identifier = "leaving.example";
  const id = await stage.ready(identifier);
  await startMove(context, { identifier, to: "second", graceSeconds: 0 });
  await stage.ask("DELETE", identifier);
  await stage.advance(id);
  assert.equal((await stage.inside(id)).alarm, null);
  clock.advance(11 * 60_000);
  await stage.advance(id);
  assert.match((await stage.inside(id)).alarm ?? "", /^still not removed: another node has a copy/);
});

/** Nodes that do this once, before their next command. */
function nodesAfter(work: () => Promise<unknown>): HostingNodes {
  let isDone = false;
  return {
    ...nodes,
    async find(nodeId) {
      const node = (await nodes.find(nodeId)) ?? assert.fail();
      return {
        ...node,
        async ensureAccount(account) {
          if (!isDone) {
            isDone = true;
            await work();
          }
          await node.ensureAccount(account);
        },
      };
    },
  };
}

/** A move that only waits for the end of its grace time. */
async function leaving(identifier: string) {
  const id = await stage.ready(identifier);
  const { moveId } = await startMove(context, { identifier, to: "second", graceSeconds: 3_600 });
  await runSql(databaseUrl, "UPDATE hosting_moves SET state = 'Leaving', switched_at = $2 WHERE id = $1", [
    moveId,
    clock.now(),
  ]);
  return { id, moveId };
}

/** The rows of a table that are due by the test's clock. */
const dueOf = async (table: "hosting_accounts" | "hosting_moves") => {
  const due = `SELECT id FROM ${table} WHERE next_step_at <= $1 ORDER BY id`;
  return (await runSql<{ id: string }>(databaseUrl, due, [clock.now()])).map(({ id }) => Number(id));
};

test("a move that is made due while it postpones itself stays due", async () => {
  const identifier = "called.example";
  const { moveId } = await leaving(identifier);
  const late = nodesAfter(() => stage.ask("DELETE", identifier));
  await advanceMove(context, late, moveId);
  assert.equal((await getMove(context, moveId)).state, "Leaving");
  assert.ok((await dueOf("hosting_moves")).includes(moveId));
  await advanceMove(context, nodes, moveId);
  assert.equal((await getMove(context, moveId)).state, "Moved");
});

test("a removal that postpones itself while the move ends stays due", async (t) => {
  const identifier = "ends.example";
  const { id, moveId } = await leaving(identifier);
  await stage.ask("DELETE", identifier);
  const hold = await holdAt(t, databaseUrl, { table: "hosting_moves", on: "UPDATE", when: "NEW.state = 'Moved'" });
  const moved = advanceMove(context, nodes, moveId);
  await hold.reached();
  const removed = stage.advance(id);
  // The move, and the removal that waits for its end.
  await untilHeldUp(databaseUrl, 2);
  await hold.release();
  await Promise.all([moved, removed]);
  assert.equal((await stage.read(identifier)).changes_pending, true);
  assert.ok((await dueOf("hosting_accounts")).includes(id));
  await stage.advance(id);
  assert.equal((await stage.gateway.send(stage.reseller, "GET", `/hostingaccounts/${identifier}`)).status, 403);
});

test("a host name that a late step took over on the node returns to its account", async () => {
  const [first, second] = [await stage.ready("had.example"), await stage.ready("has.example")];
  const host = "www.shared.example";
  const give = (from: number | null, to: number) =>
    context.database.transaction(async (tx) => {
      await tx.raw.query("DELETE FROM host_names WHERE account_id = $1 AND host_name = $2", [from, host]);
      await tx.raw.query(
        `INSERT INTO host_names (account_id, host_name, status, proven_by, created_at) VALUES ($1, $2, 'Proven', 'dns', now())`,
        [to, host],
      );
      for (const id of [from, to]) {
        if (id !== null) await requestChange(context, tx, id, "host-names-wanted");
      }
    });
  await give(null, first);
  const late = nodesAfter(async () => {
    await give(first, second);
    await stage.advance(second);
    assert.ok(!(await dueOf("hosting_accounts")).includes(second));
  });
  await advanceAccount(context, late, first);
  const due = await dueOf("hosting_accounts");
  assert.deepEqual([due.includes(first), due.includes(second)], [true, true]);
  await stage.advance(first);
  await stage.advance(second);
  assert.deepEqual((await stage.node.driver.find("has.example"))?.hostNames, ["has.example", host]);
});

test("a requested repair of a node is not lost when another comparison is requested before it begins", async () => {
  await askReconcile(context, "embedded", { repairs: true, removes: [] });
  const id = await stage.ready("repaired.example");
  await runSql(databaseUrl, "UPDATE hosting_accounts SET files_max = 7 WHERE id = $1", [id]);
  assert.ok(!(await dueOf("hosting_accounts")).includes(id));
  await askReconcile(context, "embedded", { repairs: false, removes: [] });
  await reconcileNode(context, nodes, "embedded");
  assert.ok((await dueOf("hosting_accounts")).includes(id));
  // After it is done, it is not repeated.
  await stage.advance(id);
  await askReconcile(context, "embedded", { repairs: false, removes: [] });
  await reconcileNode(context, nodes, "embedded");
  assert.ok(!(await dueOf("hosting_accounts")).includes(id));
});
