import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startMove } from "#hosting/moves/move.ts";
import { setNode } from "#hosting/nodes/manage.ts";
import { type NodeRoom, registerNode } from "#hosting/nodes/nodes.ts";
import { placeAccount } from "#hosting/nodes/place.ts";
import { testAccount } from "#nodes/test-account.ts";
import { nodePlace, nodeRoom } from "../harness/profiles.ts";
import { runSql } from "../harness/sql.ts";
import { assertRoomIsKept } from "./move-stage.ts";
import { eventually, startHostingStage } from "./stage.ts";

/** No worker runs here: the tests place the accounts. Quotas are 100 kB. */
const stage = await startHostingStage({ after }, { worker: false, node: false, diskBytesMax: 100_000 });
const { gateway } = stage;
const { context } = gateway;

const addNode = (id: string, room: Partial<NodeRoom>) => gateway.addNode(stage.node, { id, room });
const reset = async () => {
  await stage.node.leave();
  await runSql(gateway.databaseUrl, "DELETE FROM hosting_nodes");
};
/** Chooses a node as the account's job does, and writes it down. */
const place = (id: number, tags: string[] = []) =>
  context.database.transaction(async (tx) => {
    const choice = await placeAccount(tx, { id, disk_quota_bytes: 100_000 }, tags);
    if (choice?.nodeId)
      await tx.raw.query("UPDATE hosting_accounts SET node_id = $1 WHERE id = $2", [choice.nodeId, id]);
    return choice;
  });

let made = 0;
const create = () => {
  made += 1;
  return stage.create(`place-${made}.example`);
};

test("concurrent placements never exceed a node's capacity, and all accounts that fit are placed", async (t) => {
  t.after(reset);
  await addNode("a", { capacityBytes: 700_000 });
  await addNode("b", { capacityBytes: 1_000_000, accountsMax: 4 });
  await addNode("c", { capacityBytes: 350_000 });
  const ids = await Promise.all(Array.from({ length: 20 }, create));
  const choices = await Promise.all(ids.map((id) => place(id)));
  const counts = new Map<string, number>();
  for (const choice of choices) if (choice?.nodeId) counts.set(choice.nodeId, (counts.get(choice.nodeId) ?? 0) + 1);
  assert.deepEqual(Object.fromEntries(counts), { a: 7, b: 4, c: 3 });
  const kept = await runSql<{ id: string; committed: string; accounts: number }>(
    gateway.databaseUrl,
    "SELECT id, committed_bytes::text AS committed, accounts_count AS accounts FROM hosting_nodes ORDER BY id",
  );
  assert.deepEqual(
    kept.map(({ id, committed, accounts }) => [id, Number(committed), accounts]),
    [
      ["a", 700_000, 7],
      ["b", 400_000, 4],
      ["c", 300_000, 3],
    ],
  );
});

test("an account is placed on the node with the most free room among those with its pack's tags", async (t) => {
  t.after(reset);
  await addNode("roomy", { capacityBytes: 900_000 });
  await addNode("ssd-small", { capacityBytes: 200_000, tags: ["ssd", "eu"] });
  await addNode("ssd-large", { capacityBytes: 300_000, tags: ["ssd"] });
  const choose = async (...tags: string[]) => (await place(await create(), tags))?.nodeId;
  assert.equal(await choose(), "roomy");
  assert.equal(await choose("ssd"), "ssd-large");
  assert.equal(await choose("ssd", "eu"), "ssd-small");
  assert.deepEqual(await place(await create(), ["tape"]), { note: "no hosting node has the tags tape" });
});

test("a draining node, and one whose machine has not joined, accept no account", async (t) => {
  t.after(reset);
  await addNode("draining", {});
  await setNode(context, "draining", { isDraining: true });
  await registerNode(context, { ...nodePlace(stage.node, "empty"), kind: "proftpd-nginx" }, nodeRoom, false);
  assert.deepEqual(await place(await create()), {
    note: "no hosting node has room: 1 draining, 1 without their server",
  });
});

test("an account is placed once, and its room is free again when it has failed", async (t) => {
  t.after(reset);
  await addNode("only", { capacityBytes: 100_000 });
  const id = await create();
  assert.equal((await place(id))?.nodeId, "only");
  assert.equal(await place(id), undefined);
  const next = await create();
  assert.deepEqual(await place(next), { note: "no hosting node has room: 1 full" });
  // Another account on the node.
  await stage.node.driver.ensureAccount(testAccount(`place-${made - 1}.example`, 1));
  await stage.advance(id);
  assert.equal((await stage.read(`place-${made - 1}.example`)).status, "Failed");
  assert.equal((await place(next))?.nodeId, "only");
});

test("accounts that wait for room are retried at once when a node is added or gets more room", async (t) => {
  const running = await startHostingStage(t, { node: false, diskBytesMax: 100_000 });
  const waiting = ["first.wait.example", "second.wait.example"];
  for (const identifier of waiting) await running.create(identifier);
  // They are woken together, and either may be first.
  const areReady = (count: number) =>
    eventually(`${count} of them are ready`, async () => {
      const accounts = await Promise.all(waiting.map((identifier) => running.read(identifier)));
      return accounts.filter(({ status }) => status === "Ready").length === count;
    });
  const url = running.gateway.databaseUrl;
  // Their own retries are minutes away, so an attempt now shows that they were woken.
  await untilTried(url);
  await runSql(
    url,
    "UPDATE hosting_accounts SET next_step_at = now() + interval '4 minutes' WHERE status = 'Provisioning'",
  );
  await running.gateway.addNode(running.node, { id: "late", room: { capacityBytes: 100_000 } });
  await setNode(running.gateway.context, "late", {});
  await areReady(1);
  await runSql(
    url,
    "UPDATE hosting_accounts SET next_step_at = now() + interval '4 minutes' WHERE status = 'Provisioning'",
  );
  await setNode(running.gateway.context, "late", { capacityBytes: 200_000 });
  await areReady(2);
});

async function untilTried(url: string): Promise<void> {
  await eventually("both were attempted", async () => {
    const [row] = await runSql<{ waiting: string }>(
      url,
      "SELECT count(*) AS waiting FROM hosting_accounts WHERE backoff_count > 0",
    );
    return row?.waiting === "2";
  });
}

test("a node whose row was lost and is added again has room committed for its accounts and for those that move", async (t) => {
  t.after(reset);
  await addNode("from", {});
  const moving: number[] = [];
  const identifiers: string[] = [];
  for (let n = 0; n < 2; n++) {
    moving.push(await create());
    identifiers.push(`place-${made}.example`);
  }
  for (const id of moving) await place(id);
  await addNode("to", {});
  await runSql(gateway.databaseUrl, "UPDATE hosting_accounts SET status = 'Ready' WHERE id = ANY ($1)", [moving]);
  for (const identifier of identifiers) await startMove(context, { identifier, graceSeconds: 60 });
  // The switch's effect on room.
  const switched = "UPDATE hosting_moves SET state = 'Leaving', switched_at = now() WHERE account_id = $1";
  await runSql(gateway.databaseUrl, switched, moving.slice(1));
  await runSql(gateway.databaseUrl, "UPDATE hosting_accounts SET node_id = 'to' WHERE id = $1", moving.slice(1));
  await assertRoomIsKept(gateway.databaseUrl);
  for (const id of ["from", "to"]) {
    await runSql(gateway.databaseUrl, "DELETE FROM hosting_nodes WHERE id = $1", [id]);
    await addNode(id, {});
    await assertRoomIsKept(gateway.databaseUrl);
  }
});
