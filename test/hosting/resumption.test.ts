import assert from "node:assert/strict";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { applyAccountEvent, findAccount } from "#hosting/accounts/accounts.ts";
import { advanceAccount } from "#hosting/accounts/advance.ts";
import type { HostingEvent } from "#hosting/accounts/states.ts";
import { suspendAccount } from "#hosting/accounts/suspend.ts";
import { openHostingNodes } from "#hosting/nodes/open.ts";
import { withFreeUid } from "#hosting/nodes/uids.ts";
import { startWorker } from "#jobs/worker.ts";
import type { DesiredAccount } from "#nodes/driver.ts";
import { testAccount } from "#nodes/test-account.ts";
import { runSql } from "../harness/sql.ts";
import { password, startHostingStage } from "./stage.ts";

const stage = await startHostingStage({ after }, { worker: false });
const { gateway, node } = stage;
const { context } = gateway;
const readyStory = ["requested", "placed", "probed"];

/** The account is on the node once, with the uid that the gateway knows, and one folder. */
async function assertMadeOnce(identifier: string, id: number): Promise<void> {
  const { uid } = await stage.inside(id);
  const found = (await node.driver.list()).filter((account) => account.identifier === identifier);
  assert.deepEqual(
    found.map((account) => account.uid),
    [uid],
  );
  assert.ok((await readdir(join(node.dataDir, "homes"))).includes(String(uid)));
  assert.deepEqual(await readdir(join(node.dataDir, "homes", String(uid), "www")), []);
}

/** Reads the account now. @returns applies the event to the account as it was read */
async function prepare(id: number, event: HostingEvent, rest = {}) {
  const account = (await findAccount(context.database, id)) ?? assert.fail();
  return () => context.database.transaction((tx) => applyAccountEvent(context, tx, account, { event, ...rest }));
}

test("two workers create each account once", async (t) => {
  const names = ["one", "two", "three", "four", "five", "six"].map((name) => `${name}.pair.example`);
  const workers = await Promise.all([1, 2].map(() => startWorker(context, gateway.databaseUrl)));
  t.after(() => Promise.all(workers.map((worker) => worker.close())));
  const ids = await Promise.all(names.map((name) => stage.create(name)));
  for (const [index, name] of names.entries()) {
    assert.equal((await stage.settled(name)).status, "Ready");
    assert.deepEqual(await stage.story(ids[index]!), readyStory);
    await assertMadeOnce(name, ids[index]!);
  }
  const homes = await readdir(join(node.dataDir, "homes"));
  assert.equal(homes.length, new Set(homes).size);
});

test("abuse 6: of fifty concurrent requests for one identifier one is accepted, and one account is created", async () => {
  const body = { servicepack_id: stage.packId, identifier: "popular.example", password };
  const replies = await Promise.all(
    Array.from({ length: 50 }, () => gateway.send(stage.reseller, "POST", "/hostingaccounts", { body })),
  );
  const codes = replies.map(({ status, body: answer }) => (answer as { error_code: string })?.error_code ?? status);
  assert.deepEqual(codes.toSorted(), [202, ...Array(49).fill("hosting_already_exist")]);
  const [row] = await runSql<{ id: string }>(
    gateway.databaseUrl,
    "SELECT id FROM hosting_accounts WHERE identifier = 'popular.example'",
  );
  await stage.advance(Number(row?.id));
  await assertMadeOnce("popular.example", Number(row?.id));
});

test("an account whose step runs three times at once is created once", async () => {
  const id = await stage.create("thrice.example");
  await Promise.all([1, 2, 3].map(() => stage.advance(id)));
  assert.equal((await stage.read("thrice.example")).status, "Ready");
  assert.deepEqual(await stage.story(id), readyStory);
  await assertMadeOnce("thrice.example", id);
});

test("abuse 7: another worker finishes the steps of a killed worker, and nothing is left behind", async () => {
  const steps: Record<string, (id: number, identifier: string) => Promise<unknown>> = {
    placed: async (id) => (await prepare(id, "placed", { nodeId: "embedded" }))(),
    checked: async (id) => {
      await withFreeUid(context, node.driver, (await findAccount(context.database, id)) ?? assert.fail());
    },
    made: async (id, identifier) => {
      const { uid } = await stage.inside(id);
      await node.driver.ensureAccount(testAccount(identifier, uid, { diskBytesMax: 1, filesMax: 100 }));
    },
    probing: async (id) => {
      const { uid } = await stage.inside(id);
      await writeFile(join(node.dataDir, "homes", String(uid), "www", "deedhouse-probe-0.txt"), "left behind");
    },
  };
  for (const last of Object.keys(steps)) {
    const identifier = `${last}.killed.example`;
    const id = await stage.create(identifier);
    for (const [step, take] of Object.entries(steps)) {
      await take(id, identifier);
      if (step === last) break;
    }
    await stage.advance(id);
    assert.equal((await stage.read(identifier)).status, "Ready", last);
    assert.deepEqual(await stage.story(id), readyStory);
    await assertMadeOnce(identifier, id);
  }
});

test("a late decision of a worker changes nothing", async () => {
  const ready = await stage.create("ready.late.example");
  const abandonLate = await prepare(ready, "abandoned", { errorText: "too late" });
  await stage.advance(ready);
  assert.equal(await abandonLate(), undefined);
  assert.equal((await stage.read("ready.late.example")).status, "Ready");

  const abandoned = await stage.create("abandoned.late.example");
  await (await prepare(abandoned, "placed", { nodeId: "embedded" }))();
  const probedLate = await prepare(abandoned, "probed");
  await (await prepare(abandoned, "abandoned", { errorText: "given up" }))();
  assert.equal(await probedLate(), undefined);
  await stage.advance(abandoned);
  assert.equal((await stage.read("abandoned.late.example")).status, "Failed");

  const placed = await stage.create("placed.late.example");
  const placeLate = await prepare(placed, "placed", { nodeId: "another" });
  await (await prepare(placed, "placed", { nodeId: "embedded" }))();
  assert.equal(await placeLate(), undefined);
});

test("a worker that was overtaken by a newer change sends the newest again", async (t) => {
  const id = await stage.create("overtaken.example");
  await stage.advance(id);
  const nodes = await openHostingNodes(context);
  t.after(() => nodes.close());
  const reached = Promise.withResolvers<void>();
  const overtaken = Promise.withResolvers<void>();
  const slow = async (nodeId: string) => {
    const driver = (await nodes.find(nodeId)) ?? assert.fail();
    const ensureAccount = async (account: DesiredAccount) => {
      reached.resolve();
      await overtaken.promise;
      await driver.ensureAccount(account);
    };
    return { ...driver, ensureAccount };
  };
  await stage.ask("PUT", "overtaken.example/password", { password });
  const late = advanceAccount(context, { ...nodes, find: slow }, id);
  await reached.promise;
  await suspendAccount(context, "overtaken.example", "unpaid");
  await stage.advance(id);
  assert.equal((await stage.read("overtaken.example")).status, "Suspended");
  overtaken.resolve();
  await late;
  // It cannot know whose command came last, and has made the account due.
  await stage.advance(id);
  assert.equal((await node.driver.find("overtaken.example"))?.suspended, true);
  assert.equal((await stage.read("overtaken.example")).status, "Suspended");
});

test("an account whose notification was lost is created by the next worker", async (t) => {
  const id = await stage.create("lost.example");
  await gateway.startWorker();
  t.after(() => gateway.stopWorker());
  assert.equal((await stage.settled("lost.example")).status, "Ready");
  assert.deepEqual(await stage.story(id), readyStory);
});
