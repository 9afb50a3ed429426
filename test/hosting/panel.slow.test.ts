/** Accounts on a panel, for resellers and operators. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { resumeAccount, suspendAccount } from "#hosting/accounts/suspend.ts";
import { askReconcile, findResult } from "#hosting/reconciles/reconcile.ts";
import { cannotServeFtp } from "../../sandbox/whm/ftp.ts";
import { startWhmStub, type WhmStub } from "../../sandbox/whm/server.ts";
import type { TestGateway } from "../harness/gateway.ts";
import { insertDomains } from "../harness/insert-domains.ts";
import { upload } from "../harness/site.ts";
import { assertRefused, operated } from "../orders/operate.ts";
import { startWithWorkers } from "../orders/worker-process.ts";
import { panelPage, panelToken } from "./panel-stage.ts";
import { type Account, eventually, password } from "./stage.ts";

const newPassword = "Another-horse-8-stable";

/** A panel that an operator has added. */
async function addPanel(t: TestContext, gateway: TestGateway): Promise<WhmStub> {
  const stub = await startWhmStub({ user: "reseller", token: panelToken, servesFtp: true });
  t.after(() => stub.close());
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-panel-"));
  t.after(() => rm(folder, { recursive: true }));
  const tokenFile = join(folder, "token");
  await writeFile(tokenFile, `${panelToken}\n`, { mode: 0o600 });
  const places = ["--ftp", `127.0.0.1:${stub.ftpPort}`, "--web", `127.0.0.1:${stub.webPort}`];
  const panel = ["--panel-url", stub.url, "--panel-user", "reseller", "--panel-token-file", tokenFile];
  const trust = ["--panel-ca-file", stub.caFile, "--panel-mail-domain", "ops.example"];
  const room = ["--kind", "cpanel", "--capacity-gb", "1"];
  await assertRefused(gateway, ["node", "add", "panel", ...room, ...places, ...trust], 2, /--panel-url/);
  const added = await operated<Record<string, string>>(
    gateway,
    "node",
    "add",
    "panel",
    ...room,
    ...places,
    ...panel,
    ...trust,
  );
  assert.match(added.installation ?? "", /^[0-9a-f]{8}$/);
  return stub;
}

async function startPanelGateway(t: TestContext) {
  const { gateway, start } = await startWithWorkers(t);
  const stub = await addPanel(t, gateway);
  const reseller = await gateway.addReseller();
  const packId = await gateway.addPack({ diskBytesMax: 3_000_000 });
  const create = async (identifier: string) => {
    const body = { servicepack_id: packId, identifier, password };
    assert.equal((await gateway.send(reseller, "POST", "/hostingaccounts", { body })).status, 202);
  };
  const settled = async (identifier: string) =>
    (await gateway.settled(reseller, `/hostingaccounts/${identifier}`)) as unknown as Account;
  const put = (path: string, secret: string) =>
    upload({ host: "127.0.0.1", port: stub.ftpPort ?? 0 }, `site@${path}.localhost`, secret, "/index.html", "hello");
  return { gateway, start, stub, reseller, create, settled, put };
}

test("an account on a panel is created, changed, compared and removed", { skip: cannotServeFtp }, async (t) => {
  const { gateway, start, stub, reseller, create, settled, put } = await startPanelGateway(t);
  await start();
  const identifier = "hello.example";
  const path = `/hostingaccounts/${identifier}`;
  // Its identifier is a domain of its reseller, so it has a host name from the beginning, which a panel does not serve.
  await insertDomains(gateway.databaseUrl, reseller, [identifier]);
  await create(identifier);
  const account = await settled(identifier);
  assert.equal(account.status, "Ready");
  assert.deepEqual(account.ftp, { host: "127.0.0.1", port: stub.ftpPort, username: "site@hello.example.localhost" });
  await put(identifier, password);
  const page = async () => (await panelPage(stub, `${identifier}.localhost`, "/")).status;
  assert.equal(await page(), 200);

  const hosts = await gateway.send(reseller, "PUT", `${path}/hosts/shop.customer.example`);
  assert.equal(hosts.status, 400, hosts.text);
  await assertRefused(gateway, ["hosting", "move", identifier], 3, /panel, which is a panel/);

  await suspendAccount(gateway.context, identifier, "unpaid");
  const isStatus = async (status: string) => (await settled(identifier)).status === status;
  await eventually("it is suspended", () => isStatus("Suspended"));
  await assert.rejects(put(identifier, password), /530/);
  await gateway.send(reseller, "PUT", `${path}/password`, { body: { password: newPassword } });
  await resumeAccount(gateway.context, identifier);
  await eventually("it is resumed", () => isStatus("Ready"));
  await eventually("all is in effect", async () => !(await settled(identifier)).changes_pending);
  await assert.rejects(put(identifier, password), /530/);
  await put(identifier, newPassword);

  const suspension = async (suspended: boolean) => {
    assert.equal((await gateway.send(reseller, "PUT", `${path}/suspension`, { body: { suspended } })).status, 202);
  };
  await suspension(true);
  await eventually("its reseller's suspension is in effect", () => isStatus("Suspended"));
  await assert.rejects(put(identifier, newPassword), /530/);
  await suspension(false);
  await eventually("it is served again", () => isStatus("Ready"));
  await put(identifier, newPassword);

  const wantedAt = await askReconcile(gateway.context, "panel", { repairs: false, removes: [] });
  const result = await eventually("it is compared", () => findResult(gateway.context.database, "panel", wantedAt));
  assert.deepEqual(typeof result === "string" ? result : result.findings, []);

  await gateway.send(reseller, "DELETE", path);
  await eventually("it is removed", async () => stub.accounts.byUser.size === 0);
  assert.equal(await page(), 404);
});

for (const moment of ["before", "after"] as const) {
  const name = `a worker that is killed while a panel makes an account, ${moment} it is made, is taken over`;
  test(name, { skip: cannotServeFtp }, async (t) => {
    const { start, stub, create, settled, put } = await startPanelGateway(t);
    const worker = await start();
    const met = stub.fault({ name: "createacct", moment, manner: "silence" });
    await create("killed.example");
    await met;
    await worker.kill();
    await start();
    assert.equal((await settled("killed.example")).status, "Ready");
    await put("killed.example", password);
    assert.equal(stub.accounts.byUser.size, 1);
    const creates = stub.requests.filter((request) => request.name === "createacct");
    assert.equal(creates.length, moment === "before" ? 2 : 1);
  });
}
