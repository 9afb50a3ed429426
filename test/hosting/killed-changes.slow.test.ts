/** A worker is killed around every write of an account's changes. Each change is still applied, once. */

import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { resumeAccount, suspendAccount } from "#hosting/accounts/suspend.ts";
import { changeAccount } from "#nodes/test-account.ts";
import type { TestNode } from "#nodes/test-embedded-node.ts";
import type { TestGateway, TestReseller } from "../harness/gateway.ts";
import { readPage, upload } from "../harness/site.ts";
import { runSql } from "../harness/sql.ts";
import { type HeldChange, holdAt } from "../orders/hold.ts";
import { startWithWorkers } from "../orders/worker-process.ts";
import { eventually, password, startHostingStage } from "./stage.ts";

const newPassword = "Another-horse-8-stable";
const settled: HeldChange = {
  table: "hosting_accounts",
  on: "UPDATE",
  when: "NEW.applied_version = NEW.wanted_version AND OLD.applied_version < OLD.wanted_version",
};

interface Site {
  gateway: TestGateway;
  node: TestNode;
  reseller: TestReseller;
  identifier: string;
}

const endpoint = (port: number) => ({ host: "127.0.0.1", port });
const logIn = ({ node, identifier }: Site, secret = password) =>
  upload(endpoint(node.ports.ftpPort), identifier, secret, "/www/index.html", "open");
const page = ({ node, identifier }: Site) =>
  readPage(endpoint(node.ports.webPort), `${identifier}.localhost`, "/index.html");
const ask = async ({ gateway, reseller, identifier }: Site, method: string, path = "", body?: object) => {
  const reply = await gateway.send(reseller, method, `/hostingaccounts/${identifier}${path}`, { body });
  assert.equal(reply.status, 202, reply.text);
};
const assertSuspended = async (site: Site) => {
  await assert.rejects(logIn(site), /530/);
  assert.equal((await page(site)).status, 503);
};

/** A change, and what must be true after it was applied. */
const changes: Record<string, { ask(site: Site): Promise<unknown>; assertDone(site: Site): Promise<unknown> }> = {
  "another password": {
    ask: (site) => ask(site, "PUT", "/password", { password: newPassword }),
    async assertDone(site) {
      await assert.rejects(logIn(site), /530/);
      await logIn(site, newPassword);
    },
  },
  "a suspension": {
    ask: ({ gateway, identifier }) => suspendAccount(gateway.context, identifier, "unpaid"),
    assertDone: assertSuspended,
  },
  "a resumption": {
    ask: ({ gateway, identifier }) => resumeAccount(gateway.context, identifier),
    async assertDone(site) {
      await logIn(site, newPassword);
      assert.deepEqual(await page(site), { status: 200, body: "open" });
    },
  },
  "a reseller's suspension": {
    ask: (site) => ask(site, "PUT", "/suspension", { suspended: true, reason: "unpaid" }),
    assertDone: assertSuspended,
  },
  "the end of a reseller's suspension": {
    ask: (site) => ask(site, "PUT", "/suspension", { suspended: false }),
    async assertDone(site) {
      await logIn(site, newPassword);
      assert.deepEqual(await page(site), { status: 200, body: "open" });
    },
  },
  "a removal": {
    ask: (site) => ask(site, "DELETE"),
    async assertDone(site) {
      await assert.rejects(logIn(site, newPassword), /530/);
      assert.equal((await page(site)).status, 404);
    },
  },
};

interface Row {
  id: string;
  uid: string;
  status: string;
  pending: boolean;
}

async function rowOf({ gateway, identifier }: Site): Promise<Row> {
  const [row] = await runSql<Row>(
    gateway.databaseUrl,
    `SELECT id, uid, status, applied_version < wanted_version AS pending FROM hosting_accounts WHERE identifier = $1`,
    [identifier],
  );
  return row ?? assert.fail("the account has no row");
}

/** The node has one account with the row's uid and one folder, or none after a removal. */
async function assertOnce(site: Site): Promise<void> {
  const { uid, status } = await rowOf(site);
  const { node } = site;
  const found = (await node.driver.list()).filter(({ identifier }) => identifier === site.identifier);
  const homes = await readdir(join(node.dataDir, "homes"));
  const expected = status === "Removed" ? [] : [Number(uid)];
  assert.deepEqual(
    found.map((account) => account.uid),
    expected,
  );
  assert.equal(homes.filter((home) => home === uid).length, expected.length);
}

/** The outcomes of its changes so far, each told once. */
async function assertTold({ gateway }: Site, id: string, events: string[]): Promise<void> {
  const told = await runSql<{ event: string; count: number }>(
    gateway.databaseUrl,
    "SELECT event, count FROM hosting_history WHERE account_id = $1 AND event = ANY ($2) ORDER BY id",
    [id, events],
  );
  assert.deepEqual(
    told,
    events.map((event) => ({ event, count: 1 })),
  );
}

type Moment = "before it begins" | "before it commits" | "after it commits";

for (const moment of ["before it begins", "before it commits", "after it commits"] as const) {
  test(`abuse 7: when a worker is killed ${moment} a change, another one applies the change`, (t) =>
    killAtEach(t, moment));
}

async function killAtEach(t: TestContext, moment: Moment): Promise<void> {
  const { gateway, start } = await startWithWorkers(t, { node: true });
  const reseller = await gateway.addReseller();
  assert.ok(gateway.node);
  const site: Site = { gateway, reseller, node: gateway.node, identifier: "killed.example" };
  const body = { servicepack_id: await gateway.addPack(), identifier: site.identifier, password };
  await gateway.send(reseller, "POST", "/hostingaccounts", { body });
  let worker = await start();
  await gateway.settled(reseller, `/hostingaccounts/${site.identifier}`);
  await logIn(site);
  const events = ["applied", "suspended", "resumed", "suspended", "resumed", "removed"];
  for (const [number, [name, change]] of Object.entries(changes).entries()) {
    await t.test(name, async (step) => {
      if (moment === "before it begins") {
        await worker.kill();
        await change.ask(site);
      } else {
        const hold = await holdAt(step, gateway.databaseUrl, settled);
        await change.ask(site);
        await hold.reached();
        await worker.kill();
        await (moment === "after it commits" ? hold.release() : hold.rollBack());
      }
      worker = await start();
      await eventually(`${name} is in force`, async () => !(await rowOf(site)).pending);
      await change.assertDone(site);
      await assertOnce(site);
      await assertTold(site, (await rowOf(site)).id, events.slice(0, number + 1));
    });
  }
}

test("a command of a killed worker that was overtaken is followed by the newest one of another worker", async (t) => {
  const { gateway, start } = await startWithWorkers(t, { node: true });
  const reseller = await gateway.addReseller();
  assert.ok(gateway.node);
  const site: Site = { gateway, reseller, node: gateway.node, identifier: "overtaken.example" };
  const body = { servicepack_id: await gateway.addPack(), identifier: site.identifier, password };
  await gateway.send(reseller, "POST", "/hostingaccounts", { body });
  const worker = await start();
  await gateway.settled(reseller, `/hostingaccounts/${site.identifier}`);
  await suspendAccount(gateway.context, site.identifier, "unpaid");
  await eventually("it is suspended", async () => !(await rowOf(site)).pending);
  await worker.kill();
  // As after a worker whose older command arrived late, and that was killed after it made the account due again.
  const { id } = await rowOf(site);
  await changeAccount(site.node.driver, site.identifier, { suspended: false });
  await runSql(gateway.databaseUrl, "UPDATE hosting_accounts SET next_step_at = now() WHERE id = $1", [id]);
  await start();
  await eventually("it is suspended there", async () => (await page(site)).status === 503);
});

test("changes that are requested while their node is down are in effect once it is back", async (t) => {
  const stage = await startHostingStage(t);
  const { gateway, reseller } = stage;
  const names = ["first.example", "second.example", "third.example"] as const;
  const ids = await Promise.all(names.map((name) => stage.create(name)));
  for (const name of names) assert.equal((await stage.settled(name)).status, "Ready");
  const sites = names.map((identifier): Site => ({ gateway, reseller, node: stage.node, identifier }));
  for (const site of sites) await logIn(site);
  const [first, second, third] = sites as [Site, Site, Site];

  await stage.agentLeaves();
  await changes["a suspension"]?.ask(first);
  await changes["another password"]?.ask(second);
  await changes["a removal"]?.ask(third);
  for (const id of ids) await eventually("it was attempted", async () => (await stage.story(id)).includes("doubtful"));
  for (const site of sites) await logIn(site);
  await stage.agentReturns();
  for (const site of sites) await eventually("it is in force", async () => !(await rowOf(site)).pending);
  await changes["a suspension"]?.assertDone(first);
  await changes["another password"]?.assertDone(second);
  await assert.rejects(logIn(third), /530/);
  for (const site of sites) await assertOnce(site);
});
